package scale

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/lockkeeper/lockkeeper/internal/svg"
)

// result is a curve that was measured.
type result struct {
	curve    *curve
	subjects []subject
	ours     int // index of our client
	points   []int
	values   [][][]float64 // by figure, subject, point
	site     string        // where; empty when no server took part
	leftOut  string        // which points were, and why
}

// newResult makes room for the medians of a curve. Points that need more files than may be open are left out.
func (r *runner) newResult(c *curve) *result {
	res := &result{curve: c, subjects: c.subjects(r.Drivers), ours: len(r.Drivers) - 1}
	if c.server {
		res.site = r.site.Name
	}
	points := r.Points
	if points == nil {
		points = c.points
	}
	for _, x := range points {
		if r.files > 0 && c.files > 0 && c.files*x+filesBeside > r.files {
			res.leftOut = fmt.Sprintf("left out from %d %s on: only %d files may be open", x, c.x, r.files)
			break
		}
		res.points = append(res.points, x)
	}
	res.values = make([][][]float64, len(c.figures))
	for f := range res.values {
		res.values[f] = make([][]float64, len(res.subjects))
		for i := range res.values[f] {
			res.values[f][i] = make([]float64, len(res.points))
		}
	}
	return res
}

// xs returns the points as numbers.
func (res *result) xs() (xs []float64) {
	for _, x := range res.points {
		xs = append(xs, float64(x))
	}
	return xs
}

// writeTable prints a table per figure: a line per point, then the fits.
func (res *result) writeTable(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "\n%s: %s%s\n", res.curve.name, res.curve.title, res.where())
	for f := range res.curve.figures {
		b.WriteByte('\n')
		res.writeFigure(&b, f)
	}
	if res.leftOut != "" {
		fmt.Fprintf(&b, "\n%s\n", res.leftOut)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (res *result) where() string {
	if res.site == "" {
		return ""
	}
	return "; server: " + res.site
}

func (res *result) writeFigure(w io.Writer, f int) {
	fig := &res.curve.figures[f]
	better := "less is better"
	if fig.more {
		better = "more is better"
	}
	fmt.Fprintf(w, "%s, %s; %s\n", fig.name, fig.unit, better)
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	row := func(head string, cell func(i int) string, ratio func(i int) string) {
		cells := []string{head}
		for i := range res.subjects {
			cells = append(cells, cell(i))
		}
		for i := range res.subjects {
			if i != res.ours {
				cells = append(cells, ratio(i))
			}
		}
		fmt.Fprintf(t, "%s\t\n", strings.Join(cells, "\t"))
	}
	ours := res.subjects[res.ours].name
	row(res.curve.x, func(i int) string { return res.subjects[i].name }, func(i int) string { return ours + "/" + res.subjects[i].name })
	values := res.values[f]
	for k, x := range res.points {
		row(fmt.Sprint(x), func(i int) string { return digits(values[i][k]) },
			func(i int) string { return quotient(values[res.ours][k], values[i][k]) })
	}
	nothing := func(int) string { return "" }
	row("exponent", func(i int) string { return res.fitted(f, i, func(ft Fit) float64 { return ft.Exponent }) }, nothing)
	row("r²", func(i int) string { return res.fitted(f, i, func(ft Fit) float64 { return ft.R2 }) }, nothing)
	_ = t.Flush() // w is a buffer
}

// fitted prints a part of a fit, or that there is none.
func (res *result) fitted(f, i int, part func(Fit) float64) string {
	ft, ok := fit(res.xs(), res.values[f][i])
	if !ok {
		return "-"
	}
	return strings.Replace(fmt.Sprintf("%.2f", part(ft)), "-0.00", "0.00", 1)
}

// figure makes the drawing.
func (res *result) figure() *svg.Figure {
	fg := &svg.Figure{
		Title: res.curve.name,
		Text:  res.curve.title + res.where() + ". Thin lines are the fitted powers of x; r² says how well they fit.",
	}
	for f, fig := range res.curve.figures {
		c := svg.Chart{Title: fig.name, X: res.curve.x, Y: fig.unit}
		for i, s := range res.subjects {
			line := svg.Series{Name: s.name}
			for k, x := range res.points {
				line.Points = append(line.Points, svg.Point{X: float64(x), Y: res.values[f][i][k]})
			}
			if ft, ok := fit(res.xs(), res.values[f][i]); ok {
				line.Fit = &svg.Power{Factor: ft.Factor, Exponent: ft.Exponent}
				line.Note = fmt.Sprintf("exponent %s, r² %.2f", res.fitted(f, i, func(ft Fit) float64 { return ft.Exponent }), ft.R2)
			}
			c.Series = append(c.Series, line)
		}
		fg.Charts = append(fg.Charts, c)
	}
	return fg
}

// digits prints three or more of them, of small values two.
func digits(v float64) string {
	switch {
	case v == 0:
		return "0"
	case math.Abs(v) >= 100:
		return fmt.Sprintf("%.0f", v)
	case math.Abs(v) >= 10:
		return fmt.Sprintf("%.1f", v)
	case math.Abs(v) >= 0.1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

// quotient prints a/b, and nothing where that says nothing.
func quotient(a, b float64) string {
	if b == 0 {
		return "-"
	}
	return digits(a / b)
}

// filesBeside is how many files a process may have open beside those of its sessions.
const filesBeside = 64
