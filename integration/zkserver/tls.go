package zkserver

import (
	"maps"
	"strconv"
)

// TLS gives each server a second port for clients, which speaks nothing but TLS (secureClientPort of the Netty server;
// docs/protocol.md section 13.4). Server.SecureAddr is its address. The plain port stays, and is served by Netty too.
//
// The files are read when a server starts: after a Restart it has what stands in them then.
type TLS struct {
	// KeyStores are PEM files, one for each member from the first: the server's certificate, those that it was signed with,
	// and its private key as PKCS #8.
	KeyStores []string
	// TrustStore is a PEM file with the authorities that client certificates are verified by; empty for none.
	TrustStore string
	// ClientAuth is what is asked of clients: "none", "want" or "need" a certificate. Empty leaves it to the server: need.
	ClientAuth string
}

// ciphers are of TLS 1.3 and 1.2. Before 3.9 servers have none of TLS 1.3 in their own list, and turn away clients that
// insist on it, whatever protocols they enable (ZOOKEEPER-4415).
const ciphers = "TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384," +
	"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"

// secured returns the options of server id with the lines that its TLS needs; lines of o.Config go before them.
func (o Options) secured(id, port int) Options {
	keys := map[string]string{
		"secureClientPort":        strconv.Itoa(port),
		"secureClientPortAddress": "127.0.0.1",
		"serverCnxnFactory":       "org.apache.zookeeper.server.NettyServerCnxnFactory",
		"ssl.keyStore.location":   o.TLS.KeyStores[id-1],
		"ssl.keyStore.type":       "PEM",
		"ssl.protocol":            "TLSv1.3",
		"ssl.enabledProtocols":    "TLSv1.3,TLSv1.2",
		"ssl.ciphersuites":        ciphers,
	}
	if o.TLS.TrustStore != "" {
		keys["ssl.trustStore.location"], keys["ssl.trustStore.type"] = o.TLS.TrustStore, "PEM"
	}
	if o.TLS.ClientAuth != "" {
		keys["ssl.clientAuth"] = o.TLS.ClientAuth
	}
	maps.Copy(keys, o.Config)
	o.Config = keys
	return o
}
