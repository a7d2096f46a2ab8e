package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/lockkeeper/lockkeeper/internal/load"
)

// drivers are the clients, the incumbent first.
func drivers() []load.Driver { return []load.Driver{goZK{}, load.Lockkeeper{}} }

// compareOn is alternate with one workload.
func compareOn(ctx context.Context, cfg load.Config, rounds int, note func(format string, args ...any)) ([]load.Report, error) {
	medians, err := alternate(ctx, []load.Config{cfg}, rounds, note)
	if err != nil {
		return nil, err
	}
	return medians[0], nil
}

// alternate runs the workloads with every client in turn, so many rounds, each client first in every other round, and
// returns per workload, and then per client in the order of drivers, the median of each figure. note is told how far it is.
func alternate(ctx context.Context, cfgs []load.Config, rounds int, note func(string, ...any)) ([][]load.Report, error) {
	all := make([][][]load.Report, len(cfgs)) // by workload, client, round
	for k := range all {
		all[k] = make([][]load.Report, len(drivers()))
	}
	for round := range rounds {
		for turn := range drivers() {
			i := (turn + round) % len(drivers())
			for k, cfg := range cfgs {
				cfg.Driver = drivers()[i]
				note("%s, round %d of %d, %s", cfg.Workload, round+1, rounds, cfg.Driver.Name())
				r, err := once(ctx, &cfg)
				if err != nil {
					return nil, fmt.Errorf("%s, round %d: %w", cfg.Driver.Name(), round+1, err)
				}
				all[k][i] = append(all[k][i], r)
			}
		}
	}
	medians := make([][]load.Report, len(cfgs))
	for k := range all {
		for _, reports := range all[k] {
			medians[k] = append(medians[k], medianOf(reports))
		}
	}
	return medians, nil
}

// once makes one run, which must not fail.
func once(ctx context.Context, cfg *load.Config) (load.Report, error) {
	runtime.GC() // what the client before has left is not collected at this one's expense
	res, err := load.Run(ctx, cfg)
	if res != nil {
		err = errors.Join(res.Failure(), err)
	}
	if err != nil {
		return load.Report{}, err
	}
	return res.Report(), nil
}

// figures are the parts of a report that have a median.
func figures(r *load.Report) []*float64 {
	return []*float64{
		&r.OpsPerSec, &r.P50, &r.P90, &r.P99, &r.P999, &r.Max, &r.PairP50, &r.PairP99, &r.RequestsPerOp, &r.FlightsPerOp,
		&r.AllocsPerOp, &r.BytesPerOp, &r.Fairness, &r.Seconds,
	}
}

// medianOf returns the median of each figure; errors, violations and operations are added up.
func medianOf(reports []load.Report) load.Report {
	m := reports[0]
	m.Errors, m.Violations, m.Operations, m.ErrorsByKind = 0, 0, 0, make(map[string]int64)
	for i, target := range figures(&m) {
		var values []float64
		for k := range reports {
			values = append(values, *figures(&reports[k])[i])
		}
		*target = median(values)
	}
	for _, r := range reports {
		m.Errors += r.Errors
		m.Violations += r.Violations
		m.Operations += r.Operations
		for kind, n := range r.ErrorsByKind {
			m.ErrorsByKind[kind] += n
		}
	}
	return m
}

// median returns the middle value, or the mean of the two in the middle.
func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}
