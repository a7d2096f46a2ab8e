package zkserver

import (
	"cmp"
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
	// system is the home of what Debian's packages have installed: the root of the file system.
	system = string(filepath.Separator)
	// debianJars is where they keep their jars, in a home that is one.
	debianJars = "usr/share/java"
)

// installation is what it takes to run a server.
type installation struct {
	java    string   // the program
	version string   // of ZooKeeper, as the name of its jar says; empty when it does not
	jars    []string // the class path, the one that logs included
}

// running returns the addresses that ZK_SERVERS names; a chroot behind them is not part of an address.
func running() []string {
	servers, _, _ := strings.Cut(os.Getenv("ZK_SERVERS"), "/")
	return strings.FieldsFunc(servers, func(r rune) bool { return r == ',' || r == ' ' })
}

// find looks for an installation of a version, or of the one that ZK_VERSION names when it is empty, or of any. Its error
// matches ErrNotFound and says what is missing.
func find(version string) (installation, error) {
	version = cmp.Or(version, os.Getenv("ZK_VERSION"))
	java, err := javaProgram()
	if err != nil {
		return installation{}, err
	}
	if home := os.Getenv("ZK_HOME"); home != "" {
		if _, ok := at(home); !ok {
			return installation{}, fmt.Errorf("%w: ZK_HOME is %s, which has no ZooKeeper in lib or %s", ErrNotFound, home, debianJars)
		}
	}
	for _, home := range Homes() {
		if in, ok := at(home); ok && in.is(version) {
			in.java = java
			return in, nil
		}
	}
	return installation{}, notFound(version)
}

// javaProgram looks for java in PATH and in JAVA_HOME.
func javaProgram() (string, error) {
	java, err := exec.LookPath("java")
	if home := os.Getenv("JAVA_HOME"); err != nil && home != "" {
		java, err = exec.LookPath(filepath.Join(home, "bin", "java"))
	}
	if err != nil {
		return "", fmt.Errorf("%w: no java in PATH", ErrNotFound)
	}
	return java, nil
}

// notFound says what was looked for, and how to get it.
func notFound(version string) error {
	if version == "" {
		return fmt.Errorf("%w: neither ZK_SERVERS nor ZK_HOME is set, and there is none in %s or %s "+
			"(Debian: apt-get install default-jdk-headless libzookeeper-java libnetty-java)", ErrNotFound, system+debianJars, homesFolder())
	}
	return fmt.Errorf("%w: version %s is not the one of ZK_HOME, and neither in %s nor in %s (make servers fetches 3.9)",
		ErrNotFound, version, system+debianJars, homesFolder())
}

// homesFolder returns the folder that holds further homes: ZK_HOMES, or lockkeeper in the user's cache folder; empty
// when there is no such folder.
func homesFolder() string {
	if folder := os.Getenv("ZK_HOMES"); folder != "" {
		return folder
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "" // a user without a home has no homes
	}
	return filepath.Join(cache, "lockkeeper")
}

// Homes returns the folders in which an installation may be, in the order in which they are tried: ZK_HOME, the root of the
// file system with what Debian's packages have installed, and those in ZK_HOMES or lockkeeper in the user's cache folder,
// which "make servers" fills. They need not exist.
func Homes() []string {
	homes := []string{system}
	if home := os.Getenv("ZK_HOME"); home != "" {
		homes = []string{home, system}
	}
	if folder := homesFolder(); folder != "" {
		found, _ := filepath.Glob(filepath.Join(folder, "[^.]*")) // malformed only if the folder's name is; those with a dot are being made
		homes = append(homes, found...)
	}
	return homes
}

// is reports whether the installation has a version such as 3.9 or 3.9.3; every one is the empty version.
func (in installation) is(version string) bool {
	return version == "" || in.version == version || strings.HasPrefix(in.version, version+".")
}

// at returns the installation in home, if one is there: a distribution, or Debian's packages unpacked below it.
func at(home string) (installation, bool) {
	jars, ok := distribution(home)
	if !ok {
		jars, ok = debian(filepath.Join(home, debianJars))
	}
	if !ok {
		return installation{}, false
	}
	return installation{version: versionOf(home), jars: jars}, true
}

// versionOf returns the version that the name of ZooKeeper's jar carries: zookeeper-3.9.3.jar, which Debian has as a link.
func versionOf(home string) string {
	for _, folder := range []string{"lib", ".", debianJars} {
		found, _ := filepath.Glob(filepath.Join(home, folder, "zookeeper-[0-9]*.jar"))
		if len(found) > 0 {
			return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), "zookeeper-"), ".jar")
		}
	}
	return ""
}

// distribution returns the jars of the distribution in home.
func distribution(home string) ([]string, bool) {
	// Up to 3.4 the server's own jar lies beside lib; the pattern is malformed only if home is.
	own, _ := filepath.Glob(filepath.Join(home, "zookeeper-*.jar"))
	lib, _ := filepath.Glob(filepath.Join(home, "lib", "*.jar"))
	jars := slices.Concat(own, lib)
	named := func(jar string) bool { return strings.HasPrefix(filepath.Base(jar), "zookeeper-") }
	return jars, len(lib) > 0 && slices.ContainsFunc(jars, named) // the root of the file system has a lib as well
}

// packaged are the jars that a server of Debian needs. The manifests of the last two name others by absolute paths, so what
// was unpacked elsewhere must come first, not to be mixed with what is installed.
const packaged = `commons-cli commons-io findbugs-annotations jackson-annotations jackson-core jetty9-client jetty9-http jetty9-io
	jetty9-security jetty9-server jetty9-servlet jetty9-util metrics-core netty-buffer netty-codec netty-common netty-handler
	netty-resolver netty-transport netty-transport-native-epoll netty-transport-native-unix-common slf4j-api slf4j-simple
	snappy-java zookeeper-jute jackson-databind zookeeper`

// debian returns the jars of Debian's packages in folder, or nothing when what a server cannot do without is missing:
// ZooKeeper, and what its manifest forgets. Without slf4j-simple it drops all that a failed test would want to read.
func debian(folder string) ([]string, bool) {
	var jars []string
	for _, name := range strings.Fields(packaged) {
		if jar := filepath.Join(folder, name+".jar"); exists(jar) {
			jars = append(jars, jar)
		} else if name == "zookeeper" || name == "netty-codec" || name == "netty-resolver" {
			return nil, false
		}
	}
	return jars, true
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
