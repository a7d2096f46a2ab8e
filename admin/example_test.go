package admin_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockkeeper/lockkeeper/admin"
)

// A server is asked for its status. Here the server is a few lines of this test; without Dial it is dialled over TCP.
func ExampleServer() {
	fake, _ := server(srvr38Leader)
	s := admin.Server{Addr: "zk1:2181", Dial: fake.Dial}

	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	st, err := s.Srvr(ctx)
	if errors.Is(err, admin.ErrNotServing) {
		fmt.Println("up, and not serving")
		return
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %s, zxid %#x, %d znodes, slowest request %v\n", st.Mode, st.Version, st.Zxid, st.NodeCount, st.Latency.Max)
	// Output: leader 3.8.0, zxid 0x100000004, 7 znodes, slowest request 14ms
}

// Metrics without a field of their own are found by the name that the server gives them.
func ExampleServer_Mntr() {
	s, _ := server(mntr38Leader)
	m, err := s.Mntr(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	quorum, _ := m.Int("zk_quorum_size")
	fmt.Println(m.SyncedFollowers, "of", quorum-1, "followers are in step")
	// Output: 2 of 2 followers are in step
}
