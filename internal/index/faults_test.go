package index

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// faults maps the fault models of docs/conformance.md section 1 to the tests that show them, or to a reason.
var faults = map[int]string{
	1:  "session.TestNothingArrivesAnyMore integration.TestFaults",
	2:  "session.TestRequestsAreLost session.TestNothingArrivesAnyMore integration.TestFaults",
	3:  "session.TestSilentHandshakesLeaveTimeForTheOthers session.TestAttemptIsBoundedFromTheDial integration.TestFaults",
	4:  "integration.TestFaults",
	5:  "integration.TestFaults integration.TestSessionMovesFromAFollowerCutOffFromTheLeader recipes.TestCutOffFromTheLeader",
	6:  "integration.TestReadOnly client.TestReadOnlyAndBack client.TestReadOnlyServerRefuses",
	7:  "session.TestSlowServerIsKept session.TestSlowHandshakeIsFollowedByAPing",
	8:  "session.TestStuckConsumers",
	9:  "session.TestTornAtEveryByte conn.TestStreamSplitAtEveryByte conn.TestOneByteAtATime",
	10: "session.TestResetInsideAReply session.TestResetInsideARequest",
	11: "session.TestWrongFrames conn.TestImpossibleLengths",
	12: "session.TestWrongFrames session.TestWrongAnswers conn.TestGarbageAfterTheHandshake conn.TestPeerIsNotZooKeeper",
	13: "session.TestWrongFrames session.TestUnknownXidBreaksTheConnection session.TestLegalOvertaking session.TestIllegalOvertakingBreaks",
	14: "session.TestNotificationsThatMeanNothing session.TestStrangeNotificationsAreIgnored",
	15: "session.TestWrongAnswers",
	16: "session.TestExpiryByTheServer integration.TestFaults",
	17: "session.TestWrongAnswers session.TestAnswerOf36Bytes conn.TestHandshakeAnswerForms",
	18: "session.TestSuspendedMachine session.TestSuspensionEndsTheSession integration.TestStoppedClientLearnsOfItsEndFirst",
	19: "session.TestAllAddressesOfANameAreTried session.TestNamesAreResolvedAgain session.TestBadNamesSpoilNothing",
	20: "none: a server with a full disk has not been tried; for its clients it is a server that leaves the quorum, fault 5",
	21: "client.TestRefusalLoopIsReported",
	22: "session.TestAcceptAndCloseIsNoStorm session.TestHandshakeThatAnswersAndClosesIsNoStorm session.TestRoundsOfAttempts",
	23: "zktest.TestConformance integration.TestConformance",
	24: "session.TestRefusedCredentialsAreFinal",
	25: "session.TestFloodOfNotifications",
	26: "session.TestZeroWindow integration.TestFaults",
	27: "integration.TestMultisDuringAChangeOfTheLeader",
	28: "integration.TestFaults",
	29: "recipes.TestLostCreate zktest.TestConformance integration.TestConformance",
	30: "recipes.TestLostCreate session.TestResetInsideARequest",
}

func TestEveryFaultIsShown(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "\n## 1 ")
	part, _, _ = strings.Cut(part, "\n## 2 ")
	defined := regexp.MustCompile(`(?m)^\| ([0-9]+) \|`).FindAllStringSubmatch(part, -1)
	if len(defined) != len(faults) {
		t.Errorf("%d faults are defined, %d in the map", len(defined), len(faults))
	}
	existing := tests(t)
	for _, m := range defined {
		n, _ := strconv.Atoi(m[1])
		entry := faults[n]
		if reason, none := strings.CutPrefix(entry, noTest); none && strings.TrimSpace(reason) != "" {
			continue
		}
		names := strings.Fields(entry)
		if len(names) == 0 {
			t.Errorf("fault %d has neither a test nor a reason", n)
		}
		for _, name := range names {
			if !existing[name] {
				t.Errorf("fault %d: there is no test %s", n, name)
			}
		}
	}
}
