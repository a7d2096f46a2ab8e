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
server.2=127.0.0.1:3:4;127.0.0.1:5
snapCount=100
syncLimit=5
tickTime=2000
`
	if got := configFile(o, "/data", 2181, []member{{quorum: 1, election: 2}, {quorum: 3, election: 4, client: 5}}); got != want {
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

// touch makes an empty file and the folders that it is in, and returns its path.
func touch(t *testing.T, parts ...string) string {
	t.Helper()
	path := filepath.Join(parts...)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestInstallations(t *testing.T) {
	home := t.TempDir()
	if in, ok := at(home); ok {
		t.Errorf("an empty folder: %+v", in)
	}
	touch(t, home, "lib", "slf4j-api.jar")
	if in, ok := at(home); ok {
		t.Errorf("a folder with other jars: %+v", in)
	}
	jar := touch(t, home, "lib", "zookeeper-3.9.9.jar")
	in, ok := at(home)
	if want := []string{filepath.Join(home, "lib", "slf4j-api.jar"), jar}; !ok || in.version != "3.9.9" || !slices.Equal(in.jars, want) {
		t.Errorf("distribution: %+v, %v", in, ok)
	}

	root := t.TempDir()
	share := filepath.Join(root, debianJars)
	last, netty := touch(t, share, "zookeeper.jar"), touch(t, share, "netty-codec.jar")
	touch(t, share, "zookeeper-3.8.7.jar")
	if in, ok := at(root); ok {
		t.Errorf("packages without netty-resolver: %+v", in)
	}
	resolver := touch(t, share, "netty-resolver.jar")
	in, ok = at(root)
	if want := []string{netty, resolver, last}; !ok || in.version != "3.8.7" || !slices.Equal(in.jars, want) {
		t.Errorf("packages: %+v, %v", in, ok)
	}
}

func TestVersions(t *testing.T) {
	in := installation{version: "3.9.3"}
	for version, want := range map[string]bool{"": true, "3.9": true, "3.9.3": true, "3": true, "3.8": false, "3.9.31": false, "3.9.": false} {
		if got := in.is(version); got != want {
			t.Errorf("3.9.3 is %q: %v", version, got)
		}
	}
	if (installation{}).is("3.9") {
		t.Error("an installation of unknown version is taken for 3.9")
	}
}

func TestFindingVersions(t *testing.T) {
	bin, folder, home := t.TempDir(), t.TempDir(), t.TempDir()
	touch(t, bin, "java")
	touch(t, home, "lib", "zookeeper-3.1.7.jar")
	touch(t, folder, "zookeeper-3.2", "lib", "zookeeper-3.2.5.jar")
	touch(t, folder, ".zookeeper-3.3.x", "lib", "zookeeper-3.3.1.jar") // not complete yet
	t.Setenv("PATH", bin)
	t.Setenv("ZK_SERVERS", "")
	t.Setenv("ZK_HOMES", folder)
	t.Setenv("ZK_VERSION", "")
	t.Setenv("ZK_HOME", home)
	for version, want := range map[string]string{"": "3.1.7", "3.1": "3.1.7", "3.2": "3.2.5"} {
		if in, err := find(version); err != nil || in.version != want || in.java != filepath.Join(bin, "java") {
			t.Errorf("version %q: %+v, %v, want %s", version, in, err, want)
		}
	}
	_, err := find("3.3")
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "3.3") {
		t.Errorf("a version that is not there: %v, want ErrNotFound", err)
	}
	if _, err := Start(t.Context(), Options{Version: "3.3"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("start of a version that is not there: %v, want ErrNotFound", err)
	}
	t.Setenv("ZK_VERSION", "3.2")
	for version, want := range map[string]string{"": "3.2.5", "3.1": "3.1.7"} {
		if in, err := find(version); err != nil || in.version != want {
			t.Errorf("ZK_VERSION is 3.2, version %q: %+v, %v, want %s", version, in, err, want)
		}
	}
	t.Setenv("ZK_HOME", bin)
	if _, err := find("3.2"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a ZK_HOME that is none: %v, want ErrNotFound", err)
	}
}

func TestRunningServersAreNotChanged(t *testing.T) {
	t.Setenv("ZK_SERVERS", "127.0.0.1:1,127.0.0.1:2/app")
	if got := running(); !slices.Equal(got, []string{"127.0.0.1:1", "127.0.0.1:2"}) {
		t.Errorf("ZK_SERVERS read as %q", got)
	}
	for _, o := range []Options{{Own: true}, {Members: 3}, {Config: map[string]string{"a": "b"}}, {Version: "3.9"}} {
		if _, err := Start(t.Context(), o); !errors.Is(err, ErrNotFound) || !errors.Is(err, ErrNotOurs) {
			t.Errorf("%+v: %v, want ErrNotFound and ErrNotOurs", o, err)
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
