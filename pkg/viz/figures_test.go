package viz

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// The figures of the tests are of the FitzHugh–Nagumo model, solved by Euler's
// method with a perturbation in each step: not a solver to learn from, but paths
// that look like those this package is for.

// fitzHughNagumo returns n perturbed paths, indexed [component][path][time], and
// the path without noise.
func fitzHughNagumo(n int, h, noise float64, seed uint64) (t []float64, paths [2][][]float64, det [2][]float64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	steps := int(math.Round(20 / h))
	run := func(noise float64) (v, r []float64) {
		v, r = []float64{-1}, []float64{1}
		for i := range steps {
			dv := 3 * (v[i] - v[i]*v[i]*v[i]/3 + r[i])
			dr := -(v[i] - 0.2 + 0.2*r[i]) / 3
			v = append(v, v[i]+h*dv+noise*rng.NormFloat64())
			r = append(r, r[i]+h*dr+noise*rng.NormFloat64())
		}
		return v, r
	}
	for i := range steps + 1 {
		t = append(t, float64(i)*h)
	}
	for range n {
		v, r := run(noise)
		paths[0], paths[1] = append(paths[0], v), append(paths[1], r)
	}
	det[0], det[1] = run(0)
	return t, paths, det
}

// ensemble returns a panel for each component with n paths as one translucent line, or a band
// around the path without noise, and an accurate solution.
func ensemble(n int, band bool) Figure {
	t, paths, det := fitzHughNagumo(n, 0.1, 0.03, 7)
	rt, _, ref := fitzHughNagumo(0, 0.002, 0, 7)
	return panelsOf(t, paths, det, band, func(k int) []Layer { return []Layer{Line{Name: "reference", X: rt, Y: ref[k], Color: Black}} })
}

func panelsOf(t []float64, paths [2][][]float64, det [2][]float64, band bool, more func(k int) []Layer) (f Figure) {
	for k, name := range []string{"V (mV)", "R (mV)"} {
		p := Panel{X: Axis{Label: "t (ms)", Min: t[0], Max: t[len(t)-1]}, Y: Axis{Label: name}}
		if band {
			b := Band{Name: "band", X: t}
			for _, v := range det[k] {
				b.Lo, b.Hi = append(b.Lo, v-0.3), append(b.Hi, v+0.3)
			}
			p.Layers = append(p.Layers, b)
		} else {
			l := Line{Name: fmt.Sprintf("%d paths", len(paths[k])), Color: Blue, Width: 0.8, Opacity: 0.2}
			for _, y := range paths[k] {
				l.X, l.Y = append(append(l.X, t...), math.NaN()), append(append(l.Y, y...), math.NaN())
			}
			p.Layers = append(p.Layers, l)
		}
		p.Layers = append(p.Layers, more(k)...)
		p.Layers = append(p.Layers, Line{Name: "deterministic", X: t, Y: det[k], Color: Vermillion, Dash: DashDotted})
		f.Panels = append(f.Panels, p)
	}
	return f
}

// gaussian returns n draws from a normal distribution with means mx, my, standard
// deviations sx, sy and correlation r.
func gaussian(n int, mx, my, sx, sy, r float64, seed uint64) (x, y []float64) {
	rng := rand.New(rand.NewPCG(seed, 2))
	for range n {
		u, v := rng.NormFloat64(), rng.NormFloat64()
		x = append(x, mx+sx*u)
		y = append(y, my+sy*(r*u+math.Sqrt(1-r*r)*v))
	}
	return x, y
}

var steps = []string{"0.005", "0.01", "0.02", "0.05"}

func posterior() Figure {
	f := Figure{Title: "Posterior of (θ₂, θ₃)", Columns: 2}
	for k, title := range []string{"Deterministic backward Euler", "Probabilistic backward Euler", "Deterministic forward Euler", "Probabilistic forward Euler"} {
		var ds []Points
		for i, h := range steps {
			s := float64(i) * (1 - 2*float64(k/2))
			w := 1 + float64(k%2)*float64(i)
			x, y := gaussian(1000, 0.2+0.03*s, 3+0.05*s, 0.04*w, 0.03*w, 0.5, uint64(10*k+i))
			ds = append(ds, Points{Name: "h = " + h, X: x, Y: y})
		}
		p, err := Contours(Axis{Label: "θ₂"}, Axis{Label: "θ₃"}, []float64{0.2, 3}, ds...)
		if err != nil {
			panic(err)
		}
		p.Title = title
		f.Panels = append(f.Panels, p)
	}
	return f
}

func curves() Figure {
	h := []float64{0.1, 0.05, 0.025, 0.0125, 0.00625, 0.003125}
	line := func(name string, c, p float64) Line {
		l := Line{Name: name, X: h}
		for _, h := range h {
			l.Y = append(l.Y, c*math.Pow(h, p))
		}
		return l
	}
	p := Curves(Axis{Label: "step size h", Log: true}, Axis{Label: "maximum error", Log: true}, []float64{1, 2, 3},
		line("AB1", 10, 1), line("AM0", 8, 1), line("AM1", 5, 2), line("AM2", 12, 3))
	p.Title = "Convergence"

	var logs []Line
	for i, m := range []string{"AM0", "AM1", "AM2"} {
		l := Line{Name: m + " score"}
		for e := -4.0; e <= 2; e += 0.05 {
			l.X = append(l.X, math.Pow(10, e))
			l.Y = append(l.Y, -200*math.Pow(e+0.7+0.5*float64(i), 2)-100*float64(i))
		}
		logs = append(logs, l)
	}
	q := Curves(Axis{Label: "α", Log: true}, Axis{Label: "log density"}, nil, logs...)
	q.Title = "Calibration"
	q.Layers = append(q.Layers, Guide{At: 0.2, Dash: Dotted})
	return Figure{Title: "Order and scale", Panels: []Panel{p, q}, Columns: 2}
}

// medley holds what the other constructors do not: error bars, a trace, a
// histogram, marginals, ellipses along a limit cycle.
func medley() Figure {
	e := ensemble(50, true)
	det, ref := e.Panels[0].Layers[2].(Line), [2]Line{e.Panels[0].Layers[1].(Line), e.Panels[1].Layers[1].(Line)}
	bands := e.Panels[0]
	bands.Title = "Predictive bands and data"
	rng := rand.New(rand.NewPCG(3, 3))
	d := Points{Name: "observations", Color: Black, Marker: Ring}
	for t := 10; t <= 200; t += 10 {
		d.X = append(d.X, det.X[t])
		d.Y = append(d.Y, ref[0].Y[50*t]+0.1*rng.NormFloat64())
		d.Err = append(d.Err, 0.2)
	}
	bands.Layers = append(bands.Layers, d)

	chain, _ := gaussian(2500, 0, 0, 1, 1, 0, 5)
	tr := Line{Name: "chain 1", X: make([]float64, len(chain)), Y: chain, Width: 0.7}
	for i := range tr.X {
		tr.X[i] = float64(i)
		if i > 0 {
			chain[i] = 0.9*chain[i-1] + 0.3*chain[i]
		}
	}
	trace := Panel{Title: "Trace", X: Axis{Label: "iteration"}, Y: Axis{Label: "θ₁"}, Layers: []Layer{tr}}

	ranks := Bars("ranks", []float64{0, 1, 2, 3, 4, 5, 6, 7, 8}, []float64{110, 95, 88, 102, 99, 105, 91, 110})
	hist := Panel{Title: "Rank histogram", X: Axis{Label: "rank"}, Y: Axis{Label: "count"},
		Layers: []Layer{ranks, Guide{Name: "uniform", At: 100, Horizontal: true, Dash: Dashed}}}

	a, _ := gaussian(500, 0.2, 0, 0.05, 1, 0, 8)
	b, _ := gaussian(500, 0.25, 0, 0.1, 1, 0, 9)
	marg, err := Densities(Axis{Label: "θ₁"}, []float64{0.2}, Points{Name: "AM0", X: a}, Points{Name: "AB1", X: b})
	if err != nil {
		panic(err)
	}
	marg.Title = "Marginals"
	marg.Layers = append([]Layer{Histogram("AB1 draws", b, 0)}, marg.Layers...)

	cycle := Panel{Title: "Limit cycle", X: Axis{Label: "V (mV)"}, Y: Axis{Label: "R (mV)"}}
	cycle.Layers = append(cycle.Layers, Line{Name: "mean path", X: ref[0].Y, Y: ref[1].Y, Color: Grey, Width: 1})
	ell := Line{Name: "covariances", Color: Vermillion, Width: 1.2}
	for i := 0; i < 100; i += 6 {
		for k := 0.0; k <= 40; k++ {
			s, c := math.Sincos(2 * math.Pi * k / 40)
			ell.X = append(ell.X, ref[0].Y[50*i]+0.2*c)
			ell.Y = append(ell.Y, ref[1].Y[50*i]+0.1*s+0.05*c)
		}
		ell.X, ell.Y = append(ell.X, math.NaN()), append(ell.Y, math.NaN())
	}
	cycle.Layers = append(cycle.Layers, ell)

	x, y := gaussian(400, 0.2, 3, 0.04, 0.05, -0.6, 4)
	cloud := Panel{Title: "Draws", X: Axis{Label: "θ₂"}, Y: Axis{Label: "θ₃"}, Layers: []Layer{Points{Name: "draws", X: x, Y: y, Size: 4}}}
	return Figure{Title: "A medley", Panels: []Panel{bands, trace, hist, marg, cycle, cloud}}
}

func frames() Frames {
	f := Frames{Label: "h", Show: 1}
	for _, h := range []float64{0.05, 0.1, 0.2} {
		t, paths, det := fitzHughNagumo(60, h, 0.3*h, 11)
		g := panelsOf(t, paths, det, true, func(int) []Layer { return nil })
		g.Title = "Backward Euler"
		f.Figures = append(f.Figures, g)
		f.Names = append(f.Names, num(h))
	}
	return f
}

func num(v float64) string { return string(scale{lo: 1, hi: math.E, log: true}.append(nil, v)) }
