package session

import (
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/proto"
)

// asked takes the next connection, which is to bring isro, answers, and returns who was asked.
func (s *script) asked(answer string) string {
	s.t.Helper()
	nc, err := s.ln.Accept()
	require.NoError(s.t, err)
	word := make([]byte, 4)
	_, err = io.ReadFull(nc, word)
	require.NoError(s.t, err)
	require.Equal(s.t, "isro", string(word))
	_, err = io.WriteString(nc, answer)
	require.NoError(s.t, err)
	require.NoError(s.t, nc.Close())
	return nc.LocalAddr().String()
}

// pong answers everything, which is pings and a closeSession, until the connection ends.
func (l *link) pong() {
	for {
		g, err := l.tryRead()
		if err != nil || l.fc.WriteBatch(frame(g.xid, 1, 0, nil)) != nil {
			return
		}
		if g.op == proto.OpCloseSession {
			_ = l.fc.Close()
		}
	}
}

// C137: the other servers are asked after pauses that double up to a minute, in whole rounds, and the one that serves writes is
// where the session goes.
func TestSearchForAReadWriteServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, l := startReadOnly(t, nil, "one:2181", "two:2181", "three:2181")
		go l.pong()
		here := k.State().Server
		others := slices.DeleteFunc([]string{"one:2181", "two:2181", "three:2181"}, func(n string) bool { return n == here })
		last, pause := time.Now(), minSearch/2 // the random number is 0
		for range 15 {
			first := s.asked("ro")
			assert.Equal(t, pause, time.Since(last))
			assert.ElementsMatch(t, others, []string{first, s.asked("null")})
			last, pause = time.Now(), min(2*pause, maxSearch/2)
		}
		assert.Equal(t, maxSearch/2, pause)
		assert.Contains(t, others, s.asked("isro is not executed because it is not in the whitelist.\n"))
		found := s.asked("rw")
		l2, req := s.serve(0x77, testTimeout)
		defer finishWith(k, l2)
		assert.EqualValues(t, 0, req.SessionID)
		synctest.Wait()
		assert.Equal(t, Change{State: StateConnected, Generation: 1, SessionID: 0x77, Server: found}, k.State())
		assert.Equal(t, 0, k.Current().searches)
	})
}

// A server that says that it serves writes, and refuses the session, does not make a loop: the pauses go on growing.
func TestSearchThatLeadsNowhereIsNoStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, ro := startReadOnly(t, nil, "one:2181", "two:2181")
		go ro.pong()
		began, rounds := time.Now(), 0
		for time.Since(began) < 10*time.Minute {
			s.asked("rw")
			l, _ := s.accept() // refused: what the session has seen is newer
			_ = l.fc.Close()
			ro, _ = s.serveReadOnly()
			go ro.pong()
			rounds++
		}
		assert.Less(t, rounds, 40)
		_ = k.Close()
	})
}

// An ask that is not answered ends within the time of an attempt, and new servers are asked at once.
func TestSearchIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, l := startReadOnly(t, nil, "one:2181", "two:2181")
		go l.pong()
		nc, err := s.ln.Accept()
		require.NoError(t, err)
		began := time.Now()
		_, err = io.Copy(io.Discard, nc)
		require.NoError(t, err)
		assert.Equal(t, testTimeout/2, time.Since(began))
		k.Current().mu.Lock()
		k.Current().searches = 10
		k.Current().mu.Unlock()
		s.asked("ro")
		synctest.Wait()
		began = time.Now()
		require.NoError(t, k.SetServers([]string{k.State().Server, "three:2181"}))
		assert.Equal(t, "three:2181", s.asked("ro"))
		assert.Zero(t, time.Since(began))
		_ = k.Close()
	})
}

// The address that the search has found comes first, when its name has others too.
func TestSearchAsksTheOtherAddressesOfAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t)
		cfg := s.config("zk:2181")
		cfg.ReadOnly = true
		cfg.Env.Resolve = zone{"zk": {"10.0.0.1", "10.0.0.2", "10.0.0.3"}}.resolve
		k := open(t, cfg)
		s.serveReadOnly()
		assert.Equal(t, "10.0.0.2:2181", s.asked("ro"))
		assert.Equal(t, "10.0.0.3:2181", s.asked("rw"))
		l, _ := s.serve(0x77, testTimeout)
		defer finishWith(k, l)
		synctest.Wait()
		assert.Equal(t, "10.0.0.3:2181", k.Current().cx.addr)
	})
}

// Close ends a search, whatever it is waiting for, and closes the temporary session.
func TestCloseWhileSearching(t *testing.T) {
	for name, wait := range map[string]func(*script){
		"the pause":  func(*script) {},
		"the answer": func(s *script) { _, _ = s.ln.Accept(); synctest.Wait() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, k, l := startReadOnly(t, nil, "one:2181", "two:2181")
				wait(s)
				go l.goodbye()
				began := time.Now()
				assert.NoError(t, k.Close())
				assert.Zero(t, time.Since(began))
				synctest.Wait() // leaves nothing, or the bubble would not end
			})
		})
	}
}
