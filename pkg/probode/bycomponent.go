package probode

import (
	"context"
	"fmt"
	"math"

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

// byComponent returns the αⱼ and the logarithms of the variances of all paths
// there, given α*.
func (c *calibrator) byComponent(ctx context.Context, alpha float64) (alphas, logv []float64, err error) {
	d := c.solver.d
	if err := memory.Check(fmt.Sprintf("the variances at %d points by %d components", len(c.used), d), d, len(c.used)); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", c.solver.p.title(), err)
	}
	c.total += d + 2
	shares := make([][]float64, d)
	for j := range shares {
		one := make([]float64, d)
		one[j] = alpha
		e, err := c.evaluateAt(ctx, one, min(c.s.Paths, 200))
		if err != nil {
			return nil, nil, err
		}
		if !e.ok { // far from small: the share of smaller noise
			one[j] = alpha / 100
			if e, err = c.evaluateAt(ctx, one, min(c.s.Paths, 200)); err != nil {
				return nil, nil, err
			}
			if !e.ok {
				return nil, nil, fmt.Errorf("%s, %v, %v: with noise of alpha = %.3g in component %d alone paths cannot be solved: want one alpha for all components, or a smaller step", c.solver.p.title(), c.solver.m, c.solver.g, one[j], j)
			}
		}
		shares[j] = e.logv
		for k, l := range e.logv {
			shares[j][k] = math.Exp(l) / one[j]
		}
	}
	alphas = make([]float64, d)
	for j := range alphas {
		alphas[j] = alpha
	}
	e2 := make([]float64, len(c.used))
	for k, l := range c.loge2 {
		e2[k] = math.Exp(l)
	}
	c.s.Rule.divide(alphas, shares, e2)
	// Where the noise is not small the whole is mended.
	for range 2 {
		e, err := c.evaluateAt(ctx, alphas, c.s.Paths)
		if err != nil {
			return nil, nil, err
		}
		if !e.ok {
			return nil, nil, fmt.Errorf("%s, %v, %v: with the noise scales %s by component paths cannot be solved: want one alpha for all components, or a smaller step", c.solver.p.title(), c.solver.m, c.solver.g, short(alphas))
		}
		shift := c.proportional(e.logv)
		for j := range alphas {
			alphas[j] *= math.Exp(shift)
		}
		logv = e.logv
		for k := range logv {
			logv[k] += shift
		}
		if math.Abs(shift) < 0.05 {
			break
		}
	}
	return alphas, logv, nil
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
