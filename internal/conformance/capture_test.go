package conformance

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"
)

// storedCapture returns a file of captures and what is in it.
func storedCapture(t *testing.T, version string) (string, []Exchange) {
	t.Helper()
	text, err := os.ReadFile("../../proto/testdata/captures/" + version + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	all, err := ParseCapture(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(text), all
}

func TestCaptureFiles(t *testing.T) {
	for _, version := range []string{"3.8.0", "3.9.3"} {
		text, all := storedCapture(t, version)
		if FormatCapture(version, all) != text {
			t.Errorf("the file of %s is not what is written for its contents", version)
		}
	}
	if _, err := ParseCapture("name\nC 0g\n"); err == nil {
		t.Error("a digit that is none was read")
	}
}

// A capture differs from one in which anything but ids, passwords, times and the beginning of zxids is another.
func TestDiffCaptures(t *testing.T) {
	_, want := storedCapture(t, "3.8.0")
	again := func() []Exchange { _, all := storedCapture(t, "3.8.0"); return all }
	if diff := DiffCaptures(again(), want); diff != "" {
		t.Error(diff)
	}
	for i, x := range want {
		for k, st := range x.Steps {
			if len(st.Frame) == 0 {
				continue
			}
			other := again()
			b := other[i].Steps[k].Frame
			b[len(b)-1] ^= 1 // in no field of which any value will do
			if DiffCaptures(other, want) == "" {
				t.Errorf("%s, step %d: the last bit of the frame makes no difference", x.Name, k)
			}
		}
	}
	if DiffCaptures(again()[1:], want) == "" || DiffCaptures(again(), want[:len(want)-1]) == "" {
		t.Error("an exchange that is missing makes no difference")
	}
	_, newer := storedCapture(t, "3.9.3")
	if DiffCaptures(newer, want) == "" {
		t.Error("the versions make no difference")
	}
	// Another session with another password, all the way.
	answer := want[0].Steps[2].Frame
	id, passwd := answer[12:20], answer[24:40]
	moved := again()
	for i := range moved {
		for k := range moved[i].Steps {
			b := moved[i].Steps[k].Frame
			b = bytes.ReplaceAll(b, id, binary.BigEndian.AppendUint64(nil, 77))
			moved[i].Steps[k].Frame = bytes.ReplaceAll(b, passwd, bytes.Repeat([]byte{9}, 16))
		}
	}
	if diff := DiffCaptures(moved, want); diff != "" {
		t.Error(diff)
	}
}
