package scale

import (
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func parsed(args string) (*Options, error) {
	o := &Options{Rounds: 1}
	fs := flag.NewFlagSet("x", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	o.Register(fs)
	if err := fs.Parse(strings.Fields(args)); err != nil {
		return o, err
	}
	return o, o.Validate()
}

func TestFlags(t *testing.T) {
	o, err := parsed("-scale payload -points 0,10 -svg dir -scaletime 2s")
	require.NoError(t, err)
	assert.Equal(t, []int{0, 10}, o.Points)
	assert.Len(t, o.chosen(), 1)
	o, err = parsed("-scale all")
	require.NoError(t, err)
	assert.Len(t, o.chosen(), len(Names()))
	o, err = parsed("")
	require.NoError(t, err)
	assert.Empty(t, o.chosen())
}

func TestFlagsThatAreWrong(t *testing.T) {
	for args, want := range map[string]string{
		"-scale nix":                       `-scale "nix" is none of contenders, locks, sessions, watches, payload, depth, all`,
		"-svg dir":                         "for -scale",
		"-points 1":                        "for -scale",
		"-scale locks -scaletime 0":        "-scaletime is 0s",
		"-scale locks -scaletime -1s":      "-scaletime is -1s",
		"-scale locks -points 1,x":         `"x" is no whole number`,
		"-scale locks -points 1,":          `"" is no whole number`,
		"-scale locks -points 0":           "-points 0 is not for -scale locks, which goes from 1 to 100000",
		"-scale payload -points -1":        "-points -1",
		"-scale payload -points 1048577":   "-points 1048577",
		"-scale all -points 0":             "-points 0 is not for -scale locks",
		"-scale contenders -points 100001": "-points 100001",
	} {
		_, err := parsed(args)
		require.ErrorContains(t, err, want, args)
	}
	require.ErrorIs(t, (&Options{What: All, Window: 1}).Validate(), ErrOptions, "no rounds")
}

// The points that curves have of their own are within their bounds, and begin and end where the curves are promised to.
func TestPointsOfTheCurves(t *testing.T) {
	ends := map[string][2]int{
		"contenders": {1, 5000}, "locks": {1, 1000}, "sessions": {1, 1000}, "watches": {1, 100_000}, "payload": {0, 1 << 20},
		"depth": {1, 1000},
	}
	for _, c := range curves() {
		assert.Equal(t, ends[c.name], [2]int{c.points[0], c.points[len(c.points)-1]}, c.name)
		assert.LessOrEqual(t, c.least, c.points[0])
		assert.IsIncreasing(t, c.points)
		assert.GreaterOrEqual(t, c.most, c.points[len(c.points)-1])
	}
	assert.Len(t, curves(), len(ends))
}
