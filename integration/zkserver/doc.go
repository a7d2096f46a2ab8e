// Package zkserver runs real ZooKeeper servers for tests and benchmarks: one, or an ensemble, as processes on free ports of
// the loopback interface with their data in a temporary folder.
//
// In a test:
//
//	ens := zkserver.Require(t, zkserver.Options{Members: 3})
//	cl, err := client.Connect(ctx, ens.ConnectString())
//	...
//	leader, err := ens.Leader(ctx)
//	err = leader.Kill()
//
// # Where servers come from
//
//  1. ZK_SERVERS, a connect string: they run already, are used as they are, and have no faults.
//  2. ZK_HOME, a home: the folder of an unpacked distribution, with its jars in lib, or the folder into which Debian's
//     packages were unpacked, with their jars in usr/share/java.
//  3. Debian's packages libzookeeper-java and libnetty-java, installed.
//  4. The homes in the folder ZK_HOMES, which is lockkeeper in the user's cache folder unless it is set. The program
//     fetch, beside this file, puts ZooKeeper 3.9 there (make servers), in zookeeper-3.9, and Curator 5.7 with it.
//
// Options.Version asks for one version, and then the first home that has it is taken. ZK_VERSION does the same for all
// servers that are started without that option: ZK_VERSION=3.9 go test runs tests on 3.9 that would run on Debian's own.
//
// When nothing is found Start returns ErrNotFound, and Require skips the test with the reason; with ZK_REQUIRED=1 it fails.
//
// # Processes
//
// A server is stopped by its process id, never by name. On Linux the kernel kills it when this process ends, however it
// ends. Its port stays reserved while it is down, so it comes back where it was.
//
// # Goroutines
//
// One per running process: it waits for its end on an OS thread of its own, since the kernel ties the child's life to the
// thread that started it. It ends with the process.
//
// The package needs a Unix system: faults are signals.
package zkserver
