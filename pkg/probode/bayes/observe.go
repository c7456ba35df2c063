package bayes

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode"
)

// A parameter may be unused, for example because its name is misspelt. The posterior of
// an unused parameter is equal to its prior, and the equations are solved with the
// nominal value. The results of the inference are then wrong, without any visible
// symptom. To find unused parameters, the program compares the names of the parameters
// with the names that the equations and the likelihoods use. Observe refers to parameters
// by index, not by name. The program therefore calls Observe with several values of each
// parameter that seems to be unused.

// untouched is the value of each element of dst before Observe is called. The value is a
// NaN with a bit pattern that arithmetic does not produce.
var untouched = math.Float64frombits(0x7ff8_7072_6f62_6f64)

// watch calls Observe, and reports whether Observe returned without a panic. Observe may
// panic at an unusual state or parameter.
func (r *Part) watch(dst []float64, t float64, x, theta []float64) (ok bool) {
	defer func() { ok = recover() == nil }()
	for k := range dst {
		dst[k] = untouched
	}
	r.x.Observe(dst, t, x, theta)
	return
}

// probes is the number of draws from the prior at which checkObserve tests whether
// Observe uses a parameter.
const probes = 100

// checkObserve returns an error if a parameter is not used although Param.MayBeUnused is
// false, or if Observe does not write all columns. A parameter counts as used if changing
// it changes a value that Observe writes, either at the initial state or at a later state
// of the path. While one parameter is changed, the others are set to the medians of their
// priors or to draws from the priors. If the parameters are draws from the priors, the
// path is computed with solver noise. The last test sets the parameter under test to NaN.
// Since NaN propagates through arithmetic, this test also detects parameters that matter
// only in rare cases. For a correct model, the test at the medians is nearly always
// sufficient.
func (e *Density) checkObserve() error {
	p := e.p
	var unused []int
	named := p.named()
	for k, q := range p.Params {
		if !q.MayBeUnused && !named[q.Name] {
			unused = append(unused, k)
		}
	}
	observes := slices.ContainsFunc(e.parts, func(r *Part) bool { return r.x.Observe != nil })
	theta, xi := make([]float64, len(p.Params)), make([]float64, e.noise)
	rng := probode.Stream(0, 0x6f627372)
	told := make([]bool, len(e.parts)) // whether Observe of the part has given a finite value
	for try := range 1 + probes + 1 {
		last := try == probes+1
		if try == 0 || last {
			for k := range theta {
				theta[k] = p.Params[k].Prior.Quantile(0.5)
			}
		} else {
			theta = p.DrawPrior(rng)
			normals(xi, rng)
		}
		noise := xi
		for i, r := range e.parts {
			n := r.noise
			z := noise[:n]
			noise = noise[n:]
			if r.x.Observe == nil {
				told[i] = true
				continue
			}
			e.bind(r, theta)
			d := r.x.Problem.Dim()
			dst, changed := make([]float64, len(r.errors)), make([]float64, len(r.errors))
			// look calls Observe at the given states, which are stored one after another.
			look := func(times, states []float64) error {
				for n, t := range times {
					x := states[n*d : (n+1)*d]
					if !r.watch(dst, t, x, theta) {
						continue
					}
					for k, y := range dst {
						if math.Float64bits(y) == math.Float64bits(untouched) {
							return fmt.Errorf("bayes: %s: Observe does not write column %d at the state %.4g", r.x.title(i), k+1, x)
						}
					}
					// A value that is always NaN or infinite contains no information.
					told[i] = told[i] || slices.ContainsFunc(dst, func(y float64) bool { return !math.IsNaN(y) && !math.IsInf(y, 0) })
					unused = slices.DeleteFunc(unused, func(k int) bool {
						values := []float64{0.2, 0.5, 0.8, rng.Float64()}
						for i, prob := range values {
							values[i] = p.Params[k].Prior.Quantile(prob)
						}
						if last {
							values = []float64{math.NaN()}
						}
						old := theta[k]
						defer func() { theta[k] = old }()
						for _, theta[k] = range values {
							if !r.watch(changed, t, x, theta) || slices.Compare(dst, changed) != 0 { // NaN equals NaN
								return true
							}
						}
						return false
					})
				}
				return nil
			}
			start := make([]float64, d)
			r.x.Problem.Initial(start, r.theta)
			if err := look(r.x.Problem.Span[:1], start); err != nil {
				return err
			}
			if len(unused) == 0 {
				continue
			}
			if len(z) == 0 {
				z = nil
			}
			if r.path.States(e.ctx, r.state, r.theta, z) == nil {
				if err := look(r.x.Data.T, r.state); err != nil {
					return err
				}
			}
		}
		if len(unused) == 0 {
			return nil
		}
		if !observes {
			break
		}
	}
	if slices.Contains(told, false) {
		return nil // a mistake there shows in the likelihood
	}
	also := ""
	if observes {
		also = ", and the parameter does not affect the values that Observe writes"
	}
	return fmt.Errorf("bayes: parameter %q is not used: it is not among the parameters of the equations (%s)%s", p.Params[unused[0]].Name, strings.Join(p.problemParams(), ", "), also)
}
