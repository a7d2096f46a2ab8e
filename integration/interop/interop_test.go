package interop

import (
	"cmp"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// TestInterop runs everything on each version of the server. The programs are started once.
func TestInterop(t *testing.T) {
	classes := compile(t)
	curator54, curator57 := curator(t, classes, "5.4"), curator(t, classes, "5.7")
	var kz *program
	interpreter, err := python(t)
	if errors.Is(err, errMissing) && os.Getenv("ZK_REQUIRED") != "1" {
		t.Logf("SKIPPED, what needs kazoo: %v", err)
	} else if err != nil {
		t.Fatal(err)
	} else {
		kz = kazoo(t, interpreter)
	}
	versions := zkserver.Versions()
	for i, version := range versions {
		t.Run(cmp.Or(version, "given"), func(t *testing.T) {
			ens := zkserver.Require(t, zkserver.Options{Version: version})
			servers, server := ens.ConnectString(), ens.Server(1)
			t.Run("Mutex", func(t *testing.T) { testMutex(t, servers, curator54, curator57) })
			t.Run("ReadWrite", func(t *testing.T) { testReadWrite(t, servers, curator54, curator57) })
			t.Run("Semaphore", func(t *testing.T) { testSemaphore(t, servers, curator54, curator57) })
			t.Run("SemaphoreMutex", func(t *testing.T) { testSemaphoreMutex(t, servers, curator54, curator57) })
			t.Run("Election", func(t *testing.T) { testElection(t, servers, curator54, curator57) })
			t.Run("Revocation", func(t *testing.T) { testRevocation(t, servers, curator54, curator57) })
			// The Java clients of the same age as the server, and all are asked once.
			if newest := i == len(versions)-1; newest {
				t.Run("Matrix", func(t *testing.T) { testMatrix(t, server, curator57, kz) })
				t.Run("OurNames", func(t *testing.T) { testOurNames(t, server, curator57, kz) })
				t.Run("FullSemaphore", func(t *testing.T) { testFull(t, server, curator54, curator57) })
				t.Run("Succession", func(t *testing.T) { testSuccession(t, server, curator54, curator57) })
				t.Run("ReadWriteOrder", func(t *testing.T) { testReadWriteOrder(t, server, curator54, curator57) })
				t.Run("KazooReadWrite", func(t *testing.T) { testKazooReadWrite(t, server, kz) })
				t.Run("Expiry", func(t *testing.T) { testExpiry(t, server, classes, interpreter) })
				t.Run("DowngradeAhead", func(t *testing.T) { testDowngradeAhead(t, server, curator54, curator57) })
			} else {
				t.Run("Matrix", func(t *testing.T) { testMatrix(t, server, curator54, kz) })
			}
		})
	}
}

// testMutex lets all that understand Curator's names contend for one mutex.
func testMutex(t *testing.T, servers string, curator54, curator57 *program) {
	contend(t, servers, mutexKind(), []entrant{
		{mutexKind(), 2, mutexRounds, modeMutex, false},
		{reentrantKind(), 1, mutexRounds, modeMutex, false},
		{sharedKind("ours-queue", recipes.LocalQueue()), 2, mutexRounds, modeMutex, true},
		{sharedKind("ours-handover", recipes.HandOver(3, time.Second)), 2, mutexRounds, modeMutex, true},
		{goZKKind(), 2, mutexRounds, modeMutex, false},
		{foreignKind("Curator-5.4", curator54, "mutex"), 2, mutexRounds, modeMutex, false},
		{foreignKind("Curator-5.7", curator57, "mutex"), 2, mutexRounds, modeMutex, false},
	})
}

// mutexRounds is how often each contender takes the mutex.
const mutexRounds = 30
