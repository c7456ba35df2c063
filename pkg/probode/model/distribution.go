package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

func (d noiseDistribution) counts() bool {
	return d == poissonNoise || d == negativeBinomialNoise || d == binomialNoise
}

func (o *observable) likelihood(own []bayes.Value) bayes.Likelihood {
	of := o.distribution.likelihood(o.scale, own)
	if o.limit == nil && o.upper == nil {
		return of
	}
	c := bayes.Censored{Of: of.(bayes.Cumulative), Limit: math.Inf(-1)}
	if o.limit != nil {
		c.Limit, _ = o.limit.Const()
	}
	if o.upper != nil {
		upper, _ := o.upper.Const()
		c.Upper = &upper
	}
	return c
}

// unknown returns the interval for which a measurement beyond a limit stands, or nil.
func (o *observable) unknown(value float64) *[2]float64 {
	if o.limit != nil {
		if limit, _ := o.limit.Const(); value <= limit {
			return &[2]float64{math.Inf(-1), limit}
		}
	}
	if o.upper != nil {
		if upper, _ := o.upper.Const(); value >= upper {
			return &[2]float64{upper, math.Inf(1)}
		}
	}
	return nil
}

// likelihood ignores limits of quantification.
func (d noiseDistribution) likelihood(on Scale, own []bayes.Value) bayes.Likelihood {
	var of bayes.Likelihood
	switch d {
	case normalNoise:
		if on == Log {
			return bayes.LogNormal{Sigma: own[0]}
		}
		of = bayes.Gaussian{Sigma: own[0]}
	case laplaceNoise:
		of = bayes.Laplace{Scale: own[0]}
	case studentNoise:
		of = bayes.StudentT{Nu: own[0], Sigma: own[1]}
	case poissonNoise:
		of = bayes.Poisson{}
	case negativeBinomialNoise:
		of = bayes.NegativeBinomial{Phi: own[0]}
	case binomialNoise:
		of = bayes.Binomial{Trials: own[0]}
	default:
		panic("model: distribution " + string(d) + " is not known")
	}
	if on == Lin {
		return of
	}
	return scaled{of, on}
}

// logProb returns the log density of the measurement, or the log probability of its
// interval. m is the value of the formula, and `own` the other parameters of the
// distribution.
func (r *row) logProb(m float64, own []float64) float64 {
	of := r.likelihood(make([]bayes.Value, 2))
	if r.within != nil {
		of, own = bayes.Interval{Of: of.(bayes.Cumulative)}, append(slices.Clip(own), r.within[:]...)
	}
	return of.LogProb(r.value, m, own)
}

// Let g be ln or log₁₀. If y has a distribution of the type `scaled`, then g(y) has the
// distribution in Of, with the location g(m):
//
//	log p(y | m) = log q(g(y) | g(m)) + log g′(y).
type scaled struct {
	Of bayes.Likelihood
	On Scale // Log or Log10
}

func (s scaled) Own() []bayes.Value { return s.Of.Own() }

func (s scaled) LogProb(y, m float64, own []float64) float64 {
	if !(y > 0 && m > 0) {
		return math.Inf(-1)
	}
	return s.Of.LogProb(s.On.of(y), s.On.of(m), own) - math.Log(s.On.slope(y))
}

func (s scaled) Rand(m float64, own []float64, rng *rand.Rand) float64 {
	if !(m > 0) {
		return math.NaN()
	}
	return s.On.linear(s.Of.Rand(s.On.of(m), own, rng))
}

func (s scaled) Slope(dst []float64, y, m float64, own []float64) {
	s.Of.(bayes.SlopedLikelihood).Slope(dst, s.On.of(y), s.On.of(m), own)
	dst[0] /= s.On.slope(m)
}

func (s scaled) LogTail(slope []float64, y, m float64, own []float64, above bool) float64 {
	switch {
	case !(m > 0):
		return math.NaN()
	case !(y > 0):
		clear(slope)
		if above {
			return 0
		}
		return math.Inf(-1)
	}
	lp := s.Of.(bayes.Cumulative).LogTail(slope, s.On.of(y), s.On.of(m), own, above)
	if slope != nil {
		slope[0] /= s.On.slope(m)
	}
	return lp
}

func (s scaled) Information(dst []float64, m float64, own []float64) bool {
	if !(m > 0) || !s.Of.(bayes.Informer).Information(dst, s.On.of(m), own) {
		return false
	}
	n := 1 + len(own)
	for k := range n {
		dst[k] /= s.On.slope(m)
		dst[k*n] /= s.On.slope(m)
	}
	return true
}

func (s scaled) Kink(y, m float64, own []float64) (r, slope, weight float64, ok bool) {
	of, is := s.Of.(bayes.Kinked)
	if !is || !(y > 0 && m > 0) {
		return 0, 0, 0, false
	}
	r, slope, weight, ok = of.Kink(s.On.of(y), s.On.of(m), own)
	return r, slope / s.On.slope(m), weight, ok
}

func (s scaled) Describe() bayes.Description {
	about := s.Of.(bayes.Describer).Describe()
	about.Of, about.Y = s, "a number > 0"
	return about
}

func (s Scale) of(v float64) float64 {
	switch s {
	case Log:
		return math.Log(v)
	case Log10:
		return math.Log10(v)
	}
	return v
}

func (s Scale) linear(u float64) float64 {
	switch s {
	case Log:
		return math.Exp(u)
	case Log10:
		return math.Pow(10, u)
	}
	return u
}

// slope returns the derivative of the linear value with respect to the value on s, at the
// linear value v.
func (s Scale) slope(v float64) float64 {
	switch s {
	case Log:
		return v
	case Log10:
		return v * math.Ln10
	}
	return 1
}

func readDistribution(s *source.File, line int, v string, among ...noiseDistribution) noiseDistribution {
	if v == "" {
		return normalNoise
	}
	var words []string
	base, onLog := strings.CutPrefix(v, "log")
	base = strings.TrimPrefix(base, "-")
	for _, d := range among {
		if string(d) == v {
			return d
		}
		if onLog && strings.EqualFold(string(d), base) && !d.counts() {
			s.Failf(line, "noiseDistribution is %q: want %s and observableTransformation log", v, d)
		}
		words = append(words, string(d))
	}
	last := len(words) - 1
	s.Failf(line, "noiseDistribution is %q: want %s or %s", v, strings.Join(words[:last], ", "), words[last])
	return ""
}

func checkValue(d Observation, o *observable) {
	if d.within != nil && o.distribution.counts() {
		d.where.Failf("the measurement of %s is an interval, but its distribution is discrete: want a number", o.id)
	}
	if d.within != nil && o.scale != Lin && !(d.within[1] > 0) {
		d.where.Failf("the measurement of %s is at most %v: want an interval with positive values", o.id, d.within[1])
	}
	if d.within != nil || o.unknown(d.Value) != nil {
		return
	}
	if o.scale != Lin && !(d.Value > 0) || o.distribution.counts() && (d.Value < 0 || d.Value != math.Trunc(d.Value)) {
		d.where.Failf("the measurement of %s is %v: want %s", o.id, d.Value, o.distribution.likelihood(o.scale, make([]bayes.Value, 2)).(bayes.Describer).Describe().Y)
	}
}
