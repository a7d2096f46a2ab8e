package embedded

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/load/delay"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// Flag is the first argument of the child.
const Flag = "-serve"

// Divert is called first in the main function of a program: in the child it serves, and ends the process when that is over.
func Divert() {
	if len(os.Args) > 1 && os.Args[1] == Flag {
		os.Exit(Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
}

// Main is the child: its arguments are a round-trip time and, if the server runs elsewhere, its addresses. It serves until
// stdin ends, and returns the exit status.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if err := serve(args, stdin, stdout); err != nil {
		fmt.Fprintln(stderr, "server of the benchmark:", err)
		return 1
	}
	return 0
}

func serve(args []string, stdin io.Reader, stdout io.Writer) error {
	if len(args) == 0 || len(args) > 2 {
		return fmt.Errorf("called with %d arguments", len(args))
	}
	rtt, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	var servers string
	if len(args) == 2 {
		servers = args[1]
	} else {
		srv := zktest.New()
		defer srv.Close()
		if servers, err = srv.Listen(); err != nil {
			return err
		}
	}
	if rtt > 0 {
		var proxies []*delay.Proxy
		defer func() {
			for _, p := range proxies {
				p.Close()
			}
		}()
		if servers, proxies, err = distant(servers, rtt); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(stdout, servers); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, stdin)
	return err
}

// distant puts a proxy before each server and returns the connect string of the proxies, with the chroot that servers had.
func distant(servers string, rtt time.Duration) (string, []*delay.Proxy, error) {
	hosts, chroot := servers, ""
	if i := strings.IndexByte(servers, '/'); i >= 0 {
		hosts, chroot = servers[:i], servers[i:]
	}
	var proxies []*delay.Proxy
	var addrs []string
	for host := range strings.SplitSeq(hosts, ",") {
		p, err := delay.Listen(withPort(strings.TrimSpace(host)), rtt/2)
		if err != nil {
			return "", proxies, err
		}
		proxies, addrs = append(proxies, p), append(addrs, p.Addr())
	}
	return strings.Join(addrs, ",") + chroot, proxies, nil
}

// withPort adds the default port to a host that has none.
func withPort(host string) string {
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		return host
	}
	return host + ":2181"
}
