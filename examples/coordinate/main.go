// The coordinate program lets programs wait for each other by the value of a znode: one says which phase it is, and the others
// wait for theirs.
//
//	go run ./examples/coordinate -servers zk1:2181 -wait loaded    returns when the phase is "loaded"
//	go run ./examples/coordinate -servers zk1:2181 -say loaded     says so
//
// A watch tells that something has changed, and not what: after each event the value is read again, with the next watch, so
// that no change is missed between the two. A phase that is replaced by the next one quickly may be passed over.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/lockkeeper/lockkeeper/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "coordinate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("coordinate", flag.ContinueOnError)
	servers := fs.String("servers", "127.0.0.1:2181", "`host:port,host:port` of the ensemble")
	path := fs.String("path", "/examples/phase", "`path` of the znode that holds the phase")
	wait := fs.String("wait", "", "the `phase` to wait for")
	say := fs.String("say", "", "the `phase` to begin")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if (*wait == "") == (*say == "") {
		return errors.New("one of -wait and -say, please")
	}
	c, err := client.Connect(ctx, *servers)
	if err != nil {
		return err
	}
	defer c.Close()
	if *say != "" {
		return begin(ctx, c, *path, *say)
	}
	for {
		phase, err := look(ctx, c, *path, *wait, out)
		switch {
		case err == nil && phase == *wait:
			fmt.Fprintln(out, "it is", phase)
			return nil
		case err == nil, errors.Is(err, client.ErrConnectionLoss), errors.Is(err, client.ErrSessionExpired) && c.Context().Err() == nil:
			// look again, on the next connection or in the next session
		default:
			return err
		}
	}
}

// look returns the phase if it is the one that is wanted, and waits for a change otherwise.
func look(ctx context.Context, c *client.Client, path, wanted string, out io.Writer) (string, error) {
	node, watch, err := c.GetWatch(ctx, path)
	if errors.Is(err, client.ErrNoNode) {
		node, watch, err = c.ExistsWatch(ctx, path)
		if err == nil && node.Exists { // made in between, and its data is not known
			watch.Close()
			return "", nil
		}
	}
	if err != nil {
		return "", err
	}
	defer watch.Close()
	if string(node.Data) == wanted {
		return wanted, nil
	}
	fmt.Fprintf(out, "it is %q, waiting for %q\n", node.Data, wanted)
	_, err = watch.Wait(ctx)
	return "", err
}

// begin says which phase it is.
func begin(ctx context.Context, c *client.Client, path, phase string) error {
	_, _, err := c.CreateAll(ctx, path, []byte(phase), client.ModePersistent, nil)
	if errors.Is(err, client.ErrNodeExists) {
		_, err = c.Set(ctx, path, []byte(phase), client.AnyVersion)
	}
	return err
}
