package lines

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Writer
		fmt.Fprint(&w, "one\ntw")
		if line, err := w.Wait(t.Context(), "on"); line != "one" || err != nil {
			t.Fatal(line, err)
		}
		found := make(chan string)
		go func() {
			line, _ := w.Wait(t.Context(), "two")
			found <- line
		}()
		synctest.Wait()
		fmt.Fprint(&w, "o, 2\n\nthree\n")
		if line := <-found; line != "two, 2" {
			t.Error(line)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := w.Wait(ctx, "one"); err == nil || !strings.Contains(err.Error(), "three") { // it was passed
			t.Error(err)
		}
		if all := w.All(); !slices.Equal(all, []string{"one", "two, 2", "", "three"}) {
			t.Errorf("%q", all)
		}
	})
}
