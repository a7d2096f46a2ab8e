package svg

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
)

// style holds all colours: the last rules are for readers who prefer it dark, on a screen.
const style = `svg{max-width:100%;height:auto;font:12px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif}
.title{font-size:16px;font-weight:600}.head{font-weight:600}
.paper{fill:#fff}.ink{fill:#1b1b1b}.pale{fill:#4a4a4a}
.grid{stroke:#d9d9d9;stroke-width:.7;fill:none}.frame{stroke:#8a8a8a;fill:none}
.curve{fill:none;stroke-width:2;stroke-linejoin:round}.fit{fill:none;stroke-width:.8;opacity:.7}
.s0{stroke:#a84300}.m0{fill:#a84300}.s1{stroke:#0a5aa8;stroke-dasharray:7 2}.m1{fill:#0a5aa8}
.s2{stroke:#3d6b1f;stroke-dasharray:2 2}.m2{fill:#3d6b1f}.s3{stroke:#7b2d8b;stroke-dasharray:8 2 2 2}.m3{fill:#7b2d8b}
@media screen and (prefers-color-scheme:dark){
.paper{fill:#14171a}.ink{fill:#ececec}.pale{fill:#b4bac0}.grid{stroke:#343a40}.frame{stroke:#79828a}
.s0{stroke:#ff9e57}.m0{fill:#ff9e57}.s1{stroke:#69b3ff}.m1{fill:#69b3ff}
.s2{stroke:#8fd46a}.m2{fill:#8fd46a}.s3{stroke:#d79be6}.m3{fill:#d79be6}
}
`

// grid draws the lines and labels of both axes, and the frame.
func (p *page) grid(x, y *axis) {
	for _, t := range x.ticks() {
		at := x.at(t.value)
		fmt.Fprintf(p, `<path class="grid" d="M%s %sV%s"/>`+"\n", num(at), num(y.to), num(y.from))
		p.text("pale", at, y.from+14, "middle", t.label)
	}
	for _, t := range y.ticks() {
		at := y.at(t.value)
		fmt.Fprintf(p, `<path class="grid" d="M%s %sH%s"/>`+"\n", num(x.from), num(at), num(x.to))
		p.text("pale", x.from-6, at+4, "end", t.label)
	}
	fmt.Fprintf(p, `<path class="frame" d="M%s %sV%sH%s"/>`+"\n", num(x.from), num(y.to), num(y.from), num(x.to))
}

// curve draws the points of curve i and what connects them.
func (p *page) curve(i int, points []Point, x, y *axis) {
	var d strings.Builder
	for _, pt := range points {
		if !drawn(pt) {
			continue
		}
		step := "L"
		if d.Len() == 0 {
			step = "M"
		}
		d.WriteString(step + num(x.at(pt.X)) + " " + num(y.at(pt.Y)))
	}
	if d.Len() == 0 {
		return
	}
	fmt.Fprintf(p, `<path class="curve s%d" d="%s"/>`+"\n", i, d.String())
	for _, pt := range points {
		if drawn(pt) {
			p.mark(i, x.at(pt.X), y.at(pt.Y), label(pt.X)+": "+label(pt.Y))
		}
	}
}

// fit draws the straight line of a power, as far as it lies within the axes.
func (p *page) fit(i int, f *Power, x, y *axis) {
	if f == nil || !(f.Factor > 0) {
		return
	}
	// Both axes are logarithms, so one power of ten to the right is Exponent powers of ten up.
	right, up := x.at(10)-x.at(1), y.at(10)-y.at(1)
	slope := f.Exponent * up / right
	at := func(px float64) float64 { return y.at(f.Factor) + slope*(px-x.at(1)) }
	a, b := x.begin, x.to
	if slope != 0 {
		bottom, top := x.at(1)+(y.begin-at(x.at(1)))/slope, x.at(1)+(y.to-at(x.at(1)))/slope
		a, b = max(a, min(bottom, top)), min(b, max(bottom, top))
	} else if at(a) > y.begin || at(a) < y.to {
		return
	}
	if a < b {
		fmt.Fprintf(p, `<path class="fit s%d" d="M%s %sL%s %s"/>`+"\n", i, num(a), num(at(a)), num(b), num(at(b)))
	}
}

// mark draws the mark of curve i, with a text that shows when it is pointed at.
func (p *page) mark(i int, x, y float64, text string) {
	const r = 3.6
	shape := fmt.Sprintf("M%s %sa%s %s 0 1 0 %s 0a%[3]s %[4]s 0 1 0 -%[5]s 0z", num(x-r), num(y), num(r), num(r), num(2*r))
	switch i {
	case 1:
		shape = fmt.Sprintf("M%s %sh%sv%[3]sh-%[3]sz", num(x-r), num(y-r), num(2*r))
	case 2:
		shape = fmt.Sprintf("M%s %sl%s %sh-%sz", num(x), num(y-r-1), num(r+1), num(2*r+1), num(2*r+2))
	case 3:
		shape = fmt.Sprintf("M%s %sl%s %[3]sl-%[3]s %[3]sl-%[3]s -%[3]sz", num(x), num(y-r-1), num(r+1))
	}
	if text != "" {
		text = "<title>" + escape(text) + "</title>"
	}
	fmt.Fprintf(p, `<path class="m%d" d="%s">%s</path>`+"\n", i, shape, text)
}

func escape(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // a buffer takes everything
	return b.String()
}

// wrap breaks text between words into lines of at most n characters; a longer word has a line of its own.
func wrap(text string, n int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > n {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
