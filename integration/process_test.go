package integration

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// detachProgram makes an ephemeral znode, detaches its session, and prints what it takes to go on with it.
func detachProgram(servers string) error {
	ctx := context.Background()
	c, err := client.Connect(ctx, servers)
	if err != nil {
		return err
	}
	if _, _, err := c.Create(ctx, "/handed-over", nil, client.ModeEphemeral, nil); err != nil {
		return err
	}
	ticket, err := c.Detach()
	if err != nil {
		return err
	}
	fmt.Println("ticket", ticket.ID, hex.EncodeToString(ticket.Passwd), ticket.Zxid)
	return nil
}

func TestSessionGoesOnInAnotherProcess(t *testing.T) { // C80
	ens := zkserver.Require(t, zkserver.Options{})
	p := startProgram(t, "detach", ens.ConnectString())
	var ticket client.Ticket
	var passwd string
	p.says(t, "ticket", &ticket.ID, &passwd, &ticket.Zxid)
	if err := p.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	var err error
	if ticket.Passwd, err = hex.DecodeString(passwd); err != nil {
		t.Fatal(err)
	}
	observer := connect(t, ens.ConnectString())
	c := connect(t, ens.ConnectString(), client.Attach(ticket))
	if c.SessionID() != ticket.ID {
		t.Errorf("session %#x, want %#x", c.SessionID(), ticket.ID)
	}
	if st, ok, err := observer.Exists(patient(t), "/handed-over"); err != nil || !ok || st.EphemeralOwner != ticket.ID {
		t.Errorf("the ephemeral znode: %v, %v, owner %#x", ok, err, st.EphemeralOwner)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, ok, err := observer.Exists(patient(t), "/handed-over"); err != nil || ok {
		t.Errorf("after Close: %v, %v", ok, err)
	}
}

// stoppedProgram holds a lock and reads all the time. It prints the first thing that it is told after it has been stopped:
// that a read has worked in the old session, which must not be, or that it has ended.
func stoppedProgram(servers string) error {
	ctx := context.Background()
	c, err := client.Connect(ctx, servers, client.SessionTimeout(2*time.Second), client.FinalExpiry())
	if err != nil {
		return err
	}
	l, err := recipes.NewMutex(c, "/stopped").Lock(ctx)
	if err != nil {
		return err
	}
	fmt.Println("held", l.Token().Zxid)
	for last := time.Now(); ; last = time.Now() {
		_, _, err := c.Get(ctx, "/stopped")
		if gap := time.Since(last); err == nil && gap < 2*time.Second {
			continue
		}
		switch {
		case err == nil:
			fmt.Println("read in the old session")
		case errors.Is(err, client.ErrSessionExpired) && l.State() == recipes.Lost && l.Context().Err() != nil:
			fmt.Println("expired")
		default:
			fmt.Println("neither:", err, l.State())
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
		return nil
	}
}

// C66: a process that was stopped for longer than its session lives is told so before anything else.
func TestStoppedClientLearnsOfItsEndFirst(t *testing.T) {
	ens := zkserver.Require(t, zkserver.Options{TickTime: 500 * time.Millisecond})
	c := connect(t, ens.ConnectString())
	p := startProgram(t, "stopped", ens.ConnectString())
	p.held(t)
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waitFor(t, c, "/stopped", 0) // the ensemble has given it up
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	p.says(t, "expired")
	_ = p.in.Close()
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
}
