package svg_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/internal/leakcheck"
	"github.com/lockkeeper/lockkeeper/internal/svg"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

var update = flag.Bool("svg.update", false, "write the golden file anew")

const golden = "testdata/figure.svg"

// sample has what curves have: several charts, zeros on both axes, a fit, and more text than fits into a line.
func sample() *svg.Figure {
	var straight, flat, zero []svg.Point
	for _, x := range []float64{0, 1, 10, 100, 1000} {
		straight = append(straight, svg.Point{X: x, Y: 5 * x})
		flat = append(flat, svg.Point{X: x, Y: 30})
		zero = append(zero, svg.Point{X: x, Y: 0})
	}
	return &svg.Figure{
		Title: "sample",
		Text:  "A text that is long enough to need more than one line, which the figure breaks between two of its words.",
		Charts: []svg.Chart{
			{Title: "three curves", X: "contenders", Y: "µs", Series: []svg.Series{
				{Name: "straight", Note: "exponent 1.00", Points: straight, Fit: &svg.Power{Factor: 5, Exponent: 1}},
				{Name: "flat", Note: "exponent 0.00", Points: flat, Fit: &svg.Power{Factor: 30}},
				{Name: "zero", Points: zero},
			}},
			{Title: "one point", X: "locks", Y: "per second", Series: []svg.Series{{Name: "one", Points: []svg.Point{{X: 3, Y: 1500}}}}},
		},
	}
}

func draw(t *testing.T, f *svg.Figure) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, f.Write(&b))
	return b.String()
}

func TestTheSampleIsDrawnAsBefore(t *testing.T) {
	got := draw(t, sample())
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o666))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "-args -svg.update writes the file anew; look at it then")
	assert.Equal(t, got, draw(t, sample()), "the same figure, the same bytes")
}

// element is one that was parsed, with its text.
type element struct {
	name, text string
	attr       map[string]string
}

// parse reads a file as XML, strictly.
func parse(t *testing.T, text string) (all []element) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	var open []int
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		switch tk := token.(type) {
		case xml.StartElement:
			require.Equal(t, "http://www.w3.org/2000/svg", tk.Name.Space)
			e := element{name: tk.Name.Local, attr: map[string]string{}}
			for _, a := range tk.Attr {
				e.attr[a.Name.Local] = a.Value
			}
			open, all = append(open, len(all)), append(all, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				all[open[len(open)-1]].text += string(tk)
			}
		}
	}
}

func with(all []element, name, class string) (found []element) {
	for _, e := range all {
		if e.name == name && (class == "" || strings.Contains(" "+e.attr["class"]+" ", " "+class+" ")) {
			found = append(found, e)
		}
	}
	return found
}

func TestTheFileStandsAlone(t *testing.T) {
	text := draw(t, sample())
	for _, e := range parse(t, text) {
		assert.Contains(t, []string{"svg", "title", "desc", "style", "rect", "path", "text"}, e.name)
		for name := range e.attr {
			assert.NotContains(t, []string{"href", "onload", "onclick"}, name)
		}
	}
	for _, never := range []string{"url(", "@import", "@font-face", "javascript"} {
		assert.NotContains(t, text, never)
	}
	assert.Contains(t, text, "@media screen and (prefers-color-scheme:dark)", "dark on screens, light on paper")
}

// Every class that has a colour has one for the dark.
func TestColoursAreThereInLightAndDark(t *testing.T) {
	style := with(parse(t, draw(t, sample())), "style", "")[0].text
	light, dark, ok := strings.Cut(style, "@media")
	require.True(t, ok)
	for _, class := range []string{".paper", ".ink", ".pale", ".grid", ".frame", ".s0", ".s1", ".s2", ".s3", ".m0", ".m1", ".m2", ".m3"} {
		of := func(rules string) string {
			_, rest, found := strings.Cut(rules, class+"{")
			require.True(t, found, class)
			rule, _, _ := strings.Cut(rest, "}")
			_, rest, found = strings.Cut(rule, "#")
			require.True(t, found, class)
			colour, _, _ := strings.Cut(rest, ";")
			return colour
		}
		assert.NotEqual(t, of(light), of(dark), class)
	}
}

// Whatever a text holds, the file is well-formed and shows it.
func TestTextsAreEscaped(t *testing.T) {
	const nasty = `a<b>&"c'` + "\x01]]>"
	f := &svg.Figure{Title: nasty, Text: nasty, Charts: []svg.Chart{
		{Title: nasty, X: nasty, Y: nasty, Series: []svg.Series{{Name: nasty, Note: nasty, Points: []svg.Point{{X: 1, Y: 1}}}}},
	}}
	shown := strings.ReplaceAll(nasty, "\x01", "\uFFFD")
	all := parse(t, draw(t, f))
	assert.Equal(t, shown, with(all, "title", "")[0].text)
	var texts []string
	for _, e := range with(all, "text", "") {
		texts = append(texts, e.text)
	}
	assert.Contains(t, texts, shown)
	assert.Contains(t, texts, shown+": "+shown)
}

// coordinates returns all numbers of a path that is made of absolute moves and lines.
func coordinates(t *testing.T, d string) (points [][2]float64) {
	t.Helper()
	for step := range strings.FieldsFuncSeq(d, func(r rune) bool { return r == 'M' || r == 'L' }) {
		var p [2]float64
		_, err := fmt.Sscan(step, &p[0], &p[1])
		require.NoError(t, err, d)
		points = append(points, p)
	}
	return points
}

// On axes that are logarithms a power is straight, and each point lies on the power it was made of.
func TestPointsLieWhereTheAxesSay(t *testing.T) {
	var points []svg.Point
	for x := 1.0; x <= 1000; x *= 10 {
		points = append(points, svg.Point{X: x, Y: 2 * x * x})
	}
	c := svg.Chart{Series: []svg.Series{{Name: "s", Points: points, Fit: &svg.Power{Factor: 2, Exponent: 2}}}}
	all := parse(t, draw(t, &svg.Figure{Charts: []svg.Chart{c}}))
	curve := coordinates(t, with(all, "path", "curve")[0].attr["d"])
	require.Len(t, curve, 4)
	for i := 2; i < len(curve); i++ {
		assert.InDelta(t, curve[1][0]-curve[0][0], curve[i][0]-curve[i-1][0], 0.2, "equal ratios are equal distances")
		assert.InDelta(t, curve[1][1]-curve[0][1], curve[i][1]-curve[i-1][1], 0.2)
		assert.Greater(t, curve[i][0], curve[i-1][0])
		assert.Less(t, curve[i][1], curve[i-1][1], "larger is higher")
	}
	line := coordinates(t, with(all, "path", "fit")[0].attr["d"])
	for end, want := range [][2]float64{curve[0], curve[3]} {
		assert.InDelta(t, want[0], line[end][0], 0.2)
		assert.InDelta(t, want[1], line[end][1], 0.2)
	}
}

// A fit that leaves the axes ends at them, and one that does not meet them is not drawn.
func TestFitsEndAtTheFrame(t *testing.T) {
	for _, f := range []svg.Power{{1, 3}, {1e6, -4}, {1e-9, 6}, {50, 0}, {1e9, 0}, {1e9, 1e-9}, {math.NaN(), 1}, {-1, 1}} {
		c := svg.Chart{Series: []svg.Series{{Points: []svg.Point{{X: 1, Y: 1}, {X: 100, Y: 100}}, Fit: &f}}}
		all := parse(t, draw(t, &svg.Figure{Charts: []svg.Chart{c}}))
		curve := coordinates(t, with(all, "path", "curve")[0].attr["d"])
		fits := with(all, "path", "fit")
		assert.Equal(t, f.Factor < 1e9 && f.Factor > 0, len(fits) == 1, "%v", f)
		for _, fit := range fits {
			for _, p := range coordinates(t, fit.attr["d"]) {
				assert.True(t, p[0] > curve[0][0]-0.2 && p[0] < curve[1][0]+0.2 && p[1] < curve[0][1]+0.2 && p[1] > curve[1][1]-0.2, "%v: %v", f, p)
			}
		}
	}
}

// Zero is not on the scale: it has a place of its own, at the edge, with a label.
func TestZeroHasAPlace(t *testing.T) {
	c := svg.Chart{Series: []svg.Series{{Points: []svg.Point{{X: 0, Y: 0}, {X: 1, Y: 1}, {X: 10, Y: 10}}}}}
	all := parse(t, draw(t, &svg.Figure{Charts: []svg.Chart{c}}))
	curve := coordinates(t, with(all, "path", "curve")[0].attr["d"])
	require.Len(t, curve, 3)
	frame := coordinates(t, strings.NewReplacer("V", "L0 ", "H", "L").Replace(with(all, "path", "frame")[0].attr["d"])+" 0")
	assert.Equal(t, [2]float64{frame[0][0], frame[1][1]}, curve[0], "in the corner")
	assert.Less(t, curve[0][0], curve[1][0])
	assert.Greater(t, curve[0][1], curve[1][1])
	zeros := 0
	for _, e := range with(all, "text", "pale") {
		if e.text == "0" {
			zeros++
		}
	}
	assert.Equal(t, 2, zeros, "one for each axis")
}

func TestWhatHasNoPlaceIsNotDrawn(t *testing.T) {
	points := []svg.Point{{X: math.NaN(), Y: 1}, {X: 1, Y: math.NaN()}, {X: -1, Y: 1}, {X: 1, Y: math.Inf(1)}}
	series := make([]svg.Series, svg.Kinds+1)
	series[0].Points = points
	for i := range series[1:] {
		series[1+i].Points = []svg.Point{{X: 1, Y: 1}}
	}
	all := parse(t, draw(t, &svg.Figure{Charts: []svg.Chart{{Series: series}, {}}}))
	legends := svg.Kinds
	assert.Len(t, with(all, "path", "curve"), svg.Kinds-1+legends, "the first has no point, the last is one too many")
	assert.NotContains(t, draw(t, &svg.Figure{Charts: []svg.Chart{{Series: series}}}), "NaN")
	assert.Empty(t, with(parse(t, draw(t, &svg.Figure{})), "path", ""), "no chart at all")
}

// Every curve has a colour, a dash and a mark of its own.
func TestCurvesDifferWithoutColours(t *testing.T) {
	var series []svg.Series
	for range svg.Kinds {
		series = append(series, svg.Series{Points: []svg.Point{{X: 1, Y: 1}}})
	}
	all := parse(t, draw(t, &svg.Figure{Charts: []svg.Chart{{Series: series}}}))
	shapes := map[string]bool{}
	for i := range svg.Kinds {
		d := with(all, "path", fmt.Sprintf("m%d", i))[0].attr["d"]
		_, shape, _ := strings.Cut(d, " ")
		shapes[strings.TrimLeft(shape, "0123456789.")] = true
	}
	assert.Len(t, shapes, svg.Kinds)
}

func TestTicks(t *testing.T) {
	labels := func(least, most float64) (texts []string) {
		c := svg.Chart{Series: []svg.Series{{Points: []svg.Point{{X: least, Y: 7}, {X: most, Y: 7}}}}}
		for _, e := range with(parse(t, draw(t, &svg.Figure{Charts: []svg.Chart{c}})), "text", "pale") {
			if e.attr["text-anchor"] == "middle" && e.text != "" {
				texts = append(texts, e.text)
			}
		}
		return texts
	}
	assert.Equal(t, []string{"1", "2", "5", "10"}, labels(3, 3))
	assert.Equal(t, []string{"0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1"}, labels(0.01, 1))
	assert.Equal(t, []string{"1", "10", "100", "1k", "10k", "100k", "1M"}, labels(1, 1e6))
	assert.Equal(t, []string{"0", "1", "2", "5", "10"}, labels(0, 1))
	assert.Equal(t, []string{"0.01", "0.02", "0.05", "0.1"}, labels(0.01, 0.1), "a whole power ends the scale")
	assert.Equal(t, []string{"1k", "2k", "5k", "10k"}, labels(1000, 10_000), "a whole power begins the scale")
	assert.Equal(t, []string{"1M", "10M", "100M", "1G", "10G", "100G", "1T"}, labels(1e6, 1e12))
}

type broken struct{}

var errFull = errors.New("full")

func (broken) Write([]byte) (int, error) { return 0, errFull }

func TestWriteReportsErrors(t *testing.T) {
	require.ErrorIs(t, sample().Write(broken{}), errFull)
}
