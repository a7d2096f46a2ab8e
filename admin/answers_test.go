package admin_test

// Answers of real servers, some of them shortened; those of 3.4 are put together from the form its servers print.
const (
	srvr34 = "Zookeeper version: 3.4.14-4c25d480e66aadd371de8bd2fd8da255ac140bcf, built on 03/06/2019 16:18 GMT\n" +
		"Latency min/avg/max: 0/2/16\nReceived: 51\nSent: 50\nConnections: 2\nOutstanding: 0\nZxid: 0x1f00000003\n" +
		"Mode: follower\nNode count: 12\n"

	srvr38Leader = "Zookeeper version: 3.8.0-${mvngit.commit.id}, built on 2024-12-29 17:54 UTC\n" +
		"Latency min/avg/max: 1/5.8333/14\nReceived: 9\nSent: 8\nConnections: 3\nOutstanding: 0\nZxid: 0x100000004\n" +
		"Mode: leader\nNode count: 7\nProposal sizes last/min/max: 87/48/87\n"

	srvr39 = "Zookeeper version: 3.9.3-${mvngit.commit.id}, built on 2026-03-08 16:19 UTC\n" +
		"Latency min/avg/max: 1/9.1667/26\nReceived: 31\nSent: 30\nConnections: 3\nOutstanding: 0\nZxid: 0x4\n" +
		"Mode: standalone\nNode count: 7\n"

	mntr34 = "zk_version\t3.4.14-4c25d480e66aadd371de8bd2fd8da255ac140bcf, built on 03/06/2019 16:18 GMT\n" +
		"zk_avg_latency\t2\nzk_max_latency\t16\nzk_min_latency\t0\nzk_packets_received\t51\nzk_packets_sent\t50\n" +
		"zk_num_alive_connections\t2\nzk_outstanding_requests\t0\nzk_server_state\tleader\nzk_znode_count\t12\n" +
		"zk_watch_count\t3\nzk_ephemerals_count\t1\nzk_approximate_data_size\t174\nzk_open_file_descriptor_count\t31\n" +
		"zk_max_file_descriptor_count\t4096\nzk_fsync_threshold_exceed_count\t0\nzk_followers\t2\n" +
		"zk_synced_followers\t2\nzk_pending_syncs\t0\n"

	mntr38Leader = "zk_version\t3.8.0-${mvngit.commit.id}, built on 2024-12-29 17:54 UTC\nzk_server_state\tleader\n" +
		"zk_peer_state\tleading - broadcast\nzk_ephemerals_count\t1\nzk_min_proposal_size\t48\n" +
		"zk_num_alive_connections\t3\nzk_avg_latency\t5.8333\nzk_outstanding_requests\t0\nzk_znode_count\t7\n" +
		"zk_global_sessions\t2\nzk_synced_followers\t2\nzk_packets_sent\t9\nzk_packets_received\t10\n" +
		"zk_connection_drop_probability\t0.0\nzk_watch_count\t1\nzk_pending_syncs\t0\nzk_learners\t2\nzk_min_latency\t1\n" +
		"zk_max_file_descriptor_count\t20000\nzk_approximate_data_size\t50\nzk_open_file_descriptor_count\t73\n" +
		"zk_uptime\t1455\nzk_max_latency\t14\nzk_quorum_size\t3\nzk_avg_1_learner_handler_qp_size\t0.2857\n"

	mntr39 = "zk_version\t3.9.3-${mvngit.commit.id}, built on 2026-03-08 16:19 UTC\nzk_server_state\tstandalone\n" +
		"zk_ephemerals_count\t1\nzk_num_alive_connections\t3\nzk_avg_latency\t9.1667\nzk_outstanding_requests\t0\n" +
		"zk_znode_count\t7\nzk_packets_sent\t31\nzk_packets_received\t32\nzk_watch_count\t1\nzk_min_latency\t1\n" +
		"zk_max_file_descriptor_count\t20000\nzk_approximate_data_size\t50\nzk_open_file_descriptor_count\t44\n" +
		"zk_uptime\t455\nzk_max_latency\t26\nzk_avg_restore_time\t0.0\n"

	cons38 = " /127.0.0.1:50590[1](queued=0,recved=3,sent=3,sid=0x100000c2fb80001,lop=GETD,est=1796049163849,to=10000," +
		"lcxid=0x2,lzxid=0x4,lresp=798900,llat=1,minlat=0,avglat=1,maxlat=2)\n" +
		" /127.0.0.1:50642[0](queued=0,recved=1,sent=0)\n\n"

	cons39 = " /[0:0:0:0:0:0:0:1]:52208[5](queued=7,recved=3,sent=2,sid=0xf00001122790000,lop=PING,est=1796049488316," +
		"to=4000,lzxid=0xffffffffffffffff,lresp=1123446,llat=3,minlat=1,avglat=17,maxlat=26)\n\n"

	wchs38 = "1 connections watching 2 paths\nTotal watches:3\n"

	notServing     = "This ZooKeeper instance is not currently serving requests\n"
	notWhitelisted = " is not executed because it is not in the whitelist.\n" // behind the word
)
