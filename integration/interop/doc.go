// Package interop tests that locks of Lockkeeper and those of other clients exclude each other on one path, or do not where
// docs/locks.md section 2.9 says so. It has nothing but tests; package driven runs the programs.
//
// The others are what their users run. Curator 5.4 and 5.7, and the WriteLock that comes with ZooKeeper, run in a Java virtual
// machine each; folder java has the program that drives them, which is compiled when the tests begin. kazoo runs in Python,
// driven by the program in folder python. go-zookeeper runs here, as does a client written by hand on top of it.
//
// # Where they come from
//
// Curator 5.4 is in Debian's package libcurator-recipes-java (Debian 12), 5.7 in the folder into which make servers unpacks
// ZooKeeper 3.9, kazoo in Debian's package python3-kazoo. The compiler is in default-jdk-headless. What is missing leaves its
// tests out, with the reason; ZK_REQUIRED=1 makes that a failure.
//
// # What is tested
//
// Contention: all that understand each other take one lock hundreds of times, and in each hold increment a counter with a plain
// get and a plain set. An overlap loses an increment, and is seen by the znodes that mark who is inside.
//
// The permits of a semaphore have holders of all kinds at once. Each counts who is inside, and stays for some requests while there is
// room, so that there is one too many if anybody lets too many in; and some must have seen all permits taken.
//
// Elections are contended for in the same way. Who leads and who follows must be the same for both sides, and for an observer.
//
// Order: one client holds, another comes. It must get the lock, or wait, or fail, as is expected of that pair; what is documented
// as unsafe and turns out to be safe fails the test too. Nothing is timed there: a waiter is known by the watch
// that the server has of its session on the holder's znode.
//
// kazoo's WriteLock contends with our read-write lock; its ReadLock meets ours in order only, since the one of 2.8 waits for writers
// behind it, which a test shows.
//
// Expiry: the session of a holder ends without a word, ours because it is cut off, another's because its process is killed. Whoever
// waits in another client gets the mutex then, and ours has known before that its lease was lost.
//
// # Goroutines
//
// One per running program reads what it says, and ends with it. Tests have their own, which end with them.
package interop
