package sample

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/reference"
)

// accurateEnough compares solvers with an accurate solver mainly at the modes and close
// to them. If the data contain little information, much of the posterior mass is far from
// the modes. Far from the modes, an explicit method may be unstable on a grid that was
// chosen at a mode. If the method is unstable, the computed density may vanish where the
// posterior has mass. The computed density may also have a phantom mode, in which all
// chains may end up. R̂ and the draws do not reveal that the density is wrong. Package
// certify also compares the solvers far from the modes. A certificate may miss a region
// that holds only a small share of the prior mass, such as the parameter values at which
// a solver steps over a pulse. A short run of the sampler finds the regions that attract
// the chains.

// The chosen solver is certified only if there are at most mostTrusted parameters,
// because with d parameters a certificate takes 50 + 20 d solutions at each mode. With
// more than mostTrusted parameters, no search for modes begins at a draw from the prior.
const mostTrusted = 15

// trust certifies the solver of the plan. If the solver is inaccurate where the posterior
// density is not negligible, trust() replaces the solver with the stable method Radau5,
// and returns the reason. First, trust() tries Radau5 on frozen grids. If the sampler
// needs no gradients, trust() also tries Radau5 with steps that are chosen anew for every
// θ. If no solver is accurate enough, trust() sets Caution.
func (p *Plan) trust(ctx context.Context, s mcmc.Settings) (why string, err error) {
	q := p.Posterior
	if len(q.Params) > mostTrusted {
		return "", nil
	}
	poor := func(q *bayes.Posterior) (string, error) {
		why, err := differs(ctx, q, s)
		if err == nil && why == "" {
			why, err = fails(ctx, q, s.Seed)
		}
		if err == nil && why == "" {
			why, err = pilot(ctx, q, p.Sampler, s)
		}
		return why, err
	}
	if why, err = poor(q); err != nil || why == "" {
		return "", err
	}
	meshes := []probode.Mesh{}
	for _, tolerance := range []float64{1e-2, 1e-4, 1e-6} {
		meshes = append(meshes, probode.Frozen{Tolerance: probode.Tolerance{Relative: tolerance}, MaxSteps: 20_000})
	}
	switch p.Sampler.(type) {
	case Deterministic, Tempering:
		meshes = append(meshes, probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-6}, MaxSteps: 1e5})
	}
	for _, mesh := range meshes {
		r := q.SolvedBy(probode.Setup{Method: methods.Radau{}, Mesh: mesh})
		r.Modes, r.GridAt = q.Modes, q.GridAt
		still, err := poor(r)
		if err != nil {
			return "", err
		}
		if still == "" {
			p.Posterior = r
			return why, nil
		}
	}
	p.Caution = "the solver is inaccurate at points with appreciable posterior density, so the draws may be wrong: " + why
	return "", nil
}

// differs describes a point at which the error of q's solver is too large. The error is
// too large if it could shift a parameter by a tenth of a standard deviation, or if a
// part of the posterior could be missing. If the error is small enough at all points,
// differs() returns the empty string.
func differs(ctx context.Context, q *bayes.Posterior, s mcmc.Settings) (string, error) {
	from := q.Modes.Thetas(-1)
	// Search for phantom modes of this solver, unless the earlier searches for modes began
	// only at given points.
	if q.Modes.Tried > 0 {
		if own, err := modes.Find(ctx, q, modes.Settings{Seed: s.Seed, Workers: s.Workers, From: from}); err == nil {
			from = own.Thetas(leastMass)
		}
	}
	c, err := certify.Run(ctx, q, certify.Settings{Modes: from, Seed: s.Seed})
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", nil // there is no mode at which anything could be compared
	}
	m := &c.Modes[c.Worst(mattersD)]
	phantom := m.Found && !(m.Moved < 5)
	if m.Err != "" || !phantom && (m.Where == nil || m.Bound < mattersD) {
		return jumps(ctx, q)
	}
	answer, _, _ := strings.Cut(c.Answer(mattersD), "\n")
	return strings.TrimPrefix(answer, "Not certified: "), nil
}

// fails estimates the share of the posterior mass that lies where the solver of q fails.
// Chains cannot reach such a region. The estimate uses the likelihood, computed with
// shape.Lender, at those draws from the prior at which the solver fails. The result
// describes the share, and is empty if the share is small.
func fails(ctx context.Context, q *bayes.Posterior, seed uint64) (string, error) {
	const most = 0.005
	coarse, err := bayes.NewDensity(ctx, q)
	if err != nil {
		return "", ctx.Err()
	}
	fine, err := coarse.With(shape.Lender)
	if err != nil {
		return "", ctx.Err()
	}
	defer coarse.Bind(ctx)()
	defer fine.Bind(ctx)()
	var known []float64
	for _, m := range heavy(q.Modes) {
		known = append(known, m.LogMass)
	}
	mass, lost, rng := floats.LogSumExp(known), 0., probode.Stream(seed, 0x6661696c)
	for range scattered {
		theta := q.DrawPrior(rng)
		if _, err := coarse.LogLikelihood(theta, nil); err == nil {
			continue
		}
		if ll, err := fine.LogLikelihood(theta, nil); err == nil {
			lost += math.Exp(ll-mass) / scattered
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
	}
	if !(lost > most) {
		return "", nil
	}
	return fmt.Sprintf("the solver fails in a region that contains about %.1g times the mass of the known modes.", lost), nil
}

// pilot runs the sampler briefly, and compares the solver of q with an accurate solver at
// some of the draws. The result describes the largest error. The result is empty if no
// error is too large. For a sampler that uses gradients, pilot() returns the empty
// string, because the sampler adapts too slowly for a short run.
func pilot(ctx context.Context, q *bayes.Posterior, sampler Sampler, s mcmc.Settings) (string, error) {
	const iterations, compared = 200, 40
	switch sampler.(type) {
	case Deterministic, Tempering:
	default:
		return "", nil
	}
	inner, hook := progress.Begin(ctx, "check of the solver")
	chains, err := Run(inner, q, sampler, mcmc.Settings{BurnIn: iterations, Draws: iterations, Seed: s.Seed, Workers: s.Workers, Progress: hook})
	if err != nil {
		return "", ctx.Err() // the run itself will say what is wrong
	}
	worst, failed, n, err := errorAt(ctx, q, chains.Pooled(), compared)
	switch {
	case err != nil:
		return "", err
	case failed > 0:
		return fmt.Sprintf("an accurate solver cannot solve the equations at %d of %d draws of a short run.", failed, n), nil
	case worst <= mattersD:
		return "", nil
	}
	return fmt.Sprintf("at the draws of a short run, the error of the solver is up to %.2g posterior standard deviations.", worst), nil
}

// jumps compares the solver of q with an accurate solver at some points. At each point,
// one parameter is equal to a quantile of its prior, and the other parameters are equal
// to their values at the highest mode. Points at which the accurate log density is far
// below its value at the mode are ignored. The result describes a point at which the log
// density is wrong by more than 1. If no error is larger than 1, jumps() returns the
// empty string.
func jumps(ctx context.Context, q *bayes.Posterior) (string, error) {
	const (
		far   = 7 // below the mode: a density of a thousandth may extend over a wide range
		wrong = 1
	)
	coarse, err := bayes.NewDensity(ctx, q)
	if err != nil {
		return "", ctx.Err()
	}
	fine, err := coarse.With(probode.Setup{Mesh: reference.Accurate{}})
	if err != nil {
		return "", ctx.Err()
	}
	defer coarse.Bind(ctx)()
	defer fine.Bind(ctx)()
	best, u := q.Modes.Highest(), make([]float64, len(q.Params))
	for k, param := range q.Params {
		for _, share := range []float64{0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99} {
			theta := slices.Clone(best.Theta)
			theta[k] = param.Prior.Quantile(share)
			if fine.Unconstrain(u, theta) != nil {
				continue
			}
			right, err := fine.LogPosterior(u, nil)
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			if err != nil || !(right > best.LogP-far) {
				continue
			}
			if is, err := coarse.LogPosterior(u, nil); err != nil || !(math.Abs(is-right) <= wrong) {
				return fmt.Sprintf("at %s = %.4g, with the other parameters at the mode, the log density has an error of more than %d.", text.Printable(param.Name), theta[k], wrong), ctx.Err()
			}
		}
	}
	return "", ctx.Err()
}
