package zkserver

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/integration/faultproxy"
)

func TestConfigFile(t *testing.T) {
	o, err := Options{Members: 2, Config: map[string]string{"maxClientCnxns": "7", "snapCount": "100"}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	want := `4lw.commands.whitelist=*
admin.enableServer=false
clientPort=2181
clientPortAddress=127.0.0.1
dataDir=/data
extendedTypesEnabled=true
initLimit=10
maxClientCnxns=7
server.1=127.0.0.1:1:2
server.2=127.0.0.1:3:4
snapCount=100
syncLimit=5
tickTime=2000
`
	if got := configFile(o, "/data", 2181, []member{{1, 2}, {3, 4}}); got != want {
		t.Errorf("configuration:\n%s\nwant:\n%s", got, want)
	}
}

func TestArguments(t *testing.T) {
	in := installation{java: "java", jars: []string{"a.jar", "b.jar"}}
	o, err := Options{Properties: map[string]string{"p": "1"}, JVMFlags: []string{"-Xmx1m"}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	args, err := in.arguments(o, t.TempDir(), "zoo.cfg")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"-Dp=1", "-Xmx1m", "-cp", "a.jar" + string(filepath.ListSeparator) + "b.jar", singleClass, "zoo.cfg"}
	if got := args[len(args)-len(want):]; !slices.Equal(got, want) {
		t.Errorf("arguments end with %q, want %q", got, want)
	}
	o.Members, o.Benchmark = 3, true
	if args, err = in.arguments(o, t.TempDir(), "zoo.cfg"); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(args, memberClass) || slices.Contains(args, "-XX:TieredStopAtLevel=1") {
		t.Errorf("arguments for a benchmark of an ensemble: %q", args)
	}
}

func TestOptionsThatContradict(t *testing.T) {
	for _, o := range []Options{
		{QuorumProxies: true},
		{Members: 3, QuorumProxies: true, Config: map[string]string{"reconfigEnabled": "true"}},
	} {
		if _, err := o.withDefaults(); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

func TestInstallations(t *testing.T) {
	if _, err := debian(t.TempDir()); !errors.Is(err, ErrNotFound) {
		t.Errorf("no jars: %v, want ErrNotFound", err)
	}
	home := t.TempDir()
	if _, err := distribution(home); !errors.Is(err, ErrNotFound) {
		t.Errorf("empty ZK_HOME: %v, want ErrNotFound", err)
	}
	jar := filepath.Join(home, "lib", "zookeeper-3.9.9.jar")
	if err := os.Mkdir(filepath.Dir(jar), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(jar, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if jars, err := distribution(home); err != nil || !slices.Equal(jars, []string{jar}) {
		t.Errorf("distribution: %q, %v", jars, err)
	}
}

func TestRunningServersAreNotChanged(t *testing.T) {
	t.Setenv("ZK_SERVERS", "127.0.0.1:1,127.0.0.1:2/app")
	if got := running(); !slices.Equal(got, []string{"127.0.0.1:1", "127.0.0.1:2"}) {
		t.Errorf("ZK_SERVERS read as %q", got)
	}
	for _, o := range []Options{{Own: true}, {Members: 3}, {Config: map[string]string{"a": "b"}}} {
		if _, err := Start(t.Context(), o); !errors.Is(err, ErrNotFound) {
			t.Errorf("%+v: %v, want ErrNotFound", o, err)
		}
	}
	s := &Server{id: 1, addr: "127.0.0.1:1"}
	for name, err := range map[string]error{
		"Start": s.Start(), "Stop": s.Stop(t.Context()), "Kill": s.Kill(), "Pause": s.Pause(), "Continue": s.Continue(),
	} {
		if !errors.Is(err, ErrNotOurs) {
			t.Errorf("%s: %v, want ErrNotOurs", name, err)
		}
	}
}

func TestParseStatus(t *testing.T) {
	st, err := parseStatus("Zookeeper version: 3.8.0-x, built on 2022\nReceived: 6\nConnections: 2\nOutstanding: 1\n" +
		"Zxid: 0x10000000a\nMode: leader\nNode count: 5\nProposal sizes last/min/max: 1/2/3\n")
	want := Status{Version: "3.8.0", Mode: ModeLeader, Zxid: 0x10000000a, Connections: 2, Outstanding: 1, NodeCount: 5}
	if err != nil || st != want {
		t.Errorf("%+v, %v, want %+v", st, err, want)
	}
	if _, err := parseStatus("This ZooKeeper instance is not currently serving requests\n"); !errors.Is(err, ErrNotServing) {
		t.Errorf("%v, want ErrNotServing", err)
	}
}

func TestReaddress(t *testing.T) {
	const real, proxied = "127.0.0.1:5", "127.0.0.1:40123"
	greeting := func(addr string) string {
		return strings.Repeat("x", 16) + "\x00\x00\x00" + string(rune(len(addr))) + addr
	}
	filter := readdress(real, proxied)
	toServer := filter(faultproxy.ToServer)
	if got := string(toServer([]byte(greeting(real) + "rest"))); got != greeting(proxied)+"rest" {
		t.Errorf("first message became %q", got)
	}
	if got := string(toServer([]byte(greeting(real)))); got != greeting(real) {
		t.Errorf("a later message became %q", got)
	}
	if got := string(filter(faultproxy.ToClient)([]byte(greeting(real)))); got != greeting(real) {
		t.Errorf("an answer became %q", got)
	}
	if got := string(filter(faultproxy.ToServer)([]byte("short"))); got != "short" {
		t.Errorf("a short message became %q", got)
	}
}
