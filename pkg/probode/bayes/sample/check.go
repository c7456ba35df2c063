package sample

import (
	"context"
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/compare"
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

// CheckSolver compares the log likelihoods of up to 100 draws, spread evenly over the
// chains, with those by a more accurate solver (see compare.Finer). The differences weight
// the draws as in Reweight, and the weights shift the medians of the parameters. The target
// of the draws must be Classical.
func CheckSolver(ctx context.Context, p *bayes.Posterior, chains *mcmc.Chains, workers int) (c SolverCheck, err error) {
	points := compare.Points{Posterior: p, Theta: compare.Spread(chains.Draws, checked), Workers: workers}
	c.Draws = len(points.Theta)
	if c.Draws < 2 {
		return c, nil
	}
	all, err := points.Differences(ctx, p.Setup, compare.Finer(p.Setup))
	if err != nil {
		return c, err
	}
	logs := make([]float64, c.Draws)
	for i, d := range all {
		if logs[i] = -d.LogLikelihood; !(logs[i] > math.Inf(-1)) {
			logs[i] = math.Inf(-1)
			c.Failed++
		}
	}
	smooth, khat := diag.ParetoSmooth(logs)
	weights, kish := diag.Weights([][]float64{smooth})
	w := weights[0]
	const equal = 1e-4 // square of the coefficient of variation
	if c.KHat = math.Inf(-1); 1/kish-1 > equal {
		c.KHat = khat
	}
	mean := stat.Mean(w, nil)
	for _, v := range w {
		c.Change += math.Abs(v/mean-1) / 2 / float64(len(w))
	}
	for k := range p.Params {
		x := make([]float64, c.Draws)
		for i, theta := range points.Theta {
			x[i] = theta[k]
		}
		quantile := func(z float64) float64 { return estimate.Quantile(x, nil, distuv.UnitNormal.CDF(z)) }
		if spread := (quantile(1) - quantile(-1)) / 2; spread > 0 {
			c.Shift = max(c.Shift, math.Abs(estimate.Quantile(x, w, 0.5)-quantile(0))/spread)
		}
	}
	return c, nil
}
