// Package hist counts durations in buckets whose width grows with the value, so that one histogram holds nanoseconds and
// hours with the same relative error, in fixed memory.
//
//	var h hist.Histogram
//	h.Record(took)
//	p99 := h.Quantile(0.99)
//
// Recording is an index computation and an addition; it never allocates. A Histogram is for one goroutine at a time: give
// each its own, and Merge them when they are done. A Histogram is about 19 KiB; its zero value is empty and ready.
package hist
