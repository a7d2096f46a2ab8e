package session

import "log/slog"

const hidden = "[hidden]"

// Secret is bytes that must not appear in logs or error texts: passwords, credentials, tokens. What prints it as text hides
// the content; that it is bytes, as by %d, it does not, nor where fmt finds it in the unexported field of something else.
type Secret []byte

// String hides the content.
func (s Secret) String() string { return hidden }

// GoString hides the content.
func (s Secret) GoString() string { return hidden }

// MarshalText hides the content, from encoding/json too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue hides the content.
func (s Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// Credential is one identity that a client claims, such as scheme "digest" with "user:password".
type Credential struct {
	Scheme string
	Auth   Secret
}
