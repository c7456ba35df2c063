package sample

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/catalog"
	"github.com/probode/probode/pkg/probode/internal/estimate"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// A SolverCheck says how much the error of a solver matters for draws: see CheckSolver.
type SolverCheck struct {
	Draws  int     // the number of draws that were compared
	Failed int     // at so many of them the more accurate solver fails
	Shift  float64 // largest shift of a median, in half-widths of the central 68 % interval
	Change float64 // largest change of any probability: the total variation distance
	KHat   float64 // of the weights, or −∞ if the weights vary so little that their tail cannot matter
}

const (
	checked = 100 // draws at which CheckSolver compares two solvers
	// A shift of a normal distribution by a tenth of its standard deviation changes
	// probabilities by 2Φ(.05) − 1 = .04. Unlike a shift in units of the spread, a change of
	// probabilities also shows an error within one of several distant modes.
	mostShift, mostChange = 0.1, 0.04
)

// Matters reports whether the error of the solver changes the draws noticeably.
func (c SolverCheck) Matters() bool {
	return c.Failed > 0 || !(c.Shift <= mostShift && c.Change <= mostChange) || c.KHat > diag.KHatLimit(checked)
}

// String describes the result in a sentence.
func (c SolverCheck) String() string {
	switch {
	case c.Failed > 0:
		return fmt.Sprintf("a more accurate solver cannot solve the equations at %d of %d draws", c.Failed, c.Draws)
	case c.KHat > diag.KHatLimit(checked):
		return fmt.Sprintf("the solver's error at %d draws varies so much that its effect cannot be told (k̂ = %.2f)", c.Draws, c.KHat)
	case c.Matters():
		return fmt.Sprintf("the solver's error shifts a median by about %.2g half-widths of its central 68 %% interval, and changes a probability by about %.2g", c.Shift, c.Change)
	}
	return fmt.Sprintf("the solver's error shifts no median by more than %.1g half-widths of its central 68 %% interval, and changes no probability by more than %.1g", math.Max(c.Shift, 1e-4), math.Max(c.Change, 1e-4))
}

// CheckSolver computes the log likelihoods of up to 100 draws, spread evenly over the
// chains, with a more accurate solver. Under error control it is the solver of p with a
// hundredth of the tolerance and halved steps, and otherwise catalog.Default with a
// hundredth of the tolerance. The steps are halved because they may be limited by Max or
// by the times of the data, and not by the tolerance. The draws are weighted as in
// Reweight, and the weights shift the medians of the parameters. The target of the draws
// must be Classical.
func CheckSolver(ctx context.Context, p *bayes.Posterior, chains *mcmc.Chains, workers int) (c SolverCheck, err error) {
	fine := p.Setup
	mesh, ok := fine.Mesh.(probode.Adaptive)
	if !ok {
		fine = catalog.Default()
		mesh = fine.Mesh.(probode.Adaptive)
	}
	mesh.Tolerance = mesh.Times(0.01)
	fine.Mesh = mesh.Halved()
	some := *chains
	some.Draws, some.Generated = [][][]float64{evenly(chains.Draws, checked)}, [][][]float64{evenly(chains.Generated, checked)}
	c.Draws = len(some.Draws[0])
	if c.Draws < 2 {
		return c, nil
	}
	weighted, err := Reweight(ctx, p, &some, fine, workers)
	if err != nil {
		return c, err
	}
	w := make([]float64, c.Draws)
	for i, l := range weighted.LogWeights[0] {
		if w[i] = math.Exp(l); w[i] == 0 {
			c.Failed++
		}
	}
	const equal = 1e-4 // square of the coefficient of variation
	if c.KHat = math.Inf(-1); 1/diag.Kish(weighted.LogWeights)-1 > equal {
		c.KHat = weighted.KHat
	}
	mean := stat.Mean(w, nil)
	for _, v := range w {
		c.Change += math.Abs(v/mean-1) / 2 / float64(len(w))
	}
	for k := range p.Params {
		x := weighted.Parameter(k)[0]
		quantile := func(z float64) float64 { return estimate.Quantile(x, nil, distuv.UnitNormal.CDF(z)) }
		if spread := (quantile(1) - quantile(-1)) / 2; spread > 0 {
			c.Shift = max(c.Shift, math.Abs(estimate.Quantile(x, w, 0.5)-quantile(0))/spread)
		}
	}
	return c, nil
}

// evenly returns at most n rows, spread evenly over the chains.
func evenly(chains [][][]float64, n int) (rows [][]float64) {
	all := slices.Concat(chains...)
	n = min(n, len(all))
	for i := range n {
		rows = append(rows, all[(i+1)*len(all)/n-1])
	}
	return rows
}
