package zkserver

import (
	"errors"
	"time"
)

// Options of an ensemble. The zero value is one standalone server made for tests.
type Options struct {
	// Version asks for a version of ZooKeeper, such as "3.9" or "3.9.3". Empty means the one that the environment variable
	// ZK_VERSION names, and without it the first that is found.
	Version string
	// Members is the number of servers; 0 and 1 mean one standalone server, more an ensemble with elections.
	Members int
	// TickTime is ZooKeeper's unit of time, 2 s by default. Session timeouts lie between 2 and 20 of it.
	TickTime time.Duration
	// InitLimit and SyncLimit are how many ticks a follower may take to join, and may be out of touch with its leader;
	// 10 and 5 by default. A follower that is cut off answers its clients for up to SyncLimit ticks.
	InitLimit, SyncLimit int
	// Config holds further lines of the configuration file, or replaces those written here. With reconfigEnabled=true the
	// members' lines name their client ports too, as reconfiguration needs it.
	Config map[string]string
	// Properties are passed to the Java virtual machine as -Dkey=value.
	Properties map[string]string
	// JVMFlags are passed to the Java virtual machine after our own and so can override them.
	JVMFlags []string
	// Benchmark leaves the virtual machine its best compiler and 1 GiB of memory, and logs warnings only. Without it
	// servers start fast, stay small and log what they do.
	Benchmark bool
	// Dir is the folder in which the data folder is made; name one on a disk to measure a disk. Empty means a memory file
	// system where there is one, else the system's temporary folder.
	Dir string
	// TLS gives the servers a port for clients with TLS beside the plain one.
	TLS *TLS
	// QuorumProxies puts a proxy into every connection between two members, so that they can be separated while clients
	// reach all of them. See Ensemble.Link.
	QuorumProxies bool
	// Own asks for servers that are started here, because the test stops them or counts on their being fresh. It follows
	// from any option that running servers cannot be given.
	Own bool
}

// own reports whether running servers, which are as they are, do not do.
func (o Options) own() bool {
	return o.Own || o.Version != "" || o.TLS != nil || o.QuorumProxies || o.Benchmark || o.Dir != "" || o.TickTime != 0 || o.InitLimit != 0 || o.SyncLimit != 0 ||
		len(o.Config)+len(o.Properties)+len(o.JVMFlags) > 0
}

// reconfigures reports whether members can be added and removed. A server then moves the lines server.N and the client port
// of its configuration file into a file zoo.cfg.dynamic beside it, and reads both when it starts again.
func (o Options) reconfigures() bool { return o.Config["reconfigEnabled"] == "true" }

func (o Options) withDefaults() (Options, error) {
	if o.Members == 0 {
		o.Members = 1
	}
	if o.TickTime == 0 {
		o.TickTime = 2 * time.Second
	}
	if o.InitLimit == 0 {
		o.InitLimit = 10
	}
	if o.SyncLimit == 0 {
		o.SyncLimit = 5
	}
	if o.TLS != nil && len(o.TLS.KeyStores) != o.Members {
		return o, errors.New("zkserver: TLS needs one key store for each member")
	}
	if o.QuorumProxies && o.Members < 2 {
		return o, errors.New("zkserver: QuorumProxies needs members to stand between")
	}
	// With reconfiguration members adopt the leader's configuration, and with it the proxies that are the leader's.
	if o.QuorumProxies && o.reconfigures() {
		return o, errors.New("zkserver: QuorumProxies cannot be combined with reconfigEnabled")
	}
	return o, nil
}
