package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

type family struct {
	name  string
	form  string // names of the parameters, separated by ;
	petab bool   // PEtab has it as well
	on    Scale  // scale on which the value has the distribution; "" means the scale of the parameter
	min   float64
	check func(a, b float64) bool
	of    func(a, b float64) cumulative
}

// cumulative is a distribution that can be truncated.
type cumulative interface {
	bayes.Distribution
	CDF(x float64) float64
}

var families = func() []family {
	inf := math.Inf(1)
	ordered := func(a, b float64) bool { return a < b }
	spread := func(_, b float64) bool { return b > 0 }
	both := func(a, b float64) bool { return a > 0 && b > 0 }
	one := func(a, _ float64) bool { return a > 0 }
	uniform := func(a, b float64) cumulative { return distuv.Uniform{Min: a, Max: b} }
	normal := func(a, b float64) cumulative { return distuv.Normal{Mu: a, Sigma: b} }
	double := func(a, b float64) cumulative { return laplace{distuv.Laplace{Mu: a, Scale: b}} }
	heavy := func(a, b float64) cumulative { return cauchy{a, b} }
	return []family{
		{"uniform", "from;to", true, Lin, -inf, ordered, uniform},
		{"normal", "mean;sd", true, Lin, -inf, spread, normal},
		{"laplace", "location;scale", true, Lin, -inf, spread, double},
		{"logNormal", "mean;sd", true, Log, -inf, spread, normal},
		{"logLaplace", "location;scale", true, Log, -inf, spread, double},
		{"parameterScaleUniform", "from;to", true, "", -inf, ordered, uniform},
		{"parameterScaleNormal", "mean;sd", true, "", -inf, spread, normal},
		{"parameterScaleLaplace", "location;scale", true, "", -inf, spread, double},
		{"halfNormal", "sd", false, Lin, 0, one, func(a, _ float64) cumulative { return distuv.Normal{Sigma: a} }},
		{"cauchy", "location;scale", false, Lin, -inf, spread, heavy},
		{"halfCauchy", "scale", false, Lin, 0, one, func(a, _ float64) cumulative { return cauchy{0, a} }},
		{"exponential", "rate", false, Lin, -inf, one, func(a, _ float64) cumulative { return distuv.Exponential{Rate: a} }},
		{"gamma", "shape;rate", false, Lin, -inf, both, func(a, b float64) cumulative { return distuv.Gamma{Alpha: a, Beta: b} }},
		{"inverseGamma", "shape;scale", false, Lin, -inf, both, func(a, b float64) cumulative { return distuv.InverseGamma{Alpha: a, Beta: b} }},
		{"logUniform", "from;to", false, Log, -inf, func(a, b float64) bool { return 0 < a && a < b }, func(a, b float64) cumulative { return distuv.Uniform{Min: math.Log(a), Max: math.Log(b)} }},
		{"rayleigh", "scale", false, Lin, -inf, one, func(a, _ float64) cumulative { return distuv.Weibull{K: 2, Lambda: math.Sqrt2 * a} }},
		{"beta", "a;b", false, Lin, -inf, both, func(a, b float64) cumulative { return distuv.Beta{Alpha: a, Beta: b} }},
	}
}()

// familyNamed ignores case, and returns the zero value for an unknown name.
func familyNamed(name string) family {
	for _, f := range families {
		if strings.EqualFold(f.name, name) {
			return f
		}
	}
	return family{}
}

func (f *family) one() bool { return !strings.Contains(f.form, ";") }

func (f *family) prior(params []string) (Prior, error) {
	q := Prior{Type: f.name}
	want := 2
	if f.one() {
		want = 1
	}
	if len(params) != want {
		return q, fmt.Errorf("%q: want %s", strings.Join(params, ";"), f.form)
	}
	for i, to := range []*float64{&q.A, &q.B}[:want] {
		v, err := source.ParseNumber(strings.TrimSpace(params[i]))
		if err != nil || math.IsInf(v, 0) {
			return q, fmt.Errorf("%q is not a finite number: want %s", params[i], f.form)
		}
		*to = v
	}
	if !f.check(q.A, q.B) {
		if strings.HasSuffix(strings.ToLower(f.name), "uniform") && !(q.A < q.B) {
			return q, fmt.Errorf("the bounds are %v and %v: want a lower bound less than the upper bound", q.A, q.B)
		}
		return q, fmt.Errorf("%s: want %s (only a mean or a location may be ≤ 0)", strings.Join(params, ";"), f.form)
	}
	return q, nil
}

// ParsePrior reads a prior such as gamma(2,0.5) and returns its distribution.
func ParsePrior(written string) (bayes.Distribution, error) {
	name, rest, _ := strings.Cut(strings.TrimSpace(written), "(")
	rest, closed := strings.CutSuffix(rest, ")")
	f := familyNamed(strings.TrimSpace(name))
	if f.name == "" || f.on == "" || !closed || strings.ContainsAny(rest, "()") {
		var forms []string
		for _, f := range families {
			if f.on != "" {
				forms = append(forms, f.name+"("+strings.ReplaceAll(f.form, ";", ",")+")")
			}
		}
		return nil, fmt.Errorf("want %s", strings.Join(forms, ", "))
	}
	q, err := f.prior(strings.Split(rest, ","))
	if err != nil {
		return nil, err
	}
	d, err := newScalePrior(&Parameter{ID: f.name, Prior: q, Scale: Lin, Lower: math.NaN(), Upper: math.NaN()})
	if err != nil {
		return nil, err
	}
	// The formulas of the distributions overflow if the parameters are extreme.
	if m := d.Quantile(0.5); math.IsInf(m, 0) || !(math.Abs(d.LogProb(m)) <= math.MaxFloat64) {
		return nil, fmt.Errorf("the median of the prior is %g, and its log density at the median is %g: want finite numbers; use less extreme parameters", m, d.LogProb(m))
	}
	return d.plain(), nil
}

// readPrior lets a uniform prior without parameters extend from the lower to the upper
// bound.
func readPrior(s *source.File, line int, typ, params string, p *Parameter, petab bool) Prior {
	if typ == "" {
		if params != "" {
			s.Failf(line, "a prior has the parameters %q, but no type", params)
		}
		return Prior{}
	}
	i := slices.IndexFunc(families, func(f family) bool { return f.name == typ && (f.petab || !petab) })
	if i < 0 {
		var names []string
		for _, f := range families {
			if f.petab || !petab {
				names = append(names, f.name)
			}
		}
		last := len(names) - 1
		s.Failf(line, "prior %q: want %s or %s", typ, strings.Join(names[:last], ", "), names[last])
	}
	f := &families[i]
	if params != "" {
		q, err := f.prior(strings.Split(params, ";"))
		if err != nil {
			s.Failf(line, "prior %s: %v", typ, err)
		}
		return q
	}
	switch typ {
	case "uniform":
		return Prior{typ, p.Lower, p.Upper}
	case "parameterScaleUniform":
		return Prior{typ, p.Scale.of(p.Lower), p.Scale.of(p.Upper)}
	}
	s.Failf(line, "prior %s without parameters: want %s", typ, f.form)
	return Prior{}
}

// A scalePrior is a parameter θ for which g(θ), g converting to the scale `On`, is
// distributed as `Of`, truncated to Min ≤ θ ≤ Max: log p(θ) = log q(g(θ)) + log g′(θ) −
// log(Q(g(Max)) − Q(g(Min))).
type scalePrior struct {
	Of       cumulative
	On       Scale
	Min, Max float64 // ±Inf if it is not truncated; ≥ 0 for Log and Log10
}

func newScalePrior(q *Parameter) (scalePrior, error) {
	d := scalePrior{On: q.Scale, Min: q.Lower, Max: q.Upper}
	if math.IsNaN(d.Min) {
		d.Min = math.Inf(-1)
	}
	if math.IsNaN(d.Max) {
		d.Max = math.Inf(1)
	}
	if q.Prior.Type == "" {
		if math.IsInf(d.Min, 0) || math.IsInf(d.Max, 0) || q.Scale != Lin && !(d.Min > 0) {
			return d, fmt.Errorf("parameter %s has no prior, and its bounds do not define a uniform prior: give a prior, or finite bounds (positive if the scale is logarithmic)", text.Clip(q.ID))
		}
		d.Of = distuv.Uniform{Min: q.Scale.of(d.Min), Max: q.Scale.of(d.Max)}
	} else {
		f := familyNamed(q.Prior.Type)
		if f.name == "" {
			return d, fmt.Errorf("parameter %s: prior %s is not known", text.Clip(q.ID), text.Clip(q.Prior.Type))
		}
		if d.Of = f.of(q.Prior.A, q.Prior.B); f.on != "" {
			d.On = f.on
		}
		d.Min = max(d.Min, f.min)
	}
	if d.On != Lin || q.Scale != Lin {
		d.Min = max(d.Min, 0)
	}
	if low, high := d.Quantile(0), d.Quantile(1); !(low < high) || !(d.mass() > 0) {
		return d, fmt.Errorf("the prior of parameter %s has no mass between the bounds %g and %g", text.Clip(q.ID), q.Lower, q.Upper)
	}
	return d, nil
}

// Distribution returns the prior of p, truncated at the bounds of p. If p has bounds but
// no prior, the distribution is uniform between the bounds on the scale of p. It is an
// error if p has neither a prior nor bounds.
func (p *Parameter) Distribution() (bayes.Distribution, error) {
	d, err := newScalePrior(p)
	if err != nil {
		return nil, err
	}
	return d.plain(), nil
}

// plain returns an equal distribution in a simpler form, if there is one.
func (d scalePrior) plain() bayes.Distribution {
	if n, is := d.Of.(distuv.Normal); is && d.On == Log && d.Min <= 0 && math.IsInf(d.Max, 1) {
		return distuv.LogNormal{Mu: n.Mu, Sigma: n.Sigma}
	}
	if d.On == Lin && d.Min <= d.Of.Quantile(0) && d.Max >= d.Of.Quantile(1) {
		return d.Of
	}
	return d
}

// laplace has the quantiles −∞ and +∞ for p = 0 and 1, unlike gonum's.
type laplace struct{ distuv.Laplace }

func (l laplace) Quantile(p float64) float64 {
	switch p {
	case 0:
		return math.Inf(-1)
	case 1:
		return math.Inf(1)
	}
	return l.Laplace.Quantile(p)
}

// cauchy is the distribution of Mu + Scale tan U for U uniform on (−π/2, π/2).
type cauchy struct{ Mu, Scale float64 }

func (c cauchy) LogProb(x float64) float64 {
	z := (x - c.Mu) / c.Scale
	return -math.Log(math.Pi*c.Scale) - math.Log1p(z*z)
}

func (c cauchy) CDF(x float64) float64 { return 0.5 + math.Atan((x-c.Mu)/c.Scale)/math.Pi }

func (c cauchy) Quantile(p float64) float64 {
	switch p {
	case 0:
		return math.Inf(-1)
	case 1:
		return math.Inf(1)
	}
	return c.Mu + c.Scale*math.Tan(math.Pi*(p-0.5))
}

func (d scalePrior) mass() float64 { return d.Of.CDF(d.On.of(d.Max)) - d.Of.CDF(d.On.of(d.Min)) }

func (d scalePrior) LogProb(x float64) float64 {
	if !(x >= d.Min && x <= d.Max) || d.On != Lin && !(x > 0) {
		return math.Inf(-1)
	}
	return d.Of.LogProb(d.On.of(x)) - math.Log(d.On.slope(x)) - math.Log(d.mass())
}

func (d scalePrior) Quantile(p float64) float64 {
	switch p {
	case 0:
		return max(d.Min, d.On.linear(d.Of.Quantile(0)))
	case 1:
		return min(d.Max, d.On.linear(d.Of.Quantile(1)))
	}
	a, b := d.Of.CDF(d.On.of(d.Min)), d.Of.CDF(d.On.of(d.Max))
	return min(max(d.On.linear(d.Of.Quantile(a+p*(b-a))), d.Min), d.Max)
}
