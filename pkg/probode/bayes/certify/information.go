package certify

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
)

// information returns the Fisher information of l on the expected value m,
//
//	I(m) = E (∂ log p(y | m) / ∂m)²,   y ~ p(y | m),
//
// the reciprocal of the variance of an error of observation as the solver's error
// has to be measured by it. Student's is that of Lange, Little & Taylor (1989). For a
// likelihood of the caller's own that is no bayes.Informer it is estimated from
// draws, with a relative error of about 3 %.
func information(l bayes.Likelihood, m float64, own []float64) float64 {
	if by, ok := l.(bayes.Informer); ok {
		full := make([]float64, (1+len(own))*(1+len(own)))
		if by.Information(full, m, own) {
			return full[0]
		}
	}
	switch l.(type) {
	case bayes.StudentT:
		nu, sigma := own[0], own[1]
		return (nu + 1) / ((nu + 3) * sigma * sigma)
	case bayes.NegativeBinomial:
		return 1 / (m + m*m/own[0])
	}
	const draws = 2000
	rng := probode.Stream(0x696e666f)
	ys := make([]float64, draws)
	var away float64
	for i := range ys {
		ys[i] = l.Rand(m, own, rng)
		away += math.Abs(ys[i]-m) / draws
	}
	var sum float64
	for _, y := range ys {
		s := slope(l, y, m, own, 1e-4*away)
		sum += s * s
	}
	return sum / draws
}

// slope returns ∂ log p(y | m)/∂m by a central difference of half width h. It is narrower
// for errors that are as large as m and whose density ends at zero, as on a logarithmic
// scale: m − h has none there, or next to none.
func slope(l bayes.Likelihood, y, m float64, own []float64, h float64) float64 {
	if narrow := 1e-4 * math.Abs(m); h > narrow {
		if beyond := l.LogProb(y, -cmp.Or(m, h), own); math.IsNaN(beyond) || math.IsInf(beyond, 0) {
			h = max(narrow, 1e-10*h)
		}
	}
	return (l.LogProb(y, m+h, own) - l.LogProb(y, m-h, own)) / (2 * h)
}

// A datum is one value of the data with its likelihood. A number of a likelihood
// that is another column of the data, see bayes.Value, is expected by a solver like
// the value itself: it is a datum more, a twin, with that number and the expected
// value exchanged. What the two tell of each other, the element of the information
// between them, is left out: it is zero for every likelihood of package bayes.
type datum struct {
	at     int // in the expected values
	y      float64
	l      bayes.Likelihood
	from   []bayes.Value // of own
	column []int         // in the expected values, of each of own; −1 if it is none of these
	own    []float64
	twin   bool
}

// exchanged is a likelihood with its own number k in the place of the expected
// value, and that in the place of the number.
type exchanged struct {
	bayes.Likelihood
	k int
}

func (l exchanged) back(m float64, own []float64) (float64, []float64) {
	own = slices.Clone(own)
	m, own[l.k] = own[l.k], m
	return m, own
}

func (l exchanged) LogProb(y, m float64, own []float64) float64 {
	m, own = l.back(m, own)
	return l.Likelihood.LogProb(y, m, own)
}

func (l exchanged) Rand(m float64, own []float64, rng *rand.Rand) float64 {
	m, own = l.back(m, own)
	return l.Likelihood.Rand(m, own, rng)
}

func (l exchanged) Describe() bayes.Description { return bayes.Description{} }

// Information has only its first element.
func (l exchanged) Information(dst []float64, m float64, own []float64) bool {
	by, ok := l.Likelihood.(bayes.Informer)
	if !ok {
		return false
	}
	m, own = l.back(m, own)
	ok = by.Information(dst, m, own)
	dst[0] = dst[(1+l.k)*(2+len(own))]
	return ok
}

// observed returns the values of the data that are not missing, and the indices
// of the parameters that are numbers of their likelihoods.
func observed(p *bayes.Posterior) (data []datum, own []int) {
	at, seen := 0, map[int]bool{}
	for _, x := range p.Experiments {
		for _, row := range x.Data.Y {
			for k, y := range row {
				if math.IsNaN(y) {
					continue
				}
				d := datum{at: at + k, y: y, l: likelihood(&x, k)}
				d.from = d.l.Own()
				d.own = make([]float64, len(d.from))
				for _, v := range d.from {
					column := -1
					if i := indexOf(p, v.Name); i < 0 && v.Name != "" {
						column = at + slices.Index(x.Data.Names, v.Name)
					} else if i >= 0 && !seen[i] {
						seen[i] = true
						own = append(own, i)
					}
					d.column = append(d.column, column)
				}
				data = append(data, d)
				for i, column := range d.column {
					if column >= 0 {
						e := d
						e.twin, e.at, e.l = true, column, exchanged{d.l, i}
						e.own, e.column = slices.Clone(d.own), slices.Clone(d.column)
						e.column[i] = d.at
						data = append(data, e)
					}
				}
			}
			at += len(row)
		}
	}
	return data, own
}

// indexOf returns the position of the parameter with the given name, −1 if there
// is none.
func indexOf(p *bayes.Posterior, name string) int {
	for i, q := range p.Params {
		if name != "" && q.Name == name {
			return i
		}
	}
	return -1
}

// bind tells the numbers of the likelihood from theta and the expected values.
func (d *datum) bind(p *bayes.Posterior, theta, m []float64) {
	for k, v := range d.from {
		d.own[k] = v.Value
		if i := indexOf(p, v.Name); d.column[k] >= 0 {
			d.own[k] = m[d.column[k]]
		} else if i >= 0 {
			d.own[k] = theta[i]
		}
	}
}

// likelihood returns the likelihood of column k.
func likelihood(x *bayes.Experiment, k int) bayes.Likelihood {
	if len(x.Errors) > 1 {
		return x.Errors[k]
	}
	return x.Errors[0]
}
