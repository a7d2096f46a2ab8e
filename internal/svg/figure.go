package svg

import (
	"bytes"
	"fmt"
	"io"
	"math"
)

// Figure is a file. Text goes below the title, in as many lines as it needs.
type Figure struct {
	Title, Text string
	Charts      []Chart
}

// Chart is a pair of axes with their curves. X and Y name the axes and their units.
type Chart struct {
	Title, X, Y string
	Series      []Series
}

// Series is a curve. Points that are negative or no numbers are not drawn, and neither are more curves than Kinds.
type Series struct {
	Name   string
	Note   string // behind the name in the legend
	Points []Point
	Fit    *Power // drawn thin, if there is one
}

// Point is one point of a curve. A zero has a place of its own, before the smallest power of ten.
type Point struct{ X, Y float64 }

// Power is the curve Factor times x to the power of Exponent; in a chart, a straight line.
type Power struct{ Factor, Exponent float64 }

// Kinds is how many curves of a chart can be told apart.
const Kinds = 4

// All lengths are in units of which a telephone has about as many across as Figure has.
const (
	width      = 440.0
	margin     = 12.0
	plotLeft   = 62.0
	plotRight  = width - 2*margin // a label's half is there
	plotHeight = 210.0
	lineHeight = 17.0
	lineChars  = 66 // of text that fit into a line, roughly
)

// page is a figure under way: what has been written, and how far down.
type page struct {
	bytes.Buffer
	y float64
}

// Write draws the figure.
func (f *Figure) Write(w io.Writer) error {
	var p page
	p.y = margin
	p.text("title ink", margin, p.line(1.2), "start", f.Title)
	for _, line := range wrap(f.Text, lineChars) {
		p.text("pale", margin, p.line(1), "start", line)
	}
	for i := range f.Charts {
		p.chart(&f.Charts[i])
	}
	p.y += margin
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %s %s" role="img" aria-labelledby="t d">`+"\n",
		num(width*1.5), num(p.y*1.5), num(width), num(p.y))
	fmt.Fprintf(&out, "<title id=\"t\">%s</title>\n<desc id=\"d\">%s</desc>\n<style>\n%s</style>\n", escape(f.Title), escape(f.describe()), style)
	fmt.Fprintf(&out, `<rect class="paper" width="%s" height="%s"/>`+"\n", num(width), num(p.y))
	out.Write(p.Bytes())
	out.WriteString("</svg>\n")
	_, err := w.Write(out.Bytes())
	return err
}

// describe is the figure in words, for those who do not see it.
func (f *Figure) describe() string {
	var b bytes.Buffer
	b.WriteString(f.Text)
	for _, c := range f.Charts {
		fmt.Fprintf(&b, " %s: %s against %s.", c.Title, c.Y, c.X)
		for _, s := range c.Series {
			fmt.Fprintf(&b, " %s %s.", s.Name, s.Note)
		}
	}
	return b.String()
}

// line goes down by so many lines and returns where the text of the last one stands.
func (p *page) line(lines float64) float64 {
	p.y += lines * lineHeight
	return p.y - 0.3*lineHeight
}

// chart draws one chart below what is there.
func (p *page) chart(c *Chart) {
	p.y += 0.7 * lineHeight
	p.text("head ink", margin, p.line(1), "start", c.Title)
	p.text("pale", margin, p.line(1), "start", c.Y)
	series := c.Series[:min(len(c.Series), Kinds)]
	var xs, ys []float64
	for _, s := range series {
		for _, pt := range s.Points {
			if drawn(pt) {
				xs, ys = append(xs, pt.X), append(ys, pt.Y)
			}
		}
	}
	top := p.y + 8
	x, y := newAxis(xs, plotLeft, plotRight), newAxis(ys, top+plotHeight, top)
	p.grid(&x, &y)
	for i, s := range series {
		p.fit(i, s.Fit, &x, &y)
		p.curve(i, s.Points, &x, &y)
	}
	p.y = top + plotHeight
	p.line(1) // of the ticks
	p.text("pale", (plotLeft+plotRight)/2, p.line(1), "middle", c.X)
	for i, s := range series {
		p.legend(i, s)
	}
}

// drawn reports whether a point has a place.
func drawn(pt Point) bool { return place(pt.X) && place(pt.Y) }

func place(v float64) bool { return v >= 0 && !math.IsInf(v, 0) }

// legend writes the line of one curve.
func (p *page) legend(i int, s Series) {
	at := p.line(1)
	fmt.Fprintf(p, `<path class="curve s%d" d="M%s %sH%s"/>`+"\n", i, num(plotLeft), num(at-4), num(plotLeft+34))
	p.mark(i, plotLeft+17, at-4, "")
	text := s.Name
	if s.Note != "" {
		text += ": " + s.Note
	}
	p.text("ink", plotLeft+42, at, "start", text)
}

func (p *page) text(class string, x, y float64, anchor, text string) {
	fmt.Fprintf(p, `<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>`+"\n", class, num(x), num(y), anchor, escape(text))
}
