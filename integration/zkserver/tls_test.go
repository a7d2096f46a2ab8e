package zkserver

import (
	"strings"
	"testing"
)

func TestConfigurationWithTLS(t *testing.T) {
	o, err := Options{
		Members: 2, Config: map[string]string{"ssl.enabledProtocols": "TLSv1.2", "snapCount": "100"},
		TLS: &TLS{KeyStores: []string{"/one.pem", "/two.pem"}, TrustStore: "/trust.pem", ClientAuth: "want"},
	}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	text := configFile(o.secured(2, 2281), "/data", 2181, []member{{quorum: 1, election: 2}, {quorum: 3, election: 4}})
	for _, line := range []string{
		"clientPort=2181", "secureClientPort=2281", "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
		"ssl.keyStore.location=/two.pem", "ssl.trustStore.location=/trust.pem", "ssl.clientAuth=want", "ssl.enabledProtocols=TLSv1.2", "snapCount=100",
	} {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			t.Errorf("the configuration lacks %s:\n%s", line, text)
		}
	}
	if _, ok := o.Config["secureClientPort"]; ok {
		t.Error("the options of all servers have the port of one")
	}
	if !(Options{TLS: &TLS{}}).own() {
		t.Error("running servers are taken for ones with TLS")
	}
	for _, members := range []int{1, 3} {
		if _, err := (Options{Members: members, TLS: o.TLS}).withDefaults(); err == nil {
			t.Errorf("%d members with two key stores: no error", members)
		}
	}
}
