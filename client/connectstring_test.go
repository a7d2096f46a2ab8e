package client

import (
	"errors"
	"slices"
	"testing"

	"github.com/lockkeeper/lockkeeper/proto"
)

func TestConnectString(t *testing.T) {
	for _, tc := range []struct {
		in      string
		servers []string
		chroot  string
	}{
		{"zk1", []string{"zk1:2181"}, ""},
		{"zk1:2182", []string{"zk1:2182"}, ""},
		{"zk1,zk2:1,zk3:65535", []string{"zk1:2181", "zk2:1", "zk3:65535"}, ""},
		{" zk1 , zk2:2182\t", []string{"zk1:2181", "zk2:2182"}, ""},
		{"127.0.0.1:2181", []string{"127.0.0.1:2181"}, ""},
		{"[::1]", []string{"[::1]:2181"}, ""},
		{"[2001:db8::1]:2182,zk2", []string{"[2001:db8::1]:2182", "zk2:2181"}, ""},
		{"[fe80::1%eth0]:2181", []string{"[fe80::1%eth0]:2181"}, ""},
		{"zk1/", []string{"zk1:2181"}, ""},
		{"zk1/app", []string{"zk1:2181"}, "/app"},
		{"zk1:2181,zk2:2181/app/a", []string{"zk1:2181", "zk2:2181"}, "/app/a"},
		{"zk1/app ", []string{"zk1:2181"}, "/app"},
		{"zk1/a,b", []string{"zk1:2181"}, "/a,b"},
		{"zk1,zk1", []string{"zk1:2181", "zk1:2181"}, ""},
	} {
		servers, chroot, err := parseConnectString(tc.in)
		if err != nil || !slices.Equal(servers, tc.servers) || chroot != tc.chroot {
			t.Errorf("%q: %q, %q, %v", tc.in, servers, chroot, err)
		}
	}
}

func TestBadConnectString(t *testing.T) {
	for in, part := range map[string]string{
		"":                     "",
		" ":                    " ",
		"/app":                 "/app",
		",":                    "",
		"zk1,":                 "",
		"zk1,,zk2":             "",
		"zk1, ,zk2":            " ",
		":2181":                ":2181",
		"zk1:":                 "zk1:",
		"zk1:0":                "zk1:0",
		"zk1:65536":            "zk1:65536",
		"zk1:-1":               "zk1:-1",
		"zk1:port":             "zk1:port",
		"zk1:+2181":            "zk1:+2181",
		"zk1 :2181":            "zk1 :2181",
		"z k1":                 "z k1",
		"user@zk1":             "user@zk1",
		"::1":                  "::1",
		"2001:db8::1,zk2":      "2001:db8::1",
		"[::1":                 "[::1",
		"[::1]2181":            "[::1]2181",
		"[::1]:":               "[::1]:",
		"[zk1]:2181":           "[zk1]:2181",
		"[127.0.0.1]:2181":     "[127.0.0.1]:2181",
		"[]:2181":              "[]:2181",
		"zk1]":                 "zk1]",
		"zk1/app/":             "/app/",
		"zk1//app":             "//app",
		"zk1/a/../b":           "/a/../b",
		"zk1/a\x00":            "/a\x00",
		"zookeeper://zk1:2181": "//zk1:2181",
	} {
		_, _, err := parseConnectString(in)
		var bad *ConnectStringError
		if !errors.As(err, &bad) || bad.Part != part {
			t.Errorf("%q: %v", in, err)
		}
	}
	_, _, err := parseConnectString("zk1/app/")
	var path *proto.PathError
	if !errors.As(err, &path) {
		t.Errorf("a bad chroot gives %v", err)
	}
	if _, err := Lazy("zk1,,zk2"); err == nil || err.Error() != `zk: connect: connect string, "": empty entry` {
		t.Errorf("Lazy says %v", err)
	}
}
