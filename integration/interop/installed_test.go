package interop

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

// errMissing says that something is not installed.
var errMissing = errors.New("not installed")

// need ends a test for which something is missing: it is skipped, or fails where all is required. Any other error is a failure.
func need(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, errMissing) && os.Getenv("ZK_REQUIRED") != "1" {
		t.Skipf("SKIPPED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// jars are what a program needs that uses Curator and ZooKeeper's recipes. All are taken from one folder, and in this order: the
// manifests of many name others by absolute paths, which come right behind them in the class path, so that what is unpacked in a
// folder must stand before those that name it, not to be mixed with what is installed.
const jars = "slf4j-api slf4j-simple guava jackson-annotations jackson-core jackson-databind metrics-core findbugs-annotations " +
	"zookeeper-jute zookeeper zookeeper-recipes-lock curator-client curator-framework curator-recipes"

// curatorJars returns the class path of a version of Curator, such as 5.4.
func curatorJars(version string) (string, error) {
	folders := jarFolders()
	for _, folder := range folders {
		found, err := filepath.Glob(filepath.Join(folder, "curator-recipes-"+version+".*.jar"))
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			return classPath(folder)
		}
	}
	return "", fmt.Errorf("%w: Curator %s in any of %s (5.4 is Debian 12's libcurator-recipes-java, 5.7 comes with make servers)",
		errMissing, version, strings.Join(folders, ", "))
}

// classPath returns the jars of a folder.
func classPath(folder string) (string, error) {
	var path []string
	for _, name := range strings.Fields(jars) {
		jar := filepath.Join(folder, name+".jar")
		if _, err := os.Stat(jar); errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%w: %s", errMissing, jar)
		} else if err != nil {
			return "", err
		}
		path = append(path, jar)
	}
	return strings.Join(path, string(filepath.ListSeparator)), nil
}

// jarFolders returns the folders in which Debian's packages keep their jars: installed, or unpacked where package zkserver looks
// for servers.
func jarFolders() []string {
	folders := zkserver.Homes()
	for i, home := range folders {
		folders[i] = filepath.Join(home, "usr", "share", "java")
	}
	return folders
}

// jdk returns a program of the Java development kit, from PATH or JAVA_HOME.
func jdk(program string) (string, error) {
	path, err := exec.LookPath(program)
	if home := os.Getenv("JAVA_HOME"); err != nil && home != "" {
		path, err = exec.LookPath(filepath.Join(home, "bin", program))
	}
	if err != nil {
		return "", fmt.Errorf("%w: no %s in PATH (Debian: default-jdk-headless)", errMissing, program)
	}
	return path, nil
}

// python returns an interpreter that has kazoo: Debian's packages belong to Debian's own, which need not be the first in PATH.
func python(t *testing.T) (string, error) {
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		program, err := exec.LookPath(name)
		if err == nil && exec.CommandContext(t.Context(), program, "-c", "import kazoo").Run() == nil {
			return program, nil
		}
	}
	return "", fmt.Errorf("%w: no python3 with kazoo (Debian: python3-kazoo)", errMissing)
}
