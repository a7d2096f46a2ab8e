// The config program follows a configuration: a znode and everything below it. It prints each setting, and then each that changes,
// until it is interrupted.
//
//	go run ./examples/config -servers zk1:2181
//	go run ./examples/config -servers zk1:2181 -set timeout=3s    changes a setting, in another terminal
//
// It goes on through lost connections and expired sessions: what has changed meanwhile is printed when it is known. Package
// cache does the work; what a program reads from it between two changes costs no request.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/lockkeeper/lockkeeper/cache"
	"github.com/lockkeeper/lockkeeper/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "config:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("config", flag.ContinueOnError)
	servers := fs.String("servers", "127.0.0.1:2181", "`host:port,host:port` of the ensemble")
	path := fs.String("path", "/examples/config", "`path` of the configuration, whose children are the settings")
	set := fs.String("set", "", "change a setting, `name=value`, and end")
	if err := fs.Parse(args); err != nil {
		return err
	}
	c, err := client.Connect(ctx, *servers)
	if err != nil {
		return err
	}
	defer c.Close()
	if *set != "" {
		return change(ctx, c, *path, *set)
	}
	settings, err := cache.Open(ctx, c, *path)
	if err != nil {
		return err
	}
	defer settings.Close()
	for u, err := range settings.Updates(ctx) {
		if ctx.Err() != nil {
			return nil // interrupted
		}
		if err != nil {
			return err
		}
		if !u.State.Current {
			fmt.Fprintln(out, "not connected: the settings may be outdated")
		}
		show(u, *path, out)
	}
	return nil
}

// show prints what has changed.
func show(u cache.Update, path string, out io.Writer) {
	for ch := range u.Changes() {
		name, ok := strings.CutPrefix(ch.Path, path+"/")
		switch {
		case !ok: // the znode of the configuration itself
		case ch.Type == cache.Removed:
			fmt.Fprintf(out, "%s is removed\n", name)
		default:
			fmt.Fprintf(out, "%s=%s\n", name, ch.New.Data)
		}
	}
}

// change writes a setting.
func change(ctx context.Context, c *client.Client, path, setting string) error {
	name, value, ok := strings.Cut(setting, "=")
	if !ok {
		return fmt.Errorf("-set %s: no value", setting)
	}
	znode := path + "/" + name
	_, _, err := c.CreateAll(ctx, znode, []byte(value), client.ModePersistent, nil)
	if errors.Is(err, client.ErrNodeExists) {
		_, err = c.Set(ctx, znode, []byte(value), client.AnyVersion)
	}
	return err
}
