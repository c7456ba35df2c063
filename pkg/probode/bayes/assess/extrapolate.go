package assess

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"
)

// Posterior means and standard deviations tend to the accurate ones like h^p, with
// p the order of the method: the ladder of steps says where to. As in
// probabilistic Richardson extrapolation [Teymur et al. 2021; Oates et al. 2024]
// a number y(h) is taken for a Gaussian process
//
//	y(h) = a + h^p g(h),   cov(g(h), g(h′)) = v exp(−(h − h′)²/2ℓ²),
//
// seen with its Monte Carlo error s. The prior of a is flat, so that its
// distribution given the ladder is Gaussian; v and ℓ have a prior each and are
// averaged over a grid, which makes the tails heavier.

// An Extrapolated is a number for h → 0.
type Extrapolated struct {
	Value, SE float64

	// Order is the power of h that the three smallest steps show, and OrderSE its
	// Monte Carlo standard error; NaN where there are fewer, or where noise hides
	// it. It is −Inf where the numbers turn back, as no power of h does.
	Order, OrderSE float64
}

// Follows reports whether nothing speaks against the order of the method: what
// the ladder shows is within ½ and two standard errors of it, or lost in noise.
func (e Extrapolated) Follows(order int) bool {
	return math.IsNaN(e.Order) || math.Abs(e.Order-float64(order)) < 0.5+2*e.OrderSE
}

// observedOrder returns the q at which y = a + b h^q goes through the values at the
// three smallest steps, and its standard error.
func observedOrder(h, y, se []float64) (q, qse float64) {
	at := make([]int, len(h))
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(i, j int) int { return cmp.Compare(h[i], h[j]) })
	at = slices.CompactFunc(at, func(i, j int) bool { return math.Abs(h[i]-h[j]) <= 1e-9*h[i] })
	if len(at) < 3 {
		return math.NaN(), math.NaN()
	}
	fine, mid, top := at[0], at[1], at[2]
	// The signs and the ratio must be clear of the noise.
	near, far := y[mid]-y[fine], y[top]-y[mid]
	nearSE, farSE := math.Hypot(se[mid], se[fine]), math.Hypot(se[top], se[mid])
	if !(math.Abs(near) > 3*nearSE && math.Abs(far) > 3*farSE) {
		return math.NaN(), math.NaN()
	}
	if near*far < 0 {
		return math.Inf(-1), 0
	}
	solve := func(ratio float64) float64 {
		a, b := math.Log(h[top]/h[mid]), math.Log(h[mid]/h[fine])
		f := func(q float64) float64 { // (top^q − mid^q)/(mid^q − fine^q)
			if math.Abs(q) < 1e-9 {
				return a / b
			}
			return math.Expm1(q*a) / -math.Expm1(-q*b)
		}
		lo, hi := -20.0, 20.0
		for range 60 {
			if m := (lo + hi) / 2; f(m) < ratio {
				lo = m
			} else {
				hi = m
			}
		}
		return lo
	}
	ratio := far / near
	// The value in the middle is in both, which makes the ratio less certain.
	relative := math.Hypot(math.Hypot(se[top]/far, se[fine]/near), se[mid]*(1/far+1/near))
	up, down := solve(ratio*(1+relative)), solve(ratio*math.Max(1-relative, 1e-3))
	return solve(ratio), (up - down) / 2
}

// Extrapolate returns what y(h) tends to for h → 0, given y at several step sizes
// with their standard errors se and the order of the method. Fewer than two
// different steps give NaN. The standard error holds both the Monte Carlo error
// and what the ladder leaves open.
func Extrapolate(h, y, se []float64, order int) Extrapolated {
	nan := math.NaN()
	unknown := Extrapolated{nan, nan, nan, nan}
	n := len(h)
	if len(y) != n || len(se) != n || order < 1 {
		panic("assess: Extrapolate wants as many values and standard errors as step sizes, and an order ≥ 1")
	}
	top, low, spread := 0.0, math.Inf(1), 0.0
	for i := range h {
		if !(h[i] > 0) || math.IsNaN(y[i]) || math.IsInf(y[i], 0) || !(se[i] >= 0) || math.IsInf(se[i], 1) {
			return unknown
		}
		top, low = max(top, h[i]), min(low, h[i])
		for j := range i {
			spread = max(spread, math.Abs(y[i]-y[j]))
		}
		spread = max(spread, se[i])
	}
	if n < 2 || !(top > low*(1+1e-9)) {
		return unknown
	}
	if spread == 0 {
		return Extrapolated{y[0], 0, nan, nan}
	}
	// In units of the largest step and of the spread, which g has at the largest
	// step. The prior of log √v is flat from a tenth of that to a hundred times,
	// since an error that noise hides is still there, that of log ℓ from a third
	// of the largest step to a hundred of them: a smooth error.
	type term struct{ log, mean, variance float64 }
	var terms []term
	best := math.Inf(-1)
	for i := range 10 {
		amplitude := math.Pow(10, -1+float64(i)/3)
		for j := range 6 {
			length := math.Pow(10, -0.5+float64(j)/2)
			k := mat.NewSymDense(n, nil)
			for a := range n {
				for b := range a + 1 {
					d := (h[a] - h[b]) / top / length
					c := math.Pow(h[a]/top*h[b]/top, float64(order)) * amplitude * amplitude * math.Exp(-d*d/2)
					if a == b {
						s := se[a] / spread
						c += s*s + 1e-14
					}
					k.SetSym(a, b, c)
				}
			}
			var chol mat.Cholesky
			if !chol.Factorize(k) {
				continue
			}
			ones, v := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
			for a := range n {
				ones.SetVec(a, 1)
				v.SetVec(a, (y[a]-y[0])/spread)
			}
			var ko, kv mat.VecDense
			if chol.SolveVecTo(&ko, ones) != nil || chol.SolveVecTo(&kv, v) != nil {
				continue
			}
			info := mat.Dot(ones, &ko)
			mean := mat.Dot(ones, &kv) / info
			log := -0.5 * (chol.LogDet() + math.Log(info) + mat.Dot(v, &kv) - mean*mean*info)
			terms = append(terms, term{log, mean, 1 / info})
			best = max(best, log)
		}
	}
	var w, m, m2 float64
	for _, t := range terms {
		p := math.Exp(t.log - best)
		w += p
		m += p * t.mean
		m2 += p * (t.variance + t.mean*t.mean)
	}
	if !(w > 0) {
		return unknown
	}
	m, m2 = m/w, m2/w
	q, qse := observedOrder(h, y, se)
	return Extrapolated{y[0] + spread*m, spread * math.Sqrt(max(0, m2-m*m)), q, qse}
}

// extrapolate adds the numbers of classical inference for h → 0.
func (a *Report) extrapolate() {
	a.Extrapolated, a.OffOrder = nil, nil
	if a.controlled() {
		return // nothing says with which power of a tolerance errors fall
	}
	for j, q := range a.Params {
		var h, mean, meanSE, sd, sdSE []float64
		for _, st := range a.Steps {
			made, lost := st.phantoms()
			if st.Deterministic == nil || made+lost > spoken {
				continue // a mode that comes and goes follows no order
			}
			m := st.Deterministic.Estimates[j] // by what the parameter is judged by
			h = append(h, st.StepSize)
			mean, meanSE = append(mean, m.Center), append(meanSE, m.CenterSE)
			sd, sdSE = append(sd, math.Log(m.Spread)), append(sdSE, m.SpreadSE/m.Spread)
		}
		p := a.Method.Order()
		e := Extrapolate(h, mean, meanSE, p)
		s := Extrapolate(h, sd, sdSE, p)
		for _, one := range []struct {
			what string
			e    Extrapolated
		}{{"mean", e}, {"sd", s}} {
			switch {
			case one.e.Follows(p):
			case math.IsInf(one.e.Order, -1):
				a.OffOrder = append(a.OffOrder, fmt.Sprintf("the %s of %s turns back", one.what, q.Name))
			default:
				a.OffOrder = append(a.OffOrder, fmt.Sprintf("the %s of %s falls like h^%.1f ± %.1f", one.what, q.Name, one.e.Order, one.e.OrderSE))
			}
		}
		sdev := math.Exp(s.Value)
		a.Extrapolated = append(a.Extrapolated, Parameter{Name: q.Name, Mean: e.Value, MeanSE: e.SE, SD: sdev, SDSE: sdev * s.SE})
	}
}

// answerByExtrapolation says what stands for the accurate posterior where that is
// out of reach: no verdict rests on it, since the ladder may follow its order and
// lead to what only the solver has.
func (a *Report) answerByExtrapolation(b *strings.Builder) {
	if a.OffOrder != nil {
		return
	}
	for i := range a.Steps {
		st := &a.Steps[i]
		if st.Deterministic == nil {
			continue
		}
		worst, at := 0.0, -1
		for j, x := range a.Extrapolated {
			if e := math.Abs(st.Deterministic.Estimates[j].Center-x.Mean) / x.SD; e > worst {
				worst, at = e, j
			}
		}
		if at < 0 {
			return
		}
		x := a.Extrapolated[at]
		m := st.Deterministic.Estimates[at]
		fmt.Fprintf(b, "Extrapolated to h = 0, which stands in its place, the mean of %s at %v is off by %s sd, the most of all; this is no verdict.\n",
			x.Name, st, plusMinus((m.Center-x.Mean)/x.SD, math.Hypot(m.CenterSE, x.MeanSE)/x.SD, true))
		return
	}
}
