// Package svg draws curves whose axes are logarithms, as one SVG file: charts below one another, each with a legend. The
// file stands alone: no scripts, no fonts and nothing else to load. It follows the reader's choice of light or dark, is printed
// light, shrinks to the width that there is, and tells curves apart by marks and dashes as well as by colours. What it shows can
// be read as text, too: each point says its values.
//
//	f := svg.Figure{Title: "contenders", Charts: []svg.Chart{{X: "contenders", Y: "µs", Series: series}}}
//	err := f.Write(file)
//
// The same Figure gives the same bytes.
package svg
