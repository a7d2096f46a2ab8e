package load

import (
	"encoding/json"
	"io"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/hist"
)

// Report is the figures of a run as the -json flag prints them. What stands per operation is zero when there was none.
// Latencies are in microseconds; those of workload lock are of the acquire, and the pair_ ones of acquire and release.
type Report struct {
	Client        string  `json:"client"`
	Workload      string  `json:"workload"`
	OpsPerSec     float64 `json:"ops_per_sec"`
	P50           float64 `json:"p50_us"`
	P99           float64 `json:"p99_us"`
	RequestsPerOp float64 `json:"requests_per_op"`
	FlightsPerOp  float64 `json:"flights_per_op"`
	AllocsPerOp   float64 `json:"allocs_per_op"`
	BytesPerOp    float64 `json:"bytes_per_op"`
	Errors        int64   `json:"errors"`
	Violations    int64   `json:"violations"`

	P90          float64          `json:"p90_us"`
	P999         float64          `json:"p999_us"`
	Max          float64          `json:"max_us"`
	PairP50      float64          `json:"pair_p50_us,omitempty"`
	PairP99      float64          `json:"pair_p99_us,omitempty"`
	Fairness     float64          `json:"fairness"`
	ErrorsByKind map[string]int64 `json:"errors_by_kind"`
	Operations   int64            `json:"operations"`
	Seconds      float64          `json:"seconds"`
	Sessions     int              `json:"sessions"`
	Goroutines   int              `json:"goroutines"`
	Locks        int              `json:"locks"`
	HoldMicros   float64          `json:"hold_us"`
	HandOver     int              `json:"handover,omitempty"`
	Pipelined    bool             `json:"pipelined,omitempty"`
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func quantile(h *hist.Histogram, q float64) float64 { return micros(h.Quantile(q)) }

// Report returns the figures.
func (r *Result) Report() Report {
	return Report{
		Client: r.cfg.Driver.Name(), Workload: string(r.cfg.Workload), OpsPerSec: r.PerSec(),
		P50: quantile(&r.Latency, 0.5), P90: quantile(&r.Latency, 0.9), P99: quantile(&r.Latency, 0.99),
		P999: quantile(&r.Latency, 0.999), Max: micros(r.Latency.Max()),
		PairP50: quantile(&r.Pair, 0.5), PairP99: quantile(&r.Pair, 0.99),
		RequestsPerOp: r.PerOp(r.Counters.Requests), FlightsPerOp: r.PerOp(r.Counters.Flights),
		AllocsPerOp: r.PerOp(r.Allocs), BytesPerOp: r.PerOp(r.Bytes),
		Errors: r.ErrorCount(), ErrorsByKind: r.Errors, Violations: r.Violations, Fairness: r.Fairness,
		Operations: r.Operations, Seconds: r.Window.Seconds(),
		Sessions: r.cfg.Sessions, Goroutines: r.cfg.Goroutines, Locks: r.cfg.Locks, HoldMicros: micros(r.cfg.Hold),
		HandOver: r.cfg.HandOver, Pipelined: r.cfg.Pipelined,
	}
}

// WriteJSON writes the report as one line.
func (r *Result) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r.Report()) }
