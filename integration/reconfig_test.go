package integration

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

// TestReconfig removes a member of a real ensemble and takes it back, by increments and as a whole, and is told of each change.
func TestReconfig(t *testing.T) {
	for _, version := range zkserver.Versions() {
		t.Run(version, func(t *testing.T) { reconfigure(t, version) })
	}
}

func reconfigure(t *testing.T, version string) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ens := zkserver.Require(t, zkserver.Options{
		Version: version, Members: 3, Own: true, TickTime: time.Second,
		Config:     map[string]string{"reconfigEnabled": "true", "standaloneEnabled": "false"},
		Properties: map[string]string{"zookeeper.DigestAuthenticationProvider.superDigest": client.DigestID("super", "secret")},
	})
	followers := ens.Followers(ctx)
	stays, leaves := followers[0], followers[1]
	super := connectAs(ctx, t, stays.Addr()+"/chroot", client.Auth("digest", []byte("super:secret")))
	anybody := connectAs(ctx, t, stays.Addr())

	before, _, err := super.GetConfig(ctx)
	must(t, err)
	if len(before.Servers) != 3 || before.Version <= 0 {
		t.Fatalf("configuration at first: %+v", before)
	}
	line := ""
	for _, s := range before.Servers {
		if s.ID == leaves.ID() {
			line = s.Line
		}
		if s.Role != "participant" || !strings.Contains(s.Client, ":") || s.QuorumPort == 0 || s.ElectionPort == 0 {
			t.Errorf("member %+v", s)
		}
	}
	refusals(ctx, t, super, anybody, before.Version)

	_, watch, err := anybody.ConfigWatch(ctx)
	must(t, err)
	all, err := anybody.Watch(ctx, "/zookeeper/config", client.Persistent)
	must(t, err)
	defer all.Close()
	without, st, err := super.Reconfig(ctx, client.Reconfiguration{Leaving: []string{strconv.Itoa(leaves.ID())}, Version: before.Version})
	must(t, err)
	if len(without.Servers) != 2 || without.Version <= before.Version || st.DataLength != int32(len(without.Data)) {
		t.Errorf("without %d: %+v, %+v", leaves.ID(), without, st)
	}
	told(ctx, t, all)
	if ev, err := watch.Wait(ctx); err != nil || ev.Type != client.EventNodeDataChanged || ev.Path != "/zookeeper/config" {
		t.Errorf("one-shot watch: %+v, %v", ev, err)
	}

	again, _, err := super.Reconfig(ctx, client.Reconfiguration{Joining: []string{line}, Version: client.AnyConfigVersion})
	must(t, err)
	told(ctx, t, all)
	if len(again.Servers) != 3 {
		t.Errorf("with it again: %+v", again)
	}
	var members []string
	for _, s := range without.Servers {
		members = append(members, s.Line)
	}
	whole, _, err := super.Reconfig(ctx, client.Reconfiguration{Members: members, Version: again.Version})
	must(t, err)
	told(ctx, t, all)
	if len(whole.Servers) != 2 {
		t.Errorf("the whole list: %+v", whole)
	}
	must(t, anybody.Sync(ctx, "/"))
	seen, _, err := anybody.GetConfig(ctx)
	must(t, err)
	if string(seen.Data) != string(whole.Data) {
		t.Errorf("another client reads\n%s\nwant\n%s", seen.Data, whole.Data)
	}
}

// refusals are what an ensemble answers to those who may not, come too late, or say what makes no sense.
func refusals(ctx context.Context, t *testing.T, super, anybody *client.Client, version int64) {
	t.Helper()
	for _, tc := range []struct {
		what   string
		c      *client.Client
		change client.Reconfiguration
		want   error
	}{
		{"not super", anybody, client.Reconfiguration{Leaving: []string{"3"}, Version: client.AnyConfigVersion}, client.ErrNoAuth},
		{"another version", super, client.Reconfiguration{Leaving: []string{"3"}, Version: version + 1}, client.ErrBadVersion},
		{"no such form", super, client.Reconfiguration{Joining: []string{"server.9=nonsense"}, Version: client.AnyConfigVersion}, client.ErrBadArguments},
	} {
		_, _, err := tc.c.Reconfig(ctx, tc.change)
		if !errors.Is(err, tc.want) || client.MaybeApplied(err) {
			t.Errorf("%s: %v, want %v", tc.what, err, tc.want)
		}
	}
}

// told waits for the event of a change of the configuration.
func told(ctx context.Context, t *testing.T, w *client.Watcher) {
	t.Helper()
	ev, err := w.Next(ctx)
	if err != nil || ev.Type != client.EventNodeDataChanged || ev.Path != "/zookeeper/config" {
		t.Errorf("watcher: %+v, %v", ev, err)
	}
}

func connectAs(ctx context.Context, t *testing.T, servers string, opts ...client.Option) *client.Client {
	t.Helper()
	c, err := client.Connect(ctx, servers, opts...)
	must(t, err)
	t.Cleanup(func() { _ = c.Close() }) // the session's end is not what is tested
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
