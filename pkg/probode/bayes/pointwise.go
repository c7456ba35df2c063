package bayes

import (
	"fmt"
	"math"
	"slices"
)

// This file computes the log probability of each data value.

// Explain returns the reason why the log likelihood at (θ, ξ) is not finite: the error of
// a failed solve, or the first data value whose log probability is not finite. Explain
// returns nil if the log likelihood is finite.
func (e *Density) Explain(theta, xi []float64) error {
	for _, r := range e.parts {
		var err error
		if xi, err = e.solve(r, theta, xi); err != nil {
			return fmt.Errorf("%s: %w", r.Title(), err)
		}
		r.logLikelihood(theta)
	}
	e.pointwise(e.terms, e.fit, theta)
	terms := e.terms
	for _, r := range e.parts {
		for n, row := range r.x.Data.Y {
			for k, y := range row {
				if math.IsNaN(y) {
					continue
				}
				if lp := terms[0]; math.IsNaN(lp) || math.IsInf(lp, 0) {
					return fmt.Errorf("%s: the value %.6g at t = %g in column %d has the log probability %g; the model expects the value %.4g", r.Title(), y, r.x.Data.T[n], k+1, lp, r.fit[n*len(row)+k])
				}
				terms = terms[1:]
			}
		}
	}
	return nil
}

// LogLikelihoodChange returns the log likelihood for the expected values `to` minus that
// for the expected values `from`, both in the order of Expected. Unknown parameters of the
// likelihoods, such as σ, are taken from theta. LogLikelihoodChange adds the differences for
// the individual data values, so the rounding error is proportional to these differences,
// and not to the log likelihood.
func (e *Density) LogLikelihoodChange(from, to, theta []float64) float64 {
	e.pointwise(e.terms, from, theta)
	before := slices.Clone(e.terms)
	e.pointwise(e.terms, to, theta)
	var sum float64
	for i, lp := range e.terms {
		sum += lp - before[i]
	}
	return sum
}

func (e *Density) setTerms() {
	n := 0
	for _, r := range e.parts {
		for _, row := range r.x.Data.Y {
			for _, y := range row {
				if !math.IsNaN(y) {
					n++
				}
			}
		}
	}
	e.terms = make([]float64, n)
}

func (e *Density) pointwise(dst, fit, theta []float64) {
	at := 0
	for _, r := range e.parts {
		e.bind(r, theta)
		c := len(r.errors)
		for n, row := range r.x.Data.Y {
			for k, y := range row {
				if !math.IsNaN(y) {
					dst[at] = r.errors[k].LogProb(y, fit[n*c+k], r.errors[k].at(r.x.Data.T[n], fit[n*c:]))
					at++
				}
			}
		}
		fit = fit[len(r.x.Data.Y)*c:]
	}
}

// Quantities returns the names of the quantities that Generate writes.
func (e *Density) Quantities() []string {
	names := []string{"lp__"}
	for i := range e.values() {
		names = append(names, fmt.Sprintf("y_hat.%d", i+1))
	}
	for i := range e.terms {
		names = append(names, fmt.Sprintf("log_lik.%d", i+1))
	}
	return names
}

// Generate writes to dst the log density of a draw of θ, the expected values of the data,
// and the log probability of each value that is not missing. Generate does not write the
// statistics of a sampler, which dst may hold directly after the log density.
func (e *Density) Generate(dst []float64, logp float64, theta, expected []float64) {
	dst[0] = logp
	rest := dst[e.statistics(len(dst)):]
	e.pointwise(rest[e.values():], expected, theta)
	for _, r := range e.parts {
		for range r.x.Data.Y {
			n := copy(rest, expected[:e.columns(r)])
			rest, expected = rest[n:], expected[len(r.errors):]
		}
	}
}

// columns returns the number of columns of the data, without those of an Integral.
func (e *Density) columns(r *Part) int { return e.p.Experiments[r.number].Data.columns() }

// values returns the number of values of the data, also missing ones.
func (e *Density) values() (n int) {
	for _, r := range e.parts {
		n += len(r.x.Data.Y) * e.columns(r)
	}
	return n
}

// statistics is the index of the first expected value among the n quantities of a draw.
func (e *Density) statistics(n int) int { return n - e.values() - len(e.terms) }
