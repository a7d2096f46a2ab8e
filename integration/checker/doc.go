// Package checker decides whether what clients of a lock have seen can be true: it records their calls, and looks for an
// order in which the calls, one at a time, have the effects they reported (linearizability, with porcupine).
//
// # History
//
// A History holds operations. Each has a Call, taken before the call of the API, and a Return, taken after it, of one Clock
// that all clients of a run share; in a synctest bubble it shows virtual time. An operation whose outcome nobody knows stays
// open to the end of the run, since it may take effect at any time; one that has failed for certain is kept, and changes
// nothing. The harness adds what it does and sees itself: Lost when the ensemble has ended a session or an operator has
// deleted a znode, Holders when it has read the queue. These come from the server's side, never from what a client believes.
//
// What the harness has seen on the server also narrows operations: a grant must come before the znode that was granted was
// gone, and a release of unknown outcome, which deletes one znode by its name, has no effect any more once that is gone.
//
// # Models
//
// LockModel covers the mutex, the re-entrant mutex, the election and the read-write lock, SemaphoreModel the semaphore with holds of
// several permits and a number of them that changes, Curator's included, ZnodeModel the client itself. Several locks taken as one are,
// on each of their paths, an operation from the same Call to the same Return; that they begin together is not required. A call of Lock
// that was not granted has no state of its own: its znode may be the first of the queue for a
// time, until it is cleaned up, and that no client is told. So the checker only requires that nobody holds the lock when
// Holders finds such a znode in front, and the driver that in the end none is left. Tokens must rise with the grants, so the
// models also say that whoever came first is served first.
//
// What an observer of an election is told is a Holders of the time since it was told something else. A function that leads is a hold
// from its begin to its end. A write in one transaction with the guard of a hold is carried out if and only if the hold stands at that
// moment, and only once: the version of the znode that it writes counts the writes.
//
// Two things are excused, because no client can know in time: what it does with a hold after an operator has deleted the
// znode, and the overlap of beliefs from then on.
//
// # Beliefs
//
// That no two clients held a lock at once does not say that the first had noticed its loss. What clients believe is checked
// apart: see Belief.
//
// # Tests
//
// The tests drive the recipes, and a small lock of the tests' own with a switch of mistakes, through seeded faults on the
// in-memory server in virtual time and, behind proxies, on a real one. A violation prints its seed, how to run it again, and
// where the picture of its history is. Flags:
//
//	-checker.seed      first seed
//	-checker.seeds     how many of TestRecipes; 1400 take some 15 seconds on two processors
//	-checker.pictures  folder for pictures; by default a new one below that for temporary files
//
// The same seed gives the same faults and the same work. What happens at one instant of virtual time is in the hands of the
// scheduler all the same, so that a violation may take several runs of its seed to show again.
//
// The package starts no goroutines.
package checker
