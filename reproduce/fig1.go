package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/reference"
	"github.com/probode/probode/pkg/probode/steplaw"
	"github.com/probode/probode/pkg/viz"
	"github.com/probode/probode/pkg/viz/plots"
)

// fig1 is backward Euler with noise on FitzHugh–Nagumo.
var fig1 = experiment{
	name: "fig1", title: "Figure 1: an ensemble of paths", tables: []string{"fig1", "fig1_exact"},
	compute: computeFig1, section: fig1Section,
}

func (s *study) fig1Ensemble(ctx context.Context, n int, keep bool) (*probode.Ensemble, error) {
	return probode.Integrate(ctx, fhn(), backwardEuler, n, probode.Settings{
		StepSize: 0.1, Alpha: 0.2, Seed: s.seed, Workers: s.workers, KeepPaths: keep,
	})
}

func computeFig1(ctx context.Context, s *study) error {
	e, err := s.fig1Ensemble(ctx, s.paths(500, 200), false)
	if err != nil {
		return err
	}
	ref, err := accurate(ctx, e.Problem, e.T)
	if err != nil {
		return err
	}
	t := &table{name: "fig1", header: []string{"t", "component", "mean", "sd", "deterministic", "reference"}}
	addEnsemble(t, e, ref)

	// The steps of this second ensemble are drawn from their exact distributions, and not
	// from Gaussian approximations. For the step that begins at t, the column `departure`
	// measures the difference between the exact distribution and its Gaussian
	// approximation.
	drawn, err := steplaw.Exact{Method: backwardEuler}.Draw(ctx, e.Problem, 200, steplaw.Settings{
		Mesh: probode.Uniform(0.1), Alpha: 0.2, Seed: s.seed, Workers: s.workers,
	})
	if err != nil {
		return err
	}
	exact := &table{name: "fig1_exact", header: []string{"t", "component", "mean", "sd", "departure"}}
	for i, at := range drawn.T {
		departure := math.NaN()
		if i < len(drawn.T)-1 {
			departure = drawn.Departure[i]
		}
		for k := range drawn.Mean {
			exact.add(at, e.Problem.StateName(k), drawn.Mean[k][i], drawn.SD[k][i], departure)
		}
	}
	for _, t := range []*table{t, exact} {
		if err := s.save(t); err != nil {
			return err
		}
	}
	return nil
}

func addEnsemble(t *table, e *probode.Ensemble, ref []float64, key ...any) {
	d := e.Problem.Dim()
	for i, at := range e.T {
		for k := range d {
			t.add(append(key[:len(key):len(key)], at, e.Problem.StateName(k), e.Mean[k][i], e.SD[k][i], e.Deterministic[k][i], ref[i*d+k])...)
		}
	}
}

// ensembleOf has no paths, which are not in the table.
func ensembleOf(t *table) (*probode.Ensemble, *reference.Solution) {
	names := t.distinct("component")
	e := &probode.Ensemble{Problem: &probode.Problem{States: names, X0: make([]float64, len(names))}}
	ref := &reference.Solution{X: t.floats("reference")} // row by row, as in the table
	c := t.column("component")
	for _, name := range names {
		g := &table{name: t.name, header: t.header}
		for _, row := range t.rows {
			if row[c] == name {
				g.rows = append(g.rows, row)
			}
		}
		e.T = g.floats("t")
		e.Mean, e.SD = append(e.Mean, g.floats("mean")), append(e.SD, g.floats("sd"))
		e.Deterministic = append(e.Deterministic, g.floats("deterministic"))
	}
	ref.Times = e.T
	return e, ref
}

func (s *study) fig1Figure(t *table, n int) (viz.Figure, error) {
	e, ref := ensembleOf(t)
	// The file of the table does not contain the paths, but the same seed reproduces
	// them.
	drawn, err := s.fig1Ensemble(context.Background(), n, true)
	if err != nil {
		return viz.Figure{}, err
	}
	e.Paths = drawn.Paths
	return viz.Figure{Title: "Probabilistic backward Euler, FitzHugh–Nagumo, h = 0.1, α = 0.2", Columns: 2, Width: 1000, Height: 760,
		Panels: append(plots.Paths(e, ref).Panels, plots.Bands(e, ref).Panels...)}, nil
}

func fig1Section(s *study, sec *section, tables []*table) {
	t, exact := tables[0], tables[1]
	n := s.paths(500, 200)
	sec.Text(`%d repetitions of the probabilistic backward Euler method (AM0, linearised at the current state as in section 2.4) with h = 0.1 and α = 0.2 on 0 ≤ t ≤ 20.
Above, the paths; below, their mean and bands of one, two and three standard deviations.`, n)
	f, err := s.fig1Figure(t, min(n, 100))
	if err != nil {
		sec.Err = err
		return
	}
	sec.Figure(f, "The paper's Figure 1. The upper panels show the first 100 paths. The lower panels show the mean and the bands.")
	mean, sd, ref, det := t.floats("mean"), t.floats("sd"), t.floats("reference"), t.floats("deterministic")
	var inside, all float64
	var worstSD, worstDet float64
	for i := range mean {
		if sd[i] > 0 {
			all++
			if math.Abs(ref[i]-mean[i]) <= 3*sd[i] {
				inside++
			}
		}
		worstSD, worstDet = max(worstSD, sd[i]), max(worstDet, math.Abs(det[i]-ref[i]))
	}
	sec.claim("the ensemble covers the reference solution (Figure 1)", fmt.Sprintf("The reference lies within three standard deviations of the mean at %.0f %% of the grid points. The largest standard deviation is %.2f, and the largest error of the classical method is %.2f.", 100*inside/all, worstSD, worstDet), inside/all > 0.9)
	var largest float64
	for i, v := range exact.floats("sd") {
		if sd[i] > 0 {
			largest = max(largest, math.Abs(math.Log(v/sd[i])))
		}
	}
	var departures []float64
	var worst, worstAt float64
	at := exact.floats("t")
	for i, v := range exact.floats("departure") {
		if math.IsNaN(v) {
			continue
		}
		departures = append(departures, v)
		if v > worst {
			worst, worstAt = v, at[i]
		}
	}
	slices.Sort(departures)
	sec.claim("the density of a step is not Gaussian; it is approximated by a Gaussian “merely to facilitate straightforward sampling” (§2.4)",
		fmt.Sprintf("The exact distribution of each step was sampled by preconditioned Crank–Nicolson moves and random-walk moves. The mean of the exact distribution differs from the mean of the Gaussian approximation. In units of the standard deviation of the step, the median of this difference is %.2g and the largest difference is %.2g, at t = %.1f. If all steps are drawn from their exact distributions, the standard deviations of the ensemble change by at most a factor of %.2g.",
			departures[len(departures)/2], worst, worstAt, math.Exp(largest)), largest < math.Log(2))
}
