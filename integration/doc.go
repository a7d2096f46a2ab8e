// Package integration is the module that tests Lockkeeper against real ZooKeeper servers. It is a module of its own so
// that what it needs never reaches an importer of the library.
//
// Package zkserver starts servers as processes, package faultproxy stands between them and breaks what passes, package
// loopback lends them ports, package wirecount counts what passes. Package interop has other clients contend for our locks,
// package checker looks at what happened to locks under faults, and the command lockcost measures what a lock costs the servers.
//
// The tests use what zkserver finds: servers named by ZK_SERVERS, a distribution named by ZK_HOME, or Debian's jars. When there
// is none they are skipped with the reason; ZK_REQUIRED=1 turns that into a failure.
package integration
