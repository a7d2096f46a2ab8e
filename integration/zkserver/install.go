package zkserver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	singleClass = "org.apache.zookeeper.server.ZooKeeperServerMain"
	memberClass = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
	debianJars  = "/usr/share/java"
)

// installation is what it takes to run a server.
type installation struct {
	java string   // the program
	jars []string // the class path, the one that logs included
}

// running returns the addresses that ZK_SERVERS names; a chroot behind them is not part of an address.
func running() []string {
	servers, _, _ := strings.Cut(os.Getenv("ZK_SERVERS"), "/")
	return strings.FieldsFunc(servers, func(r rune) bool { return r == ',' || r == ' ' })
}

// find looks for an installation. Its error matches ErrNotFound and says what is missing.
func find() (installation, error) {
	java, err := exec.LookPath("java")
	if home := os.Getenv("JAVA_HOME"); err != nil && home != "" {
		java, err = exec.LookPath(filepath.Join(home, "bin", "java"))
	}
	if err != nil {
		return installation{}, fmt.Errorf("%w: no java in PATH", ErrNotFound)
	}
	jars, err := distribution(os.Getenv("ZK_HOME"))
	if err != nil {
		return installation{}, err
	}
	if jars == nil {
		jars, err = debian(debianJars)
	}
	return installation{java: java, jars: jars}, err
}

// distribution returns the jars of the distribution in home, nil when home is empty.
func distribution(home string) ([]string, error) {
	if home == "" {
		return nil, nil
	}
	// Up to 3.4 the server's own jar lies beside lib; the pattern is malformed only if home is.
	own, _ := filepath.Glob(filepath.Join(home, "zookeeper-*.jar"))
	lib, _ := filepath.Glob(filepath.Join(home, "lib", "*.jar"))
	if len(lib) == 0 {
		return nil, fmt.Errorf("%w: ZK_HOME is %s, which has no lib/*.jar", ErrNotFound, home)
	}
	return slices.Concat(own, lib), nil
}

// debian returns the jars of Debian's packages; the manifest of the first names most others.
func debian(folder string) ([]string, error) {
	var jars []string
	for _, name := range []string{"zookeeper.jar", "netty-codec.jar", "netty-resolver.jar"} {
		jar := filepath.Join(folder, name)
		if _, err := os.Stat(jar); err != nil {
			return nil, fmt.Errorf("%w: neither ZK_SERVERS nor ZK_HOME is set, and there is no %s "+
				"(Debian: apt-get install default-jdk-headless libzookeeper-java libnetty-java)", ErrNotFound, jar)
		}
		jars = append(jars, jar)
	}
	// Without a binding SLF4J complains and drops all that a failed test would want to read.
	if simple := filepath.Join(folder, "slf4j-simple.jar"); exists(simple) {
		jars = append(jars, simple)
	}
	return jars, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
