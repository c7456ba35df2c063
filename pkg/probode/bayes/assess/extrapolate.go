package assess

import (
	"math"

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
}

// Extrapolate returns what y(h) tends to for h → 0, given y at several step sizes
// with their standard errors se and the order of the method. Fewer than two
// different steps give NaN. The standard error holds both the Monte Carlo error
// and what the ladder leaves open.
func Extrapolate(h, y, se []float64, order int) Extrapolated {
	n := len(h)
	if len(y) != n || len(se) != n || order < 1 {
		panic("assess: Extrapolate wants as many values and standard errors as step sizes, and an order ≥ 1")
	}
	top, low, spread := 0.0, math.Inf(1), 0.0
	for i := range h {
		if !(h[i] > 0) || math.IsNaN(y[i]) || math.IsInf(y[i], 0) || !(se[i] >= 0) || math.IsInf(se[i], 1) {
			return Extrapolated{math.NaN(), math.NaN()}
		}
		top, low = max(top, h[i]), min(low, h[i])
		for j := range i {
			spread = max(spread, math.Abs(y[i]-y[j]))
		}
		spread = max(spread, se[i])
	}
	if n < 2 || !(top > low*(1+1e-9)) {
		return Extrapolated{math.NaN(), math.NaN()}
	}
	if spread == 0 {
		return Extrapolated{y[0], 0}
	}
	// In units of the largest step and of the spread, which g has at the largest
	// step. The prior of log √v is flat over six powers of ten below and two
	// above that, that of log ℓ from a third of the largest step to a hundred of
	// them: a smooth error.
	type term struct{ log, mean, variance float64 }
	var terms []term
	best := math.Inf(-1)
	for i := range 33 {
		amplitude := math.Pow(10, -6+float64(i)/4)
		for j := range 11 {
			length := math.Pow(10, -0.5+float64(j)/4)
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
		return Extrapolated{math.NaN(), math.NaN()}
	}
	m, m2 = m/w, m2/w
	return Extrapolated{y[0] + spread*m, spread * math.Sqrt(max(0, m2-m*m))}
}

// extrapolate adds the numbers of classical inference for h → 0.
func (a *Report) extrapolate() {
	a.Extrapolated = nil
	for _, q := range a.Params {
		var h, mean, meanSE, sd, sdSE []float64
		for _, st := range a.Steps {
			made, lost := st.phantoms()
			if st.Deterministic == nil || made+lost > spoken {
				continue // a mode that comes and goes follows no order
			}
			m := st.Deterministic.marginal(q.Name)
			h = append(h, st.StepSize)
			mean, meanSE = append(mean, m.Mean), append(meanSE, m.MCSE)
			sd, sdSE = append(sd, math.Log(m.SD)), append(sdSE, m.MCSESD/m.SD)
		}
		p := a.Method.Order()
		e := Extrapolate(h, mean, meanSE, p)
		s := Extrapolate(h, sd, sdSE, p)
		sdev := math.Exp(s.Value)
		a.Extrapolated = append(a.Extrapolated, Parameter{Name: q.Name, Mean: e.Value, MeanSE: e.SE, SD: sdev, SDSE: sdev * s.SE})
	}
}
