package zkserver

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
)

// WithSASL returns o for servers that authenticate one user by SASL with DIGEST-MD5, and know identities of scheme sasl in access
// lists. It writes a JAAS file into dir, which must exist for as long as the servers do. user and password are words. FIPS
// mode is off, in which servers refuse the mechanism.
func (o Options) WithSASL(dir, user, password string) (Options, error) {
	jaas := filepath.Join(dir, "jaas.conf")
	text := fmt.Sprintf("Server {\n\torg.apache.zookeeper.server.auth.DigestLoginModule required user_%s=%q;\n};\n", user, password)
	if err := os.WriteFile(jaas, []byte(text), 0o600); err != nil {
		return o, err
	}
	o.Config, o.Properties = maps.Clone(o.Config), maps.Clone(o.Properties)
	if o.Config == nil {
		o.Config = map[string]string{}
	}
	if o.Properties == nil {
		o.Properties = map[string]string{}
	}
	o.Config["authProvider.1"] = "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"
	o.Properties["java.security.auth.login.config"] = jaas
	o.Properties["zookeeper.fips-mode"] = "false"
	return o, nil
}
