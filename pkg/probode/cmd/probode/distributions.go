package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode/bayes"
)

// Priors and errors of observation as they are typed: name(number, …).

// call reads name(arg, …). A name alone has no arguments.
func call(text string) (name string, args []string, ok bool) {
	name, rest, with := strings.Cut(strings.TrimSpace(text), "(")
	name = strings.ToLower(strings.TrimSpace(name))
	if !with {
		return name, nil, name != ""
	}
	rest, ok = strings.CutSuffix(strings.TrimSpace(rest), ")")
	if !ok || strings.ContainsAny(rest, "()") {
		return name, nil, false
	}
	for _, a := range strings.Split(rest, ",") {
		args = append(args, strings.TrimSpace(a))
	}
	return name, args, true
}

// A family of distributions on the command line: its name, its arguments, and what they must be.
type family struct {
	name, form string
	n          int
	make       func(a []float64) (bayes.Distribution, bool)
}

var families = []family{
	{"normal", "normal(mean,sd)", 2, func(a []float64) (bayes.Distribution, bool) {
		return distuv.Normal{Mu: a[0], Sigma: a[1]}, a[1] > 0
	}},
	{"positive", "positive(mean,sd)", 2, func(a []float64) (bayes.Distribution, bool) { return bayes.Positive(a[0], a[1]), a[1] > 0 }},
	{"halfnormal", "halfnormal(sd)", 1, func(a []float64) (bayes.Distribution, bool) { return bayes.HalfNormal(a[0]), a[0] > 0 }},
	{"lognormal", "lognormal(mean,sd)", 2, func(a []float64) (bayes.Distribution, bool) {
		return distuv.LogNormal{Mu: a[0], Sigma: a[1]}, a[1] > 0
	}},
	{"exponential", "exponential(rate)", 1, func(a []float64) (bayes.Distribution, bool) { return distuv.Exponential{Rate: a[0]}, a[0] > 0 }},
	{"gamma", "gamma(shape,rate)", 2, func(a []float64) (bayes.Distribution, bool) {
		return distuv.Gamma{Alpha: a[0], Beta: a[1]}, a[0] > 0 && a[1] > 0
	}},
	{"invgamma", "invgamma(shape,scale)", 2, func(a []float64) (bayes.Distribution, bool) {
		return distuv.InverseGamma{Alpha: a[0], Beta: a[1]}, a[0] > 0 && a[1] > 0
	}},
	{"beta", "beta(a,b)", 2, func(a []float64) (bayes.Distribution, bool) {
		return distuv.Beta{Alpha: a[0], Beta: a[1]}, a[0] > 0 && a[1] > 0
	}},
	{"uniform", "uniform(from,to)", 2, func(a []float64) (bayes.Distribution, bool) {
		return distuv.Uniform{Min: a[0], Max: a[1]}, a[0] < a[1]
	}},
}

// positiveFamilies are those of what cannot be negative. Some uniform ones are not
// among them.
var positiveFamilies = slices.DeleteFunc(slices.Clone(families), func(l family) bool { return l.name == "normal" })

// parsePrior reads a prior such as lognormal(0,1), which is one of families.
func parsePrior(text string, families []family) (bayes.Distribution, error) {
	var forms []string
	name, args, ok := call(text)
	for _, l := range families {
		forms = append(forms, l.form)
		if !ok || l.name != name {
			continue
		}
		values := make([]float64, len(args))
		for i, a := range args {
			v, err := strconv.ParseFloat(a, 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("%q is not a number: want %s", a, l.form)
			}
			values[i] = v
		}
		if len(args) != l.n {
			return nil, fmt.Errorf("%d numbers: want %s", len(args), l.form)
		}
		d, ok := l.make(values)
		if !ok {
			if name == "uniform" {
				return nil, fmt.Errorf("want %s with from < to", l.form)
			}
			return nil, fmt.Errorf("want %s with numbers > 0, but for a mean", l.form)
		}
		// With extreme numbers formulas overflow.
		if m := d.Quantile(0.5); math.IsInf(m, 0) || !(math.Abs(d.LogProb(m)) <= math.MaxFloat64) {
			return nil, fmt.Errorf("its median is %g and the log density there %g: want %s with numbers of an ordinary size", m, d.LogProb(m), l.form)
		}
		return d, nil
	}
	return nil, fmt.Errorf("want %s", strings.Join(forms, ", "))
}

// parseErrors reads the distributions of the columns and returns them with the names of
// their parameters.
func parseErrors(text string, columns int) (families []bayes.Likelihood, own []string, err error) {
	const want = "want gaussian(sd), lognormal(sd), student(nu,scale), poisson or negbin(phi)"
	forms := map[string]struct {
		n    int
		make func(v []bayes.Value) bayes.Likelihood
	}{
		"gaussian":  {1, func(v []bayes.Value) bayes.Likelihood { return bayes.Gaussian{Sigma: v[0]} }},
		"lognormal": {1, func(v []bayes.Value) bayes.Likelihood { return bayes.LogNormal{Sigma: v[0]} }},
		"student":   {2, func(v []bayes.Value) bayes.Likelihood { return bayes.StudentT{Nu: v[0], Sigma: v[1]} }},
		"poisson":   {0, func([]bayes.Value) bayes.Likelihood { return bayes.Poisson{} }},
		"negbin":    {1, func(v []bayes.Value) bayes.Likelihood { return bayes.NegativeBinomial{Phi: v[0]} }},
	}
	for _, one := range splitOutside(text) {
		name, args, ok := call(one)
		f, found := forms[name]
		if !ok || !found || len(args) != f.n {
			return nil, nil, fmt.Errorf("-errors %s: %s", one, want)
		}
		var values []bayes.Value
		for _, a := range args {
			v, err := strconv.ParseFloat(a, 64)
			switch {
			case err == nil && v > 0 && !math.IsInf(v, 1):
				values = append(values, bayes.Known(v))
			case err == nil || a == "":
				return nil, nil, fmt.Errorf("-errors %s: %q: want a number > 0 or the name of a parameter", one, a)
			default:
				values = append(values, bayes.Unknown(a))
				if !slices.Contains(own, a) {
					own = append(own, a)
				}
			}
		}
		families = append(families, f.make(values))
	}
	if len(families) != 1 && len(families) != columns {
		return nil, nil, fmt.Errorf("-errors %s: %d distributions for %d columns: want one for each, or one for all", text, len(families), columns)
	}
	return families, own, nil
}

// splitOutside splits at the commas that are not in brackets.
func splitOutside(text string) []string {
	var parts []string
	depth, from := 0, 0
	for i, r := range text {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, text[from:i])
				from = i + 1
			}
		}
	}
	return append(parts, text[from:])
}
