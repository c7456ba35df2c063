package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
	"github.com/probode/probode/pkg/probode/mcmc/store"
)

// derive adds the derived quantities of the model file to the draws. Without a model, the
// posterior is nil.
func (m *model) derive(chains *mcmc.Chains) (*mcmc.Chains, *bayes.Posterior, error) {
	if m.preset == "" && m.file == "" {
		return chains, nil, nil
	}
	p, err := m.noiseless()
	if err != nil || m.loaded == nil {
		return chains, p, err
	}
	own := p.Names()
	if len(chains.Names) < len(own) || !slices.Equal(own, chains.Names[:len(own)]) {
		return nil, nil, fmt.Errorf("-model: the parameters of the model are %s: want those of the draws, %s", some(m.loaded.Params), text.Clip(strings.Join(chains.Names, ", ")))
	}
	names, at, err := m.loaded.Derived()
	if err != nil || len(names) == 0 {
		return chains, p, err
	}
	all := *chains
	all.Names, all.Draws = slices.Concat(chains.Names, names), nil
	for _, chain := range chains.Draws {
		var draws [][]float64
		for _, x := range chain {
			draws = append(draws, slices.Concat(x, at(x[:len(own)])))
		}
		all.Draws = append(all.Draws, draws)
	}
	return &all, p, nil
}

var intervals = []float64{0.025, 0.5, 0.975}

// prior returns quantiles of the prior of each parameter and derived quantity, from 4000
// draws. They are NaN for a parameter that the model file does not contain, and if a draw is.
func (m *model) prior(p *bayes.Posterior, names []string) (quantiles [][]float64) {
	if p == nil {
		return nil
	}
	var derived []string
	at := func([]float64) []float64 { return nil }
	if m.loaded != nil {
		derived, at, _ = m.loaded.Derived() // as in derive
	}
	all := map[string][]float64{}
	for i := range 4000 {
		x := p.DrawPrior(probode.Stream(m.seed, 0x7072696f, uint64(i)))
		for k, v := range slices.Concat(x, at(x)) {
			name := slices.Concat(p.Names(), derived)[k]
			all[name] = append(all[name], v)
		}
	}
	for _, name := range names {
		draws := all[name]
		if slices.Sort(draws); len(draws) > 0 && math.IsNaN(draws[0]) {
			draws = nil // quantiles of the other draws would be those of another quantity
		}
		var row []float64
		for _, q := range intervals {
			row = append(row, diag.Quantile(draws, q))
		}
		quantiles = append(quantiles, row)
	}
	return quantiles
}

// predictTo writes predictions at the given times.
func (m *model) predictTo(ctx context.Context, p *bayes.Posterior, to outFile, dir, when string) error {
	times, err := numbers(when)
	if err != nil {
		return fmt.Errorf("-times %s: %w", text.Clip(when), err)
	}
	slices.Sort(times)
	if filepath.Ext(to.path) != ".csv" {
		return errors.New("-times: want -out with a file (.csv) for the predictions")
	}
	chains, err := store.Read(dir)
	if err != nil {
		return err
	}
	predictions, err := bayes.Predict(ctx, p, chains, slices.Compact(times), m.seed)
	if err != nil {
		return fmt.Errorf("-times: %w", err)
	}
	rows := [][]string{{"experiment", "time", "observable", "q2.5", "q50", "q97.5", "expected_q2.5", "expected_q50", "expected_q97.5"}}
	for i, q := range predictions {
		expected := *q
		expected.Y = q.Fit
		for k, name := range q.Names {
			measured := slices.ContainsFunc(p.Experiments[i].Data.Y, func(row []float64) bool { return !math.IsNaN(row[k]) })
			if !measured || slices.Contains(q.Names[:k], name) {
				continue // the size of the errors, or repeated measurements
			}
			var columns [][]float64
			for _, of := range []*bayes.Prediction{q, &expected} {
				for _, prob := range intervals {
					columns = append(columns, of.Quantiles(k, prob))
				}
			}
			for n, t := range q.T {
				row := append(cells([]string{text.Printable(q.Name)}, t), text.Printable(name))
				for _, c := range columns {
					row = cells(row, c[n])
				}
				rows = append(rows, row)
			}
		}
	}
	return to.write(nil, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) })
}
