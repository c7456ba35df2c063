package bayes

import (
	"context"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// begin finds where the chains start, and a first guess at the shape of the
// posterior for the proposal of this package.
func (j *job) begin(ctx context.Context, starts bool) error {
	p := j.p
	modes, err := p.Modes, error(nil)
	if modes == nil {
		modes, err = p.FindModes(ctx, ModeSearch{Seed: j.settings.Seed, Workers: j.settings.Workers})
	}
	if err != nil {
		if ctx.Err() != nil || starts {
			return err
		}
		modes = &Modes{Modes: []*Mode{{}}} // the caller's starts may do better
	}
	// Chains of an accurate posterior start at its modes; those that a Finisher weighs
	// are made by the Setup of p.
	if _, weighs := j.sampler.(Finisher); j.sampler.Target().Distribution == Accurate && !weighs {
		if modes, err = p.refined(ctx, modes, j.sampler.Target().Setup, j.settings); err != nil {
			return err
		}
	}
	j.modes = modes
	heavy := modes.heavy()
	if j.rule == nil {
		j.rule = rule(heavy)
	}
	if !starts {
		return nil
	}
	mode := heavy[0]
	if mode.Cov == nil {
		j.notes = append(j.notes, "chains start at draws of the prior: no mode with a Gaussian shape was found")
		j.settings.Start = func(_ int, rng *rand.Rand) []float64 { return p.DrawPrior(rng) }
		return nil
	}
	j.notes = append(j.notes, modes.describe(p)+", with twice the standard deviations of the Gaussian approximation there")
	factors := make([]*mat.TriDense, len(heavy))
	for i, m := range heavy {
		var chol mat.Cholesky
		if m.shape == nil || !chol.Factorize(m.shape) {
			continue
		}
		factors[i] = new(mat.TriDense)
		chol.LTo(factors[i])
	}
	e, err := NewDensity(p)
	if err != nil {
		return err
	}
	total := max(1, j.settings.Chains)
	if j.settings.Chains == 0 {
		total = 4
	}
	j.settings.Start = func(chain int, rng *rand.Rand) []float64 {
		// Run asks for another start where the kernel cannot begin. The first
		// words of the stream are the same for every sampler.
		d := len(p.Params)
		z, u, theta := make([]float64, d), make([]float64, d), make([]float64, d)
		normals(z, rng)
		// Chains stand in proportion to the masses: chain i in the mode at which
		// the cumulative mass passes (i + ½)/n.
		at, sum := 0, heavy[0].Mass
		for at < len(heavy)-1 && sum < (float64(chain)+0.5)/float64(total) {
			at++
			sum += heavy[at].Mass
		}
		if factors[at] == nil {
			at = 0
		}
		for i := range d {
			u[i] = heavy[at].U[i]
			for k := 0; k <= i; k++ {
				u[i] += 2 * factors[at].At(i, k) * z[k]
			}
		}
		e.Constrain(theta, u)
		return theta
	}
	return nil
}

// refined returns the modes by an accurate setup, looked for from those of p's own,
// which may have missed some or have some of its own, and from a few draws of the
// prior; the same modes if there are none.
func (p *Posterior) refined(ctx context.Context, modes *Modes, by probode.Setup, s mcmc.Settings) (*Modes, error) {
	search := ModeSearch{Seed: s.Seed, Workers: s.Workers, Points: 60, Starts: 4}
	for _, m := range modes.Modes {
		if m.Theta != nil {
			search.From = append(search.From, m.Theta)
		}
	}
	fine, err := p.SolvedBy(by).FindModes(ctx, search)
	if err != nil {
		return modes, ctx.Err()
	}
	return fine, nil
}

// rule returns the proposal of this package for a posterior with the given modes.
func rule(modes []*Mode) mcmc.Rule {
	if modes[0].shape == nil {
		return mcmc.AdaptiveMixture{}
	}
	if len(modes) == 1 {
		return mcmc.AdaptiveMixture{Mean: modes[0].U, Cov: modes[0].shape}
	}
	var jumps mcmc.ModeJumping
	for _, m := range modes {
		if m.shape != nil {
			jumps.Modes = append(jumps.Modes, mcmc.GaussianMode{Mean: m.U, Cov: m.shape, Weight: m.Mass})
		}
	}
	return jumps
}

// DrawPrior returns a draw of the parameters from their priors, as to have chains
// begin there:
//
//	s.Start = func(_ int, rng *rand.Rand) []float64 { return p.DrawPrior(rng) }
func (p *Posterior) DrawPrior(rng *rand.Rand) []float64 {
	theta := make([]float64, len(p.Params))
	for k := range theta {
		theta[k] = draw(p.Params[k].Prior, rng)
	}
	return theta
}

func (p *Posterior) format(theta []float64) string {
	out := ""
	for k, v := range theta {
		if k > 0 {
			out += ", "
		}
		out += fmt.Sprintf("%s = %.4g", p.Params[k].Name, v)
	}
	return out
}
