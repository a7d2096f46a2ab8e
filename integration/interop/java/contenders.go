package java

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/lockkeeper/lockkeeper/integration/interop/driven"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

//go:embed *.java
var sources embed.FS

// jars are what a program needs that uses Curator and ZooKeeper's recipes. All are taken from one folder, and in this order: the
// manifests of many name others by absolute paths, which come right behind them in the class path, so that what is unpacked in a
// folder must stand before those that name it, not to be mixed with what is installed.
const jars = "slf4j-api slf4j-simple guava jackson-annotations jackson-core jackson-databind metrics-core findbugs-annotations " +
	"zookeeper-jute zookeeper zookeeper-recipes-lock curator-client curator-framework curator-recipes"

// Curator returns the class path of a version of Curator, such as "5.4".
func Curator(version string) (string, error) {
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
		driven.ErrMissing, version, strings.Join(folders, ", "))
}

// classPath returns the jars of a folder.
func classPath(folder string) (string, error) {
	var path []string
	for _, name := range strings.Fields(jars) {
		jar := filepath.Join(folder, name+".jar")
		if _, err := os.Stat(jar); errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%w: %s", driven.ErrMissing, jar)
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
		return "", fmt.Errorf("%w: no %s in PATH (Debian: default-jdk-headless)", driven.ErrMissing, program)
	}
	return path, nil
}

// Compile compiles the program into a folder below dir, which exists and is the caller's, and returns that folder. Warnings are
// errors.
func Compile(ctx context.Context, dir, jars string) (classes string, err error) {
	javac, err := jdk("javac")
	if err != nil {
		return "", err
	}
	from, classes := filepath.Join(dir, "sources"), filepath.Join(dir, "classes")
	if err := os.CopyFS(from, sources); err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(from, "*.java"))
	if err != nil {
		return "", err
	}
	args := append([]string{"-Xlint:all,-path", "-Werror", "-J-XX:TieredStopAtLevel=1", "-d", classes, "-cp", jars}, found...)
	if text, err := exec.CommandContext(ctx, javac, args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("javac: %w\n%s", err, text)
	}
	return classes, nil
}

// SessionTimeout is a flag for Start: the timeout of the sessions that Curator's contenders have, instead of ten seconds.
func SessionTimeout(d time.Duration) string {
	return fmt.Sprintf("-Dsession.timeout.ms=%d", d.Milliseconds())
}

// Start starts the program with a version of Curator, in a Java virtual machine that starts fast; flags come behind its own. The
// caller owns it until Close. Its greeting is the version of curator-recipes, that of curator-framework, and that of
// ZooKeeper's client.
func Start(ctx context.Context, version, classes, jars string, flags ...string) (*driven.Program, error) {
	virtual, err := jdk("java")
	if err != nil {
		return nil, err
	}
	args := append([]string{"-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=error"}, flags...)
	args = append(args, "-cp", classes+string(filepath.ListSeparator)+jars, "Contenders")
	p, err := driven.Start(ctx, "Curator "+version, virtual, args...)
	if err != nil {
		return nil, err
	}
	for _, is := range p.Greeting[:min(2, len(p.Greeting))] {
		if !strings.HasPrefix(is, version+".") {
			return nil, errors.Join(fmt.Errorf("Curator %s says that it is %q", version, p.Greeting), p.Close())
		}
	}
	return p, nil
}
