package zkserver_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

// reconfigurable is an ensemble whose members can be added and removed by whoever says super:secret.
func reconfigurable(version string) zkserver.Options {
	return zkserver.Options{
		Version: version, Members: 3, Own: true, TickTime: time.Second,
		Config:     map[string]string{"reconfigEnabled": "true", "standaloneEnabled": "false"},
		Properties: map[string]string{"zookeeper.DigestAuthenticationProvider.superDigest": client.DigestID("super", "secret")},
	}
}

func TestAnEnsembleThatCanBeReconfigured(t *testing.T) {
	for _, version := range zkserver.Versions() {
		t.Run("version "+version, func(t *testing.T) {
			ens := zkserver.Require(t, reconfigurable(version))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			sameConfiguration(ctx, t, ens)
			asSuper(ctx, t, ens.ConnectString())
			// Servers have moved a part of their configuration into another file, and must find it again.
			if moved, err := filepath.Glob(filepath.Join(ens.Server(1).Dir(), "zoo.cfg.dynamic*")); err != nil || len(moved) == 0 {
				t.Errorf("no dynamic configuration file: %v", err)
			}
			if err := ens.Server(1).Restart(ctx); err != nil {
				t.Fatal(err)
			}
			sameConfiguration(ctx, t, ens)
		})
	}
}

// sameConfiguration checks that every member names all members to its clients, with the addresses that clients use.
func sameConfiguration(ctx context.Context, t *testing.T, ens *zkserver.Ensemble) {
	t.Helper()
	for _, s := range ens.Servers() {
		c, err := client.Connect(ctx, s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		text, _, err := c.Get(ctx, "/zookeeper/config")
		if err != nil {
			t.Error(err)
		}
		for _, member := range ens.Servers() {
			if !strings.Contains(string(text), ";"+member.Addr()+"\n") {
				t.Errorf("server %d does not name %s:\n%s", s.ID(), member.Addr(), text)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// asSuper reads what nobody else may.
func asSuper(ctx context.Context, t *testing.T, servers string) {
	t.Helper()
	c, err := client.Connect(ctx, servers, client.Auth("digest", []byte("super:secret")))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	secret := []client.ACL{{Perms: client.PermAll, ID: client.ID{Scheme: "digest", ID: client.DigestID("somebody", "else")}}}
	if _, _, err := c.Create(ctx, "/secret", []byte("x"), client.ModePersistent, secret); err != nil {
		t.Fatal(err)
	}
	if data, _, err := c.Get(ctx, "/secret"); err != nil || string(data) != "x" {
		t.Errorf("as super: %q, %v", data, err)
	}
	anybody, err := client.Connect(ctx, servers)
	if err != nil {
		t.Fatal(err)
	}
	defer anybody.Close()
	if err := anybody.Sync(ctx, "/secret"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := anybody.Get(ctx, "/secret"); !errors.Is(err, client.ErrNoAuth) {
		t.Errorf("as anybody: %v, want ErrNoAuth", err)
	}
}
