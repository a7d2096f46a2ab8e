package client

import "github.com/lockkeeper/lockkeeper/proto"

// The functions here make access lists (docs/protocol.md section 13.2). perms is a sum of the Perm constants. Nothing is checked
// before sending: a server answers ErrInvalidACL to an id that its scheme does not take, or to a scheme that it does not
// know. Of several lists slices.Concat makes one; any entry that grants is enough.

// WorldACL returns a new list that gives perms to everybody.
func WorldACL(perms int32) []ACL { return proto.WorldACL(perms) }

// CreatorACL returns a new list that gives perms to the identities which the creating client has added by Auth or AddAuth.
// Servers put the identities themselves into the list, and answer ErrInvalidACL when there are none; the address of a
// client is none.
func CreatorACL(perms int32) []ACL { return proto.CreatorACL(perms) }

// DigestACL returns a new list that gives perms to whoever adds scheme "digest" with "user:password" by Auth or AddAuth. The
// server compares digests and does not know users: nobody is told that a password is wrong. The digest is SHA-1, as servers
// have it without configuration; for others, and for the own identity, there is CreatorACL. user must not hold a colon.
func DigestACL(perms int32, user, password string) []ACL {
	return schemeACL(perms, "digest", DigestID(user, password))
}

// IPACL returns a new list that gives perms to the clients with this address, such as "10.0.0.7", or in this range, such as
// "10.0.0.0/8". The server compares the address that the connection comes from, which may be that of a proxy; IPv6
// addresses it takes from 3.9.4 on.
func IPACL(perms int32, addr string) []ACL { return schemeACL(perms, "ip", addr) }

// X509ACL returns a new list that gives perms to the clients whose TLS certificate has this subject: a distinguished name in
// RFC 2253 form, exactly as Java prints it, such as "CN=app,OU=ops,O=example". The server takes it from the certificate that
// the connection presented.
func X509ACL(perms int32, subject string) []ACL { return schemeACL(perms, "x509", subject) }

// SASLACL returns a new list that gives perms to the clients that a server has authenticated by SASL under this name; for
// DIGEST-MD5 that is the user, for GSSAPI the principal as the server shortens it.
func SASLACL(perms int32, user string) []ACL { return schemeACL(perms, "sasl", user) }

func schemeACL(perms int32, scheme, id string) []ACL {
	return []ACL{{Perms: perms, ID: ID{Scheme: scheme, ID: id}}}
}

// DigestID returns the id of a user in scheme "digest", for an ACL entry. The credential for it is "user:password" in clear.
func DigestID(user, password string) string { return proto.DigestID(user, password) }
