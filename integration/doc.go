// Package integration is the module that tests Lockkeeper against real ZooKeeper servers. It is a module of its own so
// that what it needs never reaches an importer of the library.
//
// Package zkserver starts servers as processes, package faultproxy stands between them and breaks what passes, package
// loopback lends them ports. Package interop has other clients contend for our locks, and package checker looks at what
// happened to locks under faults. The tests use what it finds: servers named by ZK_SERVERS, a distribution named by ZK_HOME,
// or Debian's jars. When there is none they are skipped with the reason; ZK_REQUIRED=1 turns that into a failure.
package integration
