package assess

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/probode/probode/pkg/probode/bayes"
)

// Error variances by isotonic regression [Matsuda & Miyatake 2021, Estimation of
// ordinary differential equation models with discretization error quantification,
// SIAM/ASA Journal on Uncertainty Quantification 9, 302]. The residual of a datum
// has the variance σ² of its observation and one more of the solver's error there,
//
//	yₙₖ − mₙₖ ~ N(0, σₖ² + vₙₖ),   0 ≤ v₁ₖ ≤ v₂ₖ ≤ …,
//
// which does not fall in time. For given θ the likelihood is largest where σ² + v is
// the isotonic regression of the squared residuals, or σ² if that is more; for given
// v θ is the mode of the posterior. The two are found in turn. It serves Gaussian
// errors, and log-normal ones on their own scale.

// wideGaussian and wideLogNormal have a variance beside their σ².
type (
	wideGaussian struct {
		bayes.Gaussian
		variance float64
	}
	wideLogNormal struct {
		bayes.LogNormal
		variance float64
	}
)

const logSqrt2Pi = 0.91893853320467274178032973640563761986139747363778

func (g wideGaussian) LogProb(y, m float64, own []float64) float64 {
	if !(own[0] > 0) {
		return math.Inf(-1)
	}
	v, r := own[0]*own[0]+g.variance, y-m
	return -0.5*(r*r/v+math.Log(v)) - logSqrt2Pi
}

func (g wideGaussian) Rand(m float64, own []float64, rng *rand.Rand) float64 {
	return g.Gaussian.Rand(m, []float64{math.Hypot(own[0], math.Sqrt(g.variance))}, rng)
}

func (g wideGaussian) Information(dst []float64, m float64, own []float64) bool {
	v := own[0]*own[0] + g.variance
	dst[0], dst[1], dst[2], dst[3] = 1/v, 0, 0, 2*own[0]*own[0]/(v*v)
	return own[0] > 0
}

func (l wideLogNormal) LogProb(y, m float64, own []float64) float64 {
	if !(y > 0 && m > 0) {
		return math.Inf(-1)
	}
	return wideGaussian{variance: l.variance}.LogProb(math.Log(y/m), 0, own) - math.Log(y)
}

func (l wideLogNormal) Rand(m float64, own []float64, rng *rand.Rand) float64 {
	return l.LogNormal.Rand(m, []float64{math.Hypot(own[0], math.Sqrt(l.variance))}, rng)
}

func (l wideLogNormal) Information(dst []float64, m float64, own []float64) bool {
	ok := wideGaussian{variance: l.variance}.Information(dst, 0, own)
	dst[0] /= m * m
	return ok && m > 0
}

// widened returns l with one more variance, and the residual on its scale; nil where
// it has none.
func widened(l bayes.Likelihood, variance float64) (bayes.Likelihood, func(y, m float64) float64) {
	switch l := l.(type) {
	case bayes.Gaussian:
		return wideGaussian{l, variance}, func(y, m float64) float64 { return y - m }
	case bayes.LogNormal:
		return wideLogNormal{l, variance}, func(y, m float64) float64 { return math.Log(y / m) }
	}
	return nil, nil
}

// Isotonic returns the isotonic regression of y, the nondecreasing sequence with the
// least sum of squared distances, by pooling adjacent violators. NaN is no
// observation and has the value before it, the first ones zero.
func Isotonic(y []float64) []float64 {
	type pool struct {
		sum     float64
		n, last int
	}
	var pools []pool
	for i, v := range y {
		if math.IsNaN(v) {
			continue
		}
		p := pool{v, 1, i}
		for k := len(pools) - 1; k >= 0 && pools[k].sum*float64(p.n) >= p.sum*float64(pools[k].n); k-- {
			p.sum, p.n = p.sum+pools[k].sum, p.n+pools[k].n
			pools = pools[:k]
		}
		pools = append(pools, p)
	}
	out := make([]float64, len(y))
	value, k := 0.0, 0
	for i, v := range y {
		if k < len(pools) && !math.IsNaN(v) {
			value = pools[k].sum / float64(pools[k].n)
			if pools[k].last == i {
				k++
			}
		}
		out[i] = value
	}
	return out
}

// isotonic returns p with the variances of the solver's error in its
// likelihood, and what they are by experiment, column and row of the data, found from
// theta on. It is an error if a likelihood is neither Gaussian nor log-normal, or if
// the equations cannot be solved on the way.
func (a *assessor) isotonic(p *bayes.Posterior, by Solver, theta []float64) (*bayes.Posterior, [][][]float64, error) {
	v := make([][][]float64, len(p.Experiments))
	for i, x := range p.Experiments {
		for k := range x.Data.Y[0] {
			if l, _ := widened(likelihood(&x, k), 0); l == nil {
				return nil, nil, fmt.Errorf("assess: error variances of %T: want Gaussian or LogNormal", likelihood(&x, k))
			}
			v[i] = append(v[i], make([]float64, len(x.Data.T)))
		}
	}
	u := make([]float64, len(theta))
	if err := a.certifier.by.Unconstrain(u, theta); err != nil {
		return nil, nil, err
	}
	const rounds = 30
	for range rounds {
		q, err := withVariances(p, v)
		if err != nil {
			return nil, nil, err
		}
		x, err := newExpecter(a.ctx, q, by)
		if err != nil {
			return nil, nil, err
		}
		at, _, err := climb(x, a.certifier.by, u)
		if err != nil {
			return nil, nil, err
		}
		u = at.u
		base, err := newExpecter(a.ctx, p, by)
		if err != nil {
			return nil, nil, err
		}
		expected, _, err := base.at(at.theta)
		if err != nil {
			return nil, nil, err
		}
		if change := regress(p, v, expected, at.theta); change < 1e-3 {
			return q, v, nil
		}
	}
	// The two may go to and fro between two arrangements of pools: the last serves.
	q, err := withVariances(p, v)
	return q, v, err
}

// likelihood returns that of column k.
func likelihood(x *bayes.Experiment, k int) bayes.Likelihood {
	if len(x.Errors) > 1 {
		return x.Errors[k]
	}
	return x.Errors[0]
}

// regress sets the variances to those of the residuals, and returns by how much they
// have changed, in units of σ².
func regress(p *bayes.Posterior, v [][][]float64, expected, theta []float64) (change float64) {
	for i := range p.Experiments {
		x := &p.Experiments[i]
		c := len(x.Data.Y[0])
		for k := range c {
			d := datum{l: likelihood(x, k)}
			d.from = d.l.Own()
			d.own = make([]float64, len(d.from))
			d.column = []int{-1} // isotonic has refused others
			d.bind(p, theta, nil)
			_, residual := widened(d.l, 0)
			square := make([]float64, len(x.Data.T))
			for n, row := range x.Data.Y {
				r := residual(row[k], expected[n*c+k])
				square[n] = r * r
			}
			variance := d.own[0] * d.own[0]
			for n, total := range Isotonic(square) {
				extra := max(0, total-variance)
				change = max(change, math.Abs(extra-v[i][k][n])/variance)
				v[i][k][n] = extra
			}
		}
		expected = expected[c*len(x.Data.T):]
	}
	return change
}

// withVariances returns p with more variance in its likelihoods: each stretch of
// rows of a column with one variance becomes a column of its own.
func withVariances(p *bayes.Posterior, v [][][]float64) (*bayes.Posterior, error) {
	q := *p
	q.Modes = nil
	q.Experiments = slices.Clone(p.Experiments)
	for i := range q.Experiments {
		x := &q.Experiments[i]
		observe, err := x.Observation()
		if err != nil {
			return nil, err
		}
		if len(x.Data.T) == 0 {
			return nil, errors.New("assess: there are no data")
		}
		var errs []bayes.Likelihood
		var of []int // column of p of each
		data := &bayes.Data{T: x.Data.T, Y: make([][]float64, len(x.Data.T))}
		for k := range x.Data.Y[0] {
			for n, row := range x.Data.Y {
				if n == 0 || v[i][k][n] != v[i][k][n-1] {
					l, _ := widened(likelihood(x, k), v[i][k][n])
					errs, of = append(errs, l), append(of, k)
					for m := range data.Y {
						data.Y[m] = append(data.Y[m], math.NaN())
					}
				}
				data.Y[n][len(of)-1] = row[k]
			}
		}
		c := len(x.Data.Y[0])
		x.Observe = func(dst []float64, t float64, state, theta []float64) {
			observe(dst[:c], t, state, theta)
			for j := len(dst) - 1; j >= 0; j-- { // of[j] ≤ j
				dst[j] = dst[of[j]]
			}
		}
		x.Data, x.Errors = data, errs
	}
	return &q, nil
}

// tryIsotonic samples with error variances at the steps that are not certified.
func (a *assessor) tryIsotonic() error {
	if a.certifier == nil {
		return nil
	}
	for i := range a.out.Steps {
		st := &a.out.Steps[i]
		if st.Deterministic == nil || a.modes[i] == nil || st.Certificate != nil && st.Certificate.Certified(a.out.Threshold) {
			continue
		}
		p, v, err := a.isotonic(a.frozen(i), Solver{}, st.Mode)
		if err != nil {
			if a.ctx.Err() != nil {
				return err
			}
			continue // such as counts, which have no variance of their own
		}
		p.Modes = a.modes[i]
		d, err := a.sampleBriefly(p, bayes.Deterministic{}, a.seed(5000, uint64(i)))
		if err != nil {
			if a.ctx.Err() != nil {
				return err
			}
			continue
		}
		added := 0.0
		for _, x := range v {
			for _, column := range x {
				added = max(added, column[len(column)-1])
			}
		}
		a.tried = append(a.tried, trial{kind: "isotonic variances", name: fmt.Sprintf("isotonic error variances, %v", st), inf: d.summed, against: st.Deterministic,
			note: fmt.Sprintf("sd of the error up to %.2g", math.Sqrt(added))})
	}
	return nil
}
