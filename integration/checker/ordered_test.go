package checker

import "testing"

// orderedSetup has paths with mutexes and semaphores, which some lock as one and some one after the other.
func orderedSetup() setup {
	return setup{make: newRecipe, kinds: []kind{mutexes, readWrite, semaphores, lines}, multi: true, model: LockModel(), faults: usual}
}

// TestCarelessMultiLocks: beside clients that take one lock after the other, MultiLocks that are not Ordered get into a deadlock, and the
// harness finds it. That they do not when they are is part of TestRecipes.
func TestCarelessMultiLocks(t *testing.T) { // A10 rule 16, G10
	s := orderedSetup()
	s.careless = true
	for i := range uint64(controlSeeds) {
		for _, v := range simulate(t, s, *firstSeed+i, "").bad {
			if v.Fault == Liveness {
				t.Logf("after %d seeds: %v", i+1, v)
				careful := s
				careful.careless = false
				for j := range i + 1 + soundSeeds {
					report(t, "TestCarelessMultiLocks", *firstSeed+j, simulate(t, careful, *firstSeed+j, ""))
				}
				return
			}
		}
	}
	t.Errorf("not found with %d seeds", controlSeeds)
}
