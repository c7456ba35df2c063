package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// A randomModel has the text of a model file, and what the quadrature needs.
type randomModel struct {
	family, text string
	params       []string
	quantiles    []func(u float64) float64 // of the priors
	logL         func(theta []float64) float64
}

// A draft is a random model in the making. All quantities have scales that follow from a
// length of the span and a size of the states.
type draft struct {
	randomModel
	rng              *rand.Rand
	span, scale      float64
	parameters, odes strings.Builder
	further          string // events and doses
	formula          string // of the observable
	positive         bool   // the observable
	even             bool   // the times of the data
	nominal, truth   []float64
	expect           func(dst, times, theta []float64)
}

// A quantity is a parameter or a number.
type quantity struct {
	text string
	of   func(theta []float64) float64
}

func round(x float64) float64 {
	x, _ = strconv.ParseFloat(fmt.Sprintf("%.4g", x), 64)
	return x
}

// between returns 10 to a random power.
func (g *draft) between(from, to float64) float64 {
	return round(math.Pow(10, from+(to-from)*g.rng.Float64()))
}

func number(x float64) quantity {
	return quantity{fmt.Sprintf("%.4g", x), func([]float64) float64 { return round(x) }}
}

// add adds a parameter with a prior. Finite bounds cut it off.
func (g *draft) add(id, prior, scale string, lower, upper float64, quantile func(u float64) float64) quantity {
	i := len(g.params)
	from, to := 0., 1.
	if lower > math.Inf(-1) {
		from = probability(quantile, lower)
		prior += fmt.Sprintf(", lowerBound: %g", lower)
	}
	if upper < math.Inf(1) {
		to = probability(quantile, upper)
		prior += fmt.Sprintf(", upperBound: %g", upper)
	}
	cut := func(u float64) float64 { return min(max(quantile(from+u*(to-from)), lower), upper) }
	nominal := cut(0.2 + 0.6*g.rng.Float64())
	g.params, g.quantiles, g.nominal = append(g.params, id), append(g.quantiles, cut), append(g.nominal, nominal)
	fmt.Fprintf(&g.parameters, "  - {parameterId: %s, nominalValue: %.6g, parameterScale: %s, %s}\n", id, nominal, scale, strings.TrimPrefix(prior, ", "))
	return quantity{id, func(theta []float64) float64 { return theta[i] }}
}

// probability returns the u with the quantile x.
func probability(quantile func(u float64) float64, x float64) float64 {
	lo, hi := 0., 1.
	for range 200 {
		if u := (lo + hi) / 2; quantile(u) < x {
			lo = u
		} else {
			hi = u
		}
	}
	return hi
}

func prior(kind string, numbers ...float64) string {
	return ", objectivePriorType: " + kind + ", objectivePriorParameters: " + strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ";"), "[]")
}

func laplaceQuantile(u float64) float64 {
	if u < 0.5 {
		return math.Log(2 * u)
	}
	return -math.Log(2 - 2*u)
}

func cauchyQuantile(u float64) float64 { return math.Tan(math.Pi * (u - 0.5)) }

// gammaQuantile returns the quantiles for the rate 1, by cubic interpolation of their
// logarithms in a table, because the inverse of the incomplete gamma function is slow.
func gammaQuantile(shape float64) func(u float64) float64 {
	const end, steps = 8.25, 64
	var table []float64
	for i := range int(2*end*steps) + 1 {
		u := distuv.UnitNormal.CDF(float64(i)/steps - end)
		if v := math.Log(u) + math.Log(math.Gamma(shape+1)); v/shape < -20 { // the first term of the series
			table = append(table, v/shape)
		} else {
			table = append(table, math.Log(mathext.GammaIncRegCompInv(shape, distuv.UnitNormal.CDF(end-float64(i)/steps))))
		}
	}
	return func(u float64) float64 {
		x := (min(max(distuv.UnitNormal.Quantile(u), -end), end) + end) * steps
		i := min(max(int(x), 1), len(table)-3)
		x -= float64(i)
		return math.Exp(-x*(x-1)*(x-2)/6*table[i-1] + (x+1)*(x-1)*(x-2)/2*table[i] - (x+1)*x*(x-2)/2*table[i+1] + (x+1)*x*(x-1)/6*table[i+2])
	}
}

// rate adds a positive parameter of about the given size, at most the given limit.
func (g *draft) rate(id string, size, limit float64) quantity {
	c := g.between(math.Log10(size)-0.4, math.Log10(size)+0.4)
	s, none := g.between(-0.5, 0.4), math.Inf(-1)
	gamma := gammaQuantile(s)
	switch g.rng.IntN(12) {
	case 0: // without a prior, uniform between the bounds
		to := round(min(limit, c*g.between(0.3, 2)))
		return g.add(id, "", "lin", 0, to, func(u float64) float64 { return u * to })
	case 1, 2:
		from, to := round(c/g.between(0.5, 4)), round(min(limit, c*g.between(0.5, 4)))
		return g.add(id, "", "log10", from, to, func(u float64) float64 { return math.Exp(math.Log(from) + u*math.Log(to/from)) })
	case 3:
		return g.add(id, prior("logNormal", round(math.Log(c)), s), "log", none, limit, func(u float64) float64 { return math.Exp(round(math.Log(c)) + s*distuv.UnitNormal.Quantile(u)) })
	case 4:
		return g.add(id, prior("halfCauchy", c), "lin", none, limit, func(u float64) float64 { return c * math.Tan(math.Pi*u/2) })
	case 5:
		return g.add(id, prior("halfNormal", c), "lin", none, limit, func(u float64) float64 { return c * math.Sqrt2 * math.Erfinv(u) })
	case 6:
		rate := round(1 / c)
		return g.add(id, prior("exponential", rate), "lin", none, limit, func(u float64) float64 { return -math.Log1p(-u) / rate })
	case 7:
		rate := round(s / c)
		return g.add(id, prior("gamma", s, rate), "lin", none, limit, func(u float64) float64 { return gamma(u) / rate })
	case 8:
		return g.add(id, prior("inverseGamma", s, c), "lin", none, limit, func(u float64) float64 { return c / gamma(1-u) })
	case 9:
		return g.add(id, prior("normal", c, c), "lin", 0, min(limit, 4*c), func(u float64) float64 { return c + c*distuv.UnitNormal.Quantile(u) })
	case 10:
		return g.add(id, prior("cauchy", c, c), "lin", 0, limit, func(u float64) float64 { return c + c*cauchyQuantile(u) })
	default:
		return g.add(id, prior("logLaplace", round(math.Log(c)), s), "log", none, limit, func(u float64) float64 { return math.Exp(round(math.Log(c)) + s*laplaceQuantile(u)) })
	}
}

// signed adds a parameter of either sign.
func (g *draft) signed(id string, size float64) quantity {
	c, none, all := g.between(math.Log10(size)-0.3, math.Log10(size)+0.5), math.Inf(-1), math.Inf(1)
	switch g.rng.IntN(4) {
	case 0:
		return g.add(id, "", "lin", -c, 2*c, func(u float64) float64 { return c * (3*u - 1) })
	case 1:
		return g.add(id, prior("normal", 0, c), "lin", none, all, func(u float64) float64 { return c * distuv.UnitNormal.Quantile(u) })
	case 2:
		return g.add(id, prior("laplace", 0, c), "lin", none, all, func(u float64) float64 { return c * laplaceQuantile(u) })
	default:
		return g.add(id, prior("cauchy", 0, c), "lin", none, all, func(u float64) float64 { return c * cauchyQuantile(u) })
	}
}

// part adds a parameter that is uniform in an interval.
func (g *draft) part(id string, from, to float64) quantity {
	from, to = round(from), round(to)
	return g.add(id, "", "lin", from, to, func(u float64) float64 { return from + u*(to-from) })
}

// some is a rate, or a number, always if there are three parameters.
func (g *draft) some(id string, size, limit float64) quantity {
	if len(g.params) == 3 || g.rng.IntN(2) == 0 {
		return number(g.between(math.Log10(size)-0.3, math.Log10(size)+0.3))
	}
	return g.rate(id, size, limit)
}

func (g *draft) ode(id, rhs string, start quantity) {
	fmt.Fprintf(&g.odes, "  - {stateId: %s, rightHandSide: \"%s\", initialValue: %s}\n", id, rhs, start.text)
}

// at sets the expected values from a closed form.
func (g *draft) at(f func(t float64, theta []float64) float64) {
	g.expect = func(dst, times, theta []float64) {
		for i, t := range times {
			dst[i] = f(t, theta)
		}
	}
}

// numeric sets the expected values from the first state, by RK4 with extrapolation. The
// number of steps is doubled until the extrapolated values at the data agree to 10⁻⁵.
func (g *draft) numeric(start func(theta []float64) []float64, f func(dst, x, theta []float64)) {
	g.expect = func(dst, times, theta []float64) {
		last, x := make([]float64, len(times)), start(theta)
		y, k := make([]float64, len(x)), [4][]float64{}
		for j := range k {
			k[j] = make([]float64, len(x))
		}
		for n := 32; n <= 1<<17; n *= 2 {
			x = start(theta)
			from, agree := 0., true
			for i, t := range times {
				steps := math.Ceil((t - from) / times[len(times)-1] * float64(n))
				h := (t - from) / steps
				for range int(steps) {
					for j, c := range [4]float64{0, 0.5, 0.5, 1} {
						for m := range y {
							y[m] = x[m]
							if j > 0 {
								y[m] += c * h * k[j-1][m]
							}
						}
						f(k[j], y, theta)
					}
					for m := range x {
						x[m] += h / 6 * (k[0][m] + 2*k[1][m] + 2*k[2][m] + k[3][m])
					}
				}
				better := x[0] + (x[0]-last[i])/15
				agree = agree && math.Abs(better-dst[i]) < 1e-5*(math.Abs(better)+1e-3)
				from, dst[i], last[i] = t, better, x[0]
			}
			if agree {
				return
			}
		}
		dst[0] = math.NaN()
	}
}

// inflow returns the solution of x′ = a − kx from 0.
func inflow(a, k, t float64) float64 {
	if k*t < 1e-300 {
		return a * t
	}
	return -a * math.Expm1(-k*t) / k
}

// second returns the solution of x′ = e^(−at) − bx from 0.
func second(a, b, t float64) float64 {
	return math.Exp(-min(a, b)*t) * inflow(1, math.Abs(a-b), t)
}

var families = []struct {
	name string
	make func(g *draft)
}{
	{"decay", func(g *draft) {
		k, x0 := g.rate("k", 3/g.span, math.Inf(1)), g.some("x0", g.scale, math.Inf(1))
		g.ode("x", "-k * x", x0)
		g.positive = true
		g.at(func(t float64, p []float64) float64 { return x0.of(p) * math.Exp(-k.of(p)*t) })
	}},
	{"inflow", func(g *draft) {
		k, a, x0 := g.rate("k", 3/g.span, math.Inf(1)), g.rate("a", 3*g.scale/g.span, math.Inf(1)), g.some("x0", g.scale, math.Inf(1))
		g.ode("x", "a - k * x", x0)
		g.positive, g.even = true, true
		g.at(func(t float64, p []float64) float64 {
			return x0.of(p)*math.Exp(-k.of(p)*t) + inflow(a.of(p), k.of(p), t)
		})
	}},
	{"growth", func(g *draft) {
		k, x0 := g.signed("k", 3/g.span), g.some("x0", g.scale, math.Inf(1))
		g.ode("x", "k * x", x0)
		g.positive = true
		g.at(func(t float64, p []float64) float64 { return x0.of(p) * math.Exp(k.of(p)*t) })
	}},
	{"logistic", func(g *draft) {
		r, c, x0 := g.rate("r", 5/g.span, math.Inf(1)), g.rate("c", 3*g.scale, math.Inf(1)), g.some("x0", g.scale/10, math.Inf(1))
		g.ode("x", "r * x * (1 - x / c)", x0)
		g.positive = true
		g.at(func(t float64, p []float64) float64 {
			e := math.Exp(-r.of(p) * t)
			return 1 / (e/x0.of(p) - math.Expm1(-r.of(p)*t)/c.of(p))
		})
	}},
	{"pole", func(g *draft) {
		k, x0 := g.rate("k", 0.3/g.scale/g.span, math.Inf(1)), g.some("x0", g.scale, math.Inf(1))
		g.ode("x", "k * x^2", x0)
		g.positive = true
		g.at(func(t float64, p []float64) float64 {
			if c := 1/x0.of(p) - k.of(p)*t; c > 0 {
				return 1 / c
			}
			return math.NaN()
		})
	}},
	{"pitchfork", func(g *draft) {
		a, b, x0 := g.rate("a", 3/g.span, math.Inf(1)), g.some("b", 3/g.span/g.scale/g.scale, math.Inf(1)), g.signed("x0", g.scale/3)
		g.ode("x", "a * x - "+b.text+" * x^3", x0)
		g.at(func(t float64, p []float64) float64 {
			x := x0.of(p)
			return math.Copysign(1/math.Sqrt(math.Exp(-2*a.of(p)*t)/(x*x)-math.Expm1(-2*a.of(p)*t)*b.of(p)/a.of(p)), x)
		})
	}},
	{"tablet", func(g *draft) {
		a, e, v := g.rate("ka", 5/g.span, math.Inf(1)), g.rate("ke", 3/g.span, math.Inf(1)), g.some("v", 3, math.Inf(1))
		dose := number(g.scale)
		g.ode("gut", "-ka * gut", dose)
		g.ode("blood", "ka * gut - ke * blood", number(0))
		g.formula, g.positive = "blood / "+v.text, true
		g.at(func(t float64, p []float64) float64 {
			return dose.of(p) * a.of(p) * second(a.of(p), e.of(p), t) / v.of(p)
		})
	}},
	{"doses", func(g *draft) {
		a, e, v := g.rate("ka", 20/g.span, math.Inf(1)), g.rate("ke", 5/g.span, math.Inf(1)), g.some("v", 3, math.Inf(1))
		dose, every, count := number(g.scale), number(g.span/4.3), 3
		g.ode("gut", "-ka * gut", number(0))
		g.ode("blood", "ka * gut - ke * blood", number(0))
		g.further = fmt.Sprintf("doses:\n  - {doseId: d, state: gut, amount: %s, time: 0, every: %s, count: %d}\n", dose.text, every.text, count)
		g.formula, g.positive = "blood / "+v.text, true
		g.at(func(t float64, p []float64) (x float64) {
			for i := range count {
				if s := t - every.of(p)*float64(i); s > 0 {
					x += dose.of(p) * a.of(p) * second(a.of(p), e.of(p), s) / v.of(p)
				}
			}
			return x
		})
	}},
	{"compartments", func(g *draft) {
		e, a, b := g.rate("e", 2/g.span, math.Inf(1)), g.rate("a", 5/g.span, math.Inf(1)), g.some("b", 5/g.span, math.Inf(1))
		dose := number(g.scale)
		g.ode("x", "-(e + a) * x + "+b.text+" * y", dose)
		g.ode("y", "a * x - "+b.text+" * y", number(0))
		g.positive = true
		g.at(func(t float64, p []float64) float64 {
			b := b.of(p)
			sum, product := e.of(p)+a.of(p)+b, e.of(p)*b
			fast := (sum + math.Sqrt(sum*sum-4*product)) / 2
			slow := product / fast
			return dose.of(p) * ((fast-b)*math.Exp(-fast*t) + (b-slow)*math.Exp(-slow*t)) / (fast - slow)
		})
	}},
	{"chain", func(g *draft) {
		k := []quantity{g.rate("k1", 5/g.span, math.Inf(1)), g.rate("k2", 5/g.span, math.Inf(1)), g.some("k3", 5/g.span, math.Inf(1))}
		start := number(g.scale)
		g.ode("x", "-k1 * x", start)
		g.ode("y", "k1 * x - k2 * y", number(0))
		g.ode("z", "k2 * y - "+k[2].text+" * z", number(0))
		g.formula = "z"
		g.at(func(t float64, p []float64) (x float64) {
			v := []float64{k[0].of(p), k[1].of(p) * (1 + 1e-6), k[2].of(p) * (1 - 1e-6)} // not equal
			for i := range v {
				term := math.Exp(-v[i] * t)
				for j := range v {
					if j != i {
						term /= v[j] - v[i]
					}
				}
				x += start.of(p) * v[0] * v[1] * term
			}
			return x
		})
	}},
	{"oscillator", func(g *draft) {
		w, c, x0 := g.rate("w", 30/g.span, 400/g.span), g.some("c", 1/g.span, math.Inf(1)), number(g.scale)
		g.ode("x", "v", x0)
		g.ode("v", "-w^2 * x - 2 * "+c.text+" * v", number(0))
		g.even = true
		g.at(func(t float64, p []float64) float64 {
			w, c := w.of(p), c.of(p)
			if s := math.Sqrt(w*w - c*c); w > c {
				return x0.of(p) * math.Exp(-c*t) * (math.Cos(s*t) + c/s*math.Sin(s*t))
			}
			fast := c + math.Sqrt(c*c-w*w)
			slow := w * w / fast
			return x0.of(p) * (fast*math.Exp(-slow*t) - slow*math.Exp(-fast*t)) / (fast - slow)
		})
	}},
	{"forced", func(g *draft) {
		k, a, w := g.rate("k", g.between(0, 4)/g.span, math.Inf(1)), g.some("a", g.scale, math.Inf(1)), g.some("w", 6/g.span, 100/g.span)
		g.ode("x", "k * ("+a.text+" * cos("+w.text+" * time) - x)", number(0))
		g.at(func(t float64, p []float64) float64 {
			r := w.of(p) / k.of(p)
			return a.of(p) * (math.Cos(w.of(p)*t) + r*math.Sin(w.of(p)*t) - math.Exp(-k.of(p)*t)) / (1 + r*r)
		})
	}},
	{"pulse", func(g *draft) {
		k, a, s, w := g.rate("k", 3/g.span, math.Inf(1)), g.rate("a", 10*g.scale/g.span, math.Inf(1)), g.part("s", 0, g.span), number(g.span/g.between(0.7, 2.3))
		g.ode("x", fmt.Sprintf("a * exp(-((time - s) / %s)^2) - k * x", w.text), number(0))
		g.at(func(t float64, p []float64) (x float64) {
			k, s, w := k.of(p), s.of(p), w.of(p)
			if t < s-6*w {
				return 0
			}
			if k*w > 4 { // the pulse changes little within 1/k
				from, to := max(0, s-6*w, t-40/k), min(t, s+6*w)
				if from >= to { // the pulse is over, and forgotten
					return 0
				}
				const panels = 4
				for i := range panels {
					h := (to - from) / panels
					x += quad.Fixed(func(u float64) float64 {
						return math.Exp(-(u-s)*(u-s)/(w*w) - k*(t-u))
					}, from+h*float64(i), from+h*float64(i+1), 16, quad.Legendre{}, 0)
				}
				return a.of(p) * max(0, x)
			}
			from, to := s/w+k*w/2, (s-t)/w+k*w/2
			return a.of(p) * w * math.Sqrt(math.Pi) / 2 * math.Exp(k*(s-t)+k*k*w*w/4) * (math.Erfc(to) - math.Erfc(from))
		})
	}},
	{"switch", func(g *draft) {
		k, a, b, at := g.some("k", 5/g.span, math.Inf(1)), g.rate("a", 5*g.scale/g.span, math.Inf(1)), g.some("b", g.scale/g.span, math.Inf(1)), g.rate("at", g.span/2, math.Inf(1))
		g.ode("x", fmt.Sprintf("piecewise(a, time < at, %s) - %s * x", b.text, k.text), number(0))
		g.positive = true
		g.at(func(t float64, p []float64) float64 {
			at, k := min(t, at.of(p)), k.of(p)
			return inflow(a.of(p), k, at)*math.Exp(-k*(t-at)) + inflow(b.of(p), k, t-at)
		})
	}},
	{"late dose", func(g *draft) {
		k, d, at, x0 := g.rate("k", 3/g.span, math.Inf(1)), g.some("d", g.scale, math.Inf(1)), g.rate("at", g.span/2, math.Inf(1)), number(g.scale/2)
		g.ode("x", "-k * x", x0)
		g.further = fmt.Sprintf("doses:\n  - {doseId: d1, state: x, amount: %s, time: at}\n", d.text)
		g.positive = true
		g.at(func(t float64, p []float64) float64 {
			x := x0.of(p) * math.Exp(-k.of(p)*t)
			if at := at.of(p); at <= t {
				x += d.of(p) * math.Exp(-k.of(p)*(t-at))
			}
			return x
		})
	}},
	{"infusion", func(g *draft) {
		k, l, v := g.rate("k", 4/g.span, math.Inf(1)), g.rate("l", g.span/3, math.Inf(1)), g.some("v", 3, math.Inf(1))
		dose := number(g.scale)
		g.ode("x", "-k * x", number(0))
		g.further = fmt.Sprintf("doses:\n  - {doseId: d, state: x, amount: %s, time: 0, duration: l}\n", dose.text)
		g.formula, g.positive = "x / "+v.text, true
		g.at(func(t float64, p []float64) float64 {
			end := min(t, l.of(p))
			return inflow(dose.of(p)/l.of(p), k.of(p), end) * math.Exp(-k.of(p)*(t-end)) / v.of(p)
		})
	}},
	{"refill", func(g *draft) {
		k, c, d, x0 := g.rate("k", 5/g.span, 60/g.span), g.part("c", 0.1*g.scale, 0.9*g.scale), number(0.5*g.scale), number(g.scale)
		g.ode("x", "-k * x", x0)
		g.further = fmt.Sprintf("events:\n  - {eventId: refill, trigger: x < c, assignments: {x: x + %s}}\n", d.text)
		g.positive = true
		g.at(func(t float64, p []float64) float64 {
			k, c, d, x0 := k.of(p), c.of(p), d.of(p), x0.of(p)
			first, period := math.Log(x0/c)/k, math.Log1p(d/c)/k
			if t < first {
				return x0 * math.Exp(-k*t)
			}
			t -= first
			return (c + d) * math.Exp(-k*(t-period*math.Floor(t/period)))
		})
	}},
	{"ramp", func(g *draft) {
		a, b, c := g.rate("a", 3*g.scale/g.span, math.Inf(1)), g.some("b", 0.3*g.scale/g.span, math.Inf(1)), g.rate("c", g.scale, math.Inf(1))
		g.ode("x", fmt.Sprintf("piecewise(a, x < c, %s)", b.text), number(0))
		g.positive = true
		g.at(func(t float64, p []float64) float64 {
			if a, c := a.of(p), c.of(p); a*t > c {
				return c + b.of(p)*(t-c/a)
			}
			return a.of(p) * t
		})
	}},
	{"enzyme", func(g *draft) {
		v, k, x0 := g.rate("v", 2*g.scale/g.span, math.Inf(1)), g.rate("k", g.scale*g.between(-4, 0), math.Inf(1)), number(g.scale)
		g.ode("x", "-v * x / (k + x)", x0)
		g.at(func(t float64, p []float64) float64 {
			// With l = log(x/x0), k l + x0 expm1(l) = −v t; Newton's method for a convex function.
			k, x0, vt := k.of(p), x0.of(p), v.of(p)*t
			l := 0.0
			for range 200 {
				step := (k*l + x0*math.Expm1(l) + vt) / (k + x0*math.Exp(l))
				if l -= step; math.Abs(step) <= 1e-13*math.Abs(l) {
					break
				}
			}
			return x0 * math.Exp(l)
		})
	}},
	{"power", func(g *draft) {
		k, m, x0 := g.rate("k", 3/g.span, math.Inf(1)), g.part("m", 1, 4), g.some("x0", 1, math.Inf(1))
		g.ode("x", "-k * x^m", x0)
		g.positive = true
		g.at(func(t float64, p []float64) float64 {
			q := m.of(p) - 1
			return x0.of(p) * math.Exp(-math.Log1p(q*k.of(p)*math.Pow(x0.of(p), q)*t)/q)
		})
	}},
	{"alike", func(g *draft) {
		x0 := g.some("x0", g.scale, math.Inf(1))
		var rate func(p []float64) float64
		switch g.rng.IntN(3) {
		case 0:
			a, b := g.rate("a", 2/g.span, math.Inf(1)), g.rate("b", 1, math.Inf(1))
			g.ode("x", "-a * b * x", x0)
			rate = func(p []float64) float64 { return a.of(p) * b.of(p) }
		case 1:
			a, b := g.rate("a", 2/g.span, math.Inf(1)), g.rate("b", 2/g.span, math.Inf(1))
			g.ode("x", "-(a + b) * x", x0)
			rate = func(p []float64) float64 { return a.of(p) + b.of(p) }
		default:
			a := g.signed("a", math.Sqrt(3/g.span))
			g.ode("x", "-a^2 * x", x0)
			rate = func(p []float64) float64 { return a.of(p) * a.of(p) }
		}
		g.positive = true
		g.at(func(t float64, p []float64) float64 { return x0.of(p) * math.Exp(-rate(p)*t) })
	}},
	{"seasons", func(g *draft) {
		k, w, x0 := g.rate("k", 2/g.span, math.Inf(1)), g.rate("w", 30/g.span, 200/g.span), g.some("x0", g.scale, math.Inf(1))
		g.ode("x", "-k * (1 + sin(w * time)) * x", x0)
		g.positive, g.even = true, true
		g.at(func(t float64, p []float64) float64 {
			half := math.Sin(w.of(p) * t / 2)
			return x0.of(p) * math.Exp(-k.of(p)*(t+2*half*half/w.of(p)))
		})
	}},
	{"gompertz", func(g *draft) {
		r, c, x0 := g.rate("r", 5/g.span, math.Inf(1)), g.rate("c", 3*g.scale, math.Inf(1)), g.some("x0", g.scale/10, math.Inf(1))
		g.ode("x", "r * x * ln(c / x)", x0)
		g.positive = true
		g.at(func(t float64, p []float64) float64 {
			return c.of(p) * math.Exp(math.Log(x0.of(p)/c.of(p))*math.Exp(-r.of(p)*t))
		})
	}},
	{"predator", func(g *draft) {
		a, b, c := g.rate("a", 10/g.span, 40/g.span), g.rate("b", 5/g.span, 20/g.span), g.some("c", 10/g.span, 40/g.span)
		g.ode("x", "a * x - b * x * y", number(1))
		g.ode("y", "b * x * y - "+c.text+" * y", number(1))
		g.numeric(func([]float64) []float64 { return []float64{1, 1} }, func(dst, x, p []float64) {
			meet := b.of(p) * x[0] * x[1]
			dst[0], dst[1] = a.of(p)*x[0]-meet, meet-c.of(p)*x[1]
		})
	}},
	{"epidemic", func(g *draft) {
		b, c, first := g.rate("b", 15/g.span, 200/g.span), g.rate("c", 5/g.span, 200/g.span), g.some("first", 1e-3, 0.5)
		g.ode("i", "b * s * i - c * i", first)
		g.ode("s", "-b * s * i", number(1))
		g.positive = true
		g.numeric(func(p []float64) []float64 { return []float64{first.of(p), 1} }, func(dst, x, p []float64) {
			dst[1] = -b.of(p) * x[0] * x[1]
			dst[0] = -dst[1] - c.of(p)*x[0]
		})
	}},
	{"relaxation", func(g *draft) {
		g.span = 20
		mu, x0 := g.rate("mu", g.between(0, 1.5), 100), g.signed("x0", 1)
		g.ode("x", "v", x0)
		g.ode("v", "mu * (1 - x^2) * v - x", number(0.1))
		g.numeric(func(p []float64) []float64 { return []float64{x0.of(p), 0.1} }, func(dst, x, p []float64) {
			dst[0], dst[1] = x[1], mu.of(p)*(1-x[0]*x[0])*x[1]-x[0]
		})
	}},
	{"toggle", func(g *draft) {
		g.span = 10
		a, x0, y0 := g.rate("a", 5, 100), g.rate("x0", 1, 50), number(g.between(-0.5, 0.5))
		g.ode("x", "a / (1 + y^2) - x", x0)
		g.ode("y", "a / (1 + x^2) - y", y0)
		g.positive = true
		g.numeric(func(p []float64) []float64 { return []float64{x0.of(p), y0.of(p)} }, func(dst, x, p []float64) {
			dst[0], dst[1] = a.of(p)/(1+x[1]*x[1])-x[0], a.of(p)/(1+x[0]*x[0])-x[1]
		})
	}},
	{"saturation", func(g *draft) {
		a, b := g.rate("a", 3*g.scale/g.span, math.Inf(1)), g.rate("b", 3/g.scale/g.span, math.Inf(1))
		g.ode("x", "a - b * x^2", number(0))
		g.positive = true
		g.at(func(t float64, p []float64) float64 {
			return math.Sqrt(a.of(p)/b.of(p)) * math.Tanh(math.Sqrt(a.of(p))*math.Sqrt(b.of(p))*t)
		})
	}},
	{"fast and slow", func(g *draft) {
		k, l, x0 := g.rate("k", 2/g.span, math.Inf(1)), g.rate("l", g.between(0, 6)/g.span, math.Inf(1)), g.some("x0", 1, math.Inf(1))
		g.ode("x", "-k * x", x0)
		g.ode("y", "l * (x^2 - y)", number(0))
		g.formula, g.positive = "y", true
		g.at(func(t float64, p []float64) float64 {
			return x0.of(p) * x0.of(p) * l.of(p) * second(l.of(p), 2*k.of(p), t)
		})
	}},
	{"bounces", func(g *draft) {
		most := 30 * g.scale / (g.span * g.span)
		a, e, h := g.part("a", 0.05*most, most), g.part("e", 0.6, 1), number(g.scale)
		g.ode("h", "v", h)
		g.ode("v", "-a", number(0))
		g.further = "events:\n  - {eventId: bounce, trigger: h < 0, assignments: {v: -e * v}}\n"
		g.at(func(t float64, p []float64) float64 {
			a, e := a.of(p), e.of(p)
			v := math.Sqrt(2 * h.of(p) * a)
			t -= v / a
			if t < 0 {
				return h.of(p) - a*(t+v/a)*(t+v/a)/2
			}
			for v *= e; t > 2*v/a; v *= e {
				t -= 2 * v / a
			}
			return v*t - a*t*t/2
		})
	}},
}

// newRandomModel returns model number i, which belongs to family i mod 30.
func newRandomModel(i int) *randomModel {
	rng := rand.New(rand.NewPCG(uint64(i), 7))
	for {
		f := families[i%len(families)]
		g := &draft{rng: rng, randomModel: randomModel{family: f.name}}
		g.span = []float64{1, 5, 10, 24, 100}[rng.IntN(5)]
		g.scale = g.between(-2, 3)
		f.make(g)
		if g.observe() {
			return &g.randomModel
		}
	}
}

// observe makes data at true parameters that are draws from the priors, and reports false
// if there is no solution or if it is out of all proportion.
func (g *draft) observe() bool {
	n := []int{1 + g.rng.IntN(3), 4 + g.rng.IntN(7), 11 + g.rng.IntN(30)}[g.rng.IntN(3)]
	times := make([]float64, n)
	even, early := g.even && g.rng.IntN(3) > 0, g.rng.IntN(3) == 0
	for i := range times {
		switch u := g.rng.Float64(); {
		case even:
			times[i] = g.span * float64(i+1) / float64(n)
		case early:
			times[i] = g.span * math.Pow(10, -2*u)
		default:
			times[i] = g.span * u
		}
		times[i] = max(round(times[i]), g.span/1000)
	}
	slices.Sort(times)
	for _, quantile := range g.quantiles {
		g.truth = append(g.truth, quantile(0.1+0.8*g.rng.Float64()))
	}
	mean, size := make([]float64, n), 0.0
	for _, theta := range [][]float64{g.nominal, g.truth} {
		if g.expect(mean, times, theta); floats.HasNaN(mean) {
			return false
		}
	}
	for _, m := range mean {
		size = max(size, math.Abs(m))
		if m-m != 0 || math.Abs(m) > 1e9 {
			return false
		}
	}
	if size < 1e-6*min(g.scale, 1) {
		return false
	}
	formula := g.formula
	if formula == "" {
		formula = strings.TrimSuffix(strings.Fields(g.odes.String())[2], ",") // the first state
	}
	unknown := len(g.params) < 4 && g.rng.IntN(3) == 0
	spread := func(size float64) quantity {
		if unknown {
			return g.rate("sd", size, math.Inf(1))
		}
		return number(size)
	}
	var logs func(y, m float64, s float64) float64
	var draw func(m float64, s float64) float64
	var s quantity
	gauss := func(y, m, s float64) float64 { return -(y-m)*(y-m)/(2*s*s) - math.Log(s) }
	more, transformed, factor := "", "lin", 1.0
	noise := ""
	kind := g.rng.IntN(9)
	if !g.positive {
		kind = min(kind, 5)
	}
	switch kind {
	case 0, 1, 2:
		s, logs = spread(size*g.between(-2.3, -0.2)), gauss
		draw = func(m, s float64) float64 { return m + s*g.rng.NormFloat64() }
	case 3:
		s, more = spread(size*g.between(-2, -0.5)), ", noiseDistribution: laplace"
		logs = func(y, m, s float64) float64 { return -math.Abs(y-m)/s - math.Log(s) }
		draw = func(m, s float64) float64 { return m + s*laplaceQuantile(g.rng.Float64()) }
	case 4:
		s, more = spread(size*g.between(-2, -0.5)), ", noiseDistribution: student, degreesOfFreedom: 3"
		logs = func(y, m, s float64) float64 { z := (y - m) / s; return -2*math.Log1p(z*z/3) - math.Log(s) }
		draw = func(m, s float64) float64 { return m + s*distuv.StudentsT{Sigma: 1, Nu: 3, Src: g.rng}.Rand() }
	case 5:
		limit := number(0.4 * size)
		s, more = spread(size*g.between(-2, -0.5)), ", lowerLimit: "+limit.text
		logs = func(y, m, s float64) float64 {
			if l := limit.of(nil); y <= l {
				return logNormalCDF((l - m) / s)
			}
			return gauss(y, m, s)
		}
		draw = func(m, s float64) float64 { return m + s*g.rng.NormFloat64() }
	case 6:
		s, transformed = spread(g.between(-2, 0)), "log"
		logs = func(y, m, s float64) float64 { return gauss(math.Log(y), math.Log(m), s) }
		draw = func(m, s float64) float64 { return m * math.Exp(s*g.rng.NormFloat64()) }
	case 7:
		floor := number(0.02 * size)
		s = spread(g.between(-2, -0.3))
		noise = floor.text + " + " + s.text + " * seen"
		logs = func(y, m, s float64) float64 { return gauss(y, m, floor.of(nil)+s*m) }
		draw = func(m, s float64) float64 { return m + (floor.of(nil)+s*m)*g.rng.NormFloat64() }
	default:
		factor, more = round(g.between(0.5, 2.5)/size), ", noiseDistribution: poisson"
		s, noise = number(1), "-"
		logs = func(y, m, _ float64) float64 {
			if m == 0 && y == 0 {
				return 0
			}
			return y*math.Log(m) - m
		}
		draw = func(m, _ float64) float64 { return distuv.Poisson{Lambda: m + 1e-300, Src: g.rng}.Rand() }
		formula = fmt.Sprintf("%g * (%s)", factor, formula)
	}
	if unknown && kind < 8 {
		g.truth = append(g.truth, g.quantiles[len(g.truth)](0.2+0.6*g.rng.Float64()))
	}
	switch noise {
	case "":
		more += ", noiseFormula: " + s.text
	case "-":
	default:
		more += ", noiseFormula: \"" + noise + "\""
	}
	values, table := make([]float64, n), "  time,seen\n"
	for i, t := range times {
		if values[i] = round(draw(factor*mean[i], s.of(g.truth))); values[i]-values[i] != 0 || transformed == "log" && !(values[i] > 0) {
			return false
		}
		table += fmt.Sprintf("  %g,%g\n", t, values[i])
	}
	g.logL = func(theta []float64) (sum float64) {
		m := make([]float64, n)
		g.expect(m, times, theta)
		for i, y := range values {
			sum += logs(y, factor*m[i], s.of(theta))
		}
		return sum
	}
	g.text = "name: " + g.family + "\nparameters:\n" + g.parameters.String() + "odes:\n" + g.odes.String() + g.further +
		fmt.Sprintf("observables:\n  - {observableId: seen, observableFormula: \"%s\", observableTransformation: %s%s}\ndata: |\n%s", formula, transformed, more, table)
	return true
}

func logNormalCDF(z float64) float64 {
	if z > -30 {
		return math.Log(math.Erfc(-z/math.Sqrt2) / 2)
	}
	return -z*z/2 - math.Log(-z*math.Sqrt(2*math.Pi)) - 1/(z*z)
}
