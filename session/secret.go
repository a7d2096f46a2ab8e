package session

import "log/slog"

const hidden = "[hidden]"

// Secret is bytes that must not appear in logs or error texts: passwords, credentials, tokens. All the ways of printing it
// hide the content.
type Secret []byte

// String hides the content.
func (s Secret) String() string { return hidden }

// GoString hides the content.
func (s Secret) GoString() string { return hidden }

// LogValue hides the content.
func (s Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// Credential is one identity that a client claims, such as scheme "digest" with "user:password".
type Credential struct {
	Scheme string
	Auth   Secret
}
