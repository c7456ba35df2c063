package probode

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/internal/memory"
)

// One noise scale for each component of the state. As long as the noise is
// small the variances are a sum over the components that it enters by,
//
//	v = Σⱼ αⱼ sⱼ²,
//
// with sⱼ² the variance of an ensemble with noise in component j alone and
// αⱼ = 1, and the αⱼ ≥ 0 that maximise the score are found without further
// paths: each is multiplied by the ratio of what asks for more of it to what
// asks for less, which raises the score in every round (minorisation by
// concavity, as in the updates of non-negative matrix factorisation; Févotte &
// Idier 2011, §4).

// byComponent sets Alphas of out, whose Alpha is known, with their standard errors,
// and returns the logarithms of the variances of all paths there.
func (c *calibrator) byComponent(ctx context.Context, out *Calibration) (logv []float64, err error) {
	d, alpha := c.solver.d, out.Alpha
	if err := memory.Check(fmt.Sprintf("the variances at %d points by %d components", len(c.used), d), d, len(c.used)); err != nil {
		return nil, fmt.Errorf("%s: %w", c.solver.p.title(), err)
	}
	c.total += d + 2
	s := &shares{all: make([][]float64, d), without: make([][][]float64, jackknifeGroups)}
	for j := range d {
		one := make([]float64, d)
		one[j] = alpha
		e, err := c.evaluateAt(ctx, one, min(c.s.Paths, 200), true)
		if err != nil {
			return nil, err
		}
		if !e.ok { // far from small: the share of smaller noise
			one[j] = alpha / 100
			if e, err = c.evaluateAt(ctx, one, min(c.s.Paths, 200), true); err != nil {
				return nil, err
			}
			if !e.ok {
				return nil, fmt.Errorf("%s, %v, %v: with noise of alpha = %.3g in component %d alone paths cannot be solved: want one alpha for all components, or a smaller step", c.solver.p.title(), c.solver.m, c.solver.g, one[j], j)
			}
		}
		s.all[j] = variances(e.logv, one[j])
		for g := range s.without {
			s.without[g] = append(s.without[g], variances(e.without[g], one[j]))
		}
	}
	alphas := make([]float64, d)
	for j := range alphas {
		alphas[j] = alpha
	}
	e2 := variances(c.loge2, 1)
	c.s.Rule.divide(alphas, s.all, e2)
	linear := slices.Clone(alphas)
	// Where the noise is not small the whole is mended.
	mended := 1.
	var e evaluation
	for range 2 {
		if e, err = c.evaluateAt(ctx, alphas, c.s.Paths, true); err != nil {
			return nil, err
		}
		if !e.ok {
			return nil, fmt.Errorf("%s, %v, %v: with the noise scales %s by component paths cannot be solved: want one alpha for all components, or a smaller step", c.solver.p.title(), c.solver.m, c.solver.g, short(alphas))
		}
		shift := c.proportional(e.logv, c.loge2)
		mended *= math.Exp(shift)
		for j := range alphas {
			alphas[j] = linear[j] * mended
		}
		logv = e.logv
		for k := range logv {
			logv[k] += shift
		}
		if math.Abs(shift) < 0.05 {
			break
		}
	}
	out.Alphas = alphas
	out.AlphasSE, out.AlphasSETime = c.componentErrors(alphas, linear, alpha, mended, s, e)
	return logv, nil
}

// shares are variances for noise of α = 1 in one component, by component and
// point; without[g] those at the thinned points without group g of the paths.
type shares struct {
	all     [][]float64
	without [][][]float64
}

// variances returns exp(logv)/alpha.
func variances(logv []float64, alpha float64) []float64 {
	out := make([]float64, len(logv))
	for k, l := range logv {
		out[k] = math.Exp(l) / alpha
	}
	return out
}

// componentErrors returns the standard errors of alphas by the jackknife over
// groups of paths and over tenths of the points in time, as errors does for a
// single α. The shares decide how the αⱼ divide, and the ensemble e at alphas
// how large they are together: two sets of paths,
// whose errors add up. linear is what the shares alone had them to be, and mended
// the factor from there; alpha is where the search for them begins.
func (c *calibrator) componentErrors(alphas, linear []float64, alpha, mended float64, s *shares, e evaluation) (paths, time []float64) {
	d, thin := len(alphas), c.thin()
	thinned := func(v []float64) []float64 {
		var out []float64
		for k := 0; k < len(v); k += thin {
			out = append(out, v[k])
		}
		return out
	}
	loge2 := thinned(c.loge2)
	e2 := variances(loge2, 1)
	all := make([][]float64, d)
	for j := range all {
		all[j] = thinned(s.all[j])
	}
	// divided returns the αⱼ of given shares and errors. With a level they are
	// brought to the same score by the shares of all paths, as e would.
	divided := func(of [][]float64, e2 []float64, level bool) []float64 {
		a := slices.Clone(linear)
		for j := range a {
			if a[j] == 0 { // it may be needed without a part of the data
				a[j] = alpha
			}
		}
		c.s.Rule.divide(a, of, e2)
		if level {
			v := make([]float64, len(e2))
			for k := range v {
				for j := range a {
					v[k] += a[j] * all[j][k]
				}
				v[k] = math.Log(v[k])
			}
			shift := c.proportional(v, loge2)
			for j := range a {
				a[j] *= math.Exp(shift)
			}
		}
		for j := range a {
			a[j] *= mended
		}
		return a
	}
	spread := func(n int, at func(i int) []float64) []float64 {
		x := make([][]float64, d)
		for i := range n {
			for j, a := range at(i) {
				x[j] = append(x[j], a)
			}
		}
		out := make([]float64, d)
		for j := range out {
			out[j] = jackknife(x[j])
		}
		return out
	}
	paths = spread(len(s.without), func(g int) []float64 { return divided(s.without[g], e2, true) })
	var levels []float64
	for _, v := range e.without {
		levels = append(levels, c.proportional(v, loge2))
	}
	level := jackknife(levels)
	for j := range paths {
		paths[j] = math.Hypot(paths[j], level*alphas[j])
	}
	const blocks = 10
	n := len(e2)
	if n < 2*blocks {
		time = make([]float64, d)
		for j := range time {
			time[j] = math.NaN()
		}
		return paths, time
	}
	return paths, spread(blocks, func(b int) []float64 {
		from, to := b*n/blocks, (b+1)*n/blocks
		rest := make([][]float64, d)
		for j := range rest {
			rest[j] = slices.Concat(all[j][:from], all[j][to:])
		}
		return divided(rest, slices.Concat(e2[:from], e2[to:]), false)
	})
}

// divide moves alphas to the maximum of the score where the variances are
// Σⱼ alphas[j] shares[j] and the squared errors e2. An α that does not matter
// stays as it is.
func (r Rule) divide(alphas []float64, shares [][]float64, e2 []float64) {
	first := alphas[0]
	v := make([]float64, len(e2))
	more, less := make([]float64, len(e2)), make([]float64, len(e2))
	for range 500 {
		clear(v)
		for j, a := range alphas {
			for k, s := range shares[j] {
				v[k] += a * s
			}
		}
		for k := range v {
			if more[k], less[k] = 0, 0; v[k] > 0 {
				more[k], less[k] = r.pull(v[k], e2[k])
			}
		}
		change := 0.
		for j, a := range alphas {
			var up, down float64
			for k, s := range shares[j] {
				if s > 0 {
					up += s * more[k]
					down += s * less[k]
				}
			}
			ratio := up / down
			if r == LogScore {
				ratio = math.Sqrt(ratio)
			}
			if a == 0 || math.IsNaN(ratio) || math.IsInf(ratio, 0) {
				continue
			}
			if alphas[j] = a * ratio; alphas[j] < 1e-12*first && ratio < 1 {
				alphas[j] = 0
			}
			change = max(change, math.Abs(ratio-1))
		}
		if change < 1e-4 {
			return
		}
	}
}
