package methods_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/catalog"
	"github.com/probode/probode/pkg/probode/problems"
	"github.com/probode/probode/pkg/probode/reference"
)

// Nanoseconds a step, with noise.
func BenchmarkStep(b *testing.B) {
	for _, p := range []*probode.Problem{problems.FitzHughNagumo(), problems.HIRES(), problems.Brusselator(40)} {
		for _, name := range []string{"gauss1", "gauss2", "radau3", "radau5", "random:gauss1"} {
			b.Run(p.Name+" "+name, func(b *testing.B) { bench(b, p, name, false) })
		}
	}
}

// Time of a run under error control, and its correct digits at five times, relative to the
// largest value of each component: Auto beside its two parts, and BDF.
func BenchmarkAuto(b *testing.B) {
	stiff, stiffer := problems.VanDerPol(1e3), problems.VanDerPol(1e5)
	stiff.Name, stiffer.Name = "van der Pol 1e3", "van der Pol 1e5"
	for _, p := range []*probode.Problem{problems.LotkaVolterra(), problems.FitzHughNagumo(), problems.Pleiades(), problems.Burgers(50),
		problems.Robertson(), problems.HIRES(), problems.Oregonator(), stiff, stiffer} {
		for _, name := range []string{"auto", "dp5", "radau5", "bdf"} {
			if name == "dp5" && (p == stiffer || p.Name == "Robertson" || p.Name == "Oregonator") {
				continue // more than a million steps
			}
			for _, rel := range []float64{1e-4, 1e-6, 1e-8} {
				b.Run(fmt.Sprintf("%s %s %g", p.Name, name, rel), func(b *testing.B) { benchRun(b, p, name, rel) })
			}
		}
	}
}

func benchRun(b *testing.B, p *probode.Problem, name string, rel float64) {
	m, err := catalog.Parse(name)
	if err != nil {
		b.Fatal(err)
	}
	var times []float64
	for k := range 5 {
		times = append(times, p.Span[0]+(p.Span[1]-p.Span[0])*float64(k+1)/5)
	}
	accurate, err := reference.Solve(b.Context(), p, times, reference.Settings{})
	if err != nil {
		b.Fatal(err)
	}
	path, err := probode.Setup{Method: m, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: rel}, MaxSteps: 1e5}}.Bind(b.Context(), p, nil, times)
	if err != nil {
		b.Fatal(err)
	}
	d := p.Dim()
	x, theta, size := make([]float64, len(times)*d), slices.Clone(p.Theta), make([]float64, d)
	for i := 0; b.Loop(); i++ {
		theta[0] = p.Theta[0] * (1 + 1e-15*float64(i%2)) // at the θ of the last run nothing is computed
		if err := path.States(b.Context(), x, theta, nil); err != nil {
			b.Fatal(err)
		}
	}
	for i, v := range accurate.X {
		size[i%d] = max(size[i%d], math.Abs(v))
	}
	var off float64
	for i, v := range accurate.X {
		off = max(off, math.Abs(x[i]-v)/size[i%d])
	}
	b.ReportMetric(-math.Log10(off), "digits")
}

// Nanoseconds a step with its derivative along each parameter.
func BenchmarkTangents(b *testing.B) {
	p := problems.FitzHughNagumo()
	for _, name := range []string{"rk4", "ab3", "am1", "gauss2", "radau5"} {
		b.Run(name, func(b *testing.B) { bench(b, p, name, true) })
	}
}

func bench(b *testing.B, p *probode.Problem, name string, tangents bool) {
	m, err := catalog.Parse(name)
	if err != nil {
		b.Fatal(err)
	}
	s, err := probode.NewSolver(p, m, uniform(b, p, p.Span[1]/1000), 1e-9)
	if err != nil {
		b.Fatal(err)
	}
	n := len(p.Theta)
	z, xi, dtheta := make([]float64, s.PathLen()), make([]float64, s.NoiseLen()), make([]float64, n*n)
	dz := make([]float64, n*len(z))
	for j := range n {
		dtheta[j*(n+1)] = 1
	}
	for b.Loop() {
		if tangents {
			err = s.SolveTangents(z, dz, p.Theta, dtheta, xi)
		} else {
			err = s.Solve(z, p.Theta, xi)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*s.Steps()), "ns/step")
}

// groups is the Lotka–Volterra problem in n groups with
//
//	x′ = x (a − b y),   y′ = y (d x − c),
//
// where b and d are shared and a and c belong to the group: 2 + 2n parameters, in the
// order b, d, a₁, c₁, …. It has all derivatives.
func groups(n int) *probode.Problem {
	p := &probode.Problem{Name: "groups", Autonomous: true, Span: [2]float64{0, 10}, Theta: []float64{0.1, 0.02}}
	for k := range n {
		p.X0 = append(p.X0, 10, 5)
		p.Theta = append(p.Theta, 0.6+0.01*float64(k), 0.4)
	}
	if n > 1 {
		p.Band = &probode.Bandwidth{Lower: 1, Upper: 1}
	}
	f := func(dst []float64, _ float64, x, th []float64) {
		b, d := th[0], th[1]
		for k := 0; k < len(x); k += 2 {
			dst[k], dst[k+1] = x[k]*(th[2+k]-b*x[k+1]), x[k+1]*(d*x[k]-th[3+k])
		}
	}
	p.F = f
	p.FJ = func(dst, jac []float64, t float64, x, th []float64) {
		f(dst, t, x, th)
		b, d := th[0], th[1]
		w, low := len(x), 0
		if p.Band != nil {
			w, low = 3, 1
		}
		for k := 0; k < len(x); k += 2 {
			at := k*w + low
			if low == 0 {
				at += k
			}
			jac[at], jac[at+1] = th[2+k]-b*x[k+1], -b*x[k]
			if at = (k+1)*w + low; low == 0 {
				at += k + 1
			}
			jac[at-1], jac[at] = d*x[k+1], d*x[k]-th[3+k]
		}
	}
	p.FTheta = func(dst []float64, _ float64, x, th []float64) {
		w := len(th)
		for k := 0; k < len(x); k += 2 {
			dst[k*w], dst[k*w+2+k] = -x[k]*x[k+1], x[k]
			dst[(k+1)*w+1], dst[(k+1)*w+3+k] = x[k]*x[k+1], -x[k+1]
		}
	}
	p.Pullback = func(dx, dth, l []float64, _ float64, x, th []float64) float64 {
		b, d := th[0], th[1]
		for k := 0; k < len(x); k += 2 {
			u, v, xy := l[k], l[k+1], x[k]*x[k+1]
			dx[k] += u*(th[2+k]-b*x[k+1]) + v*d*x[k+1]
			dx[k+1] += v*(d*x[k]-th[3+k]) - u*b*x[k]
			dth[0] -= u * xy
			dth[1] += v * xy
			dth[2+k] += u * x[k]
			dth[3+k] -= v * x[k+1]
		}
		return 0
	}
	return p
}

// The time of a gradient backwards and of derivatives along all parameters, as multiples
// of the time of a solve, for 4 and for 50 parameters.
func BenchmarkGradient(b *testing.B) {
	for _, n := range []int{1, 24} {
		for _, name := range []string{"rk4", "dp5", "ab2", "am1,current", "am1", "bdf3", "radau5"} {
			for _, dense := range []bool{false, true} {
				p := groups(n)
				words := fmt.Sprintf("%s, %d parameters", name, len(p.Theta))
				if dense {
					p.Pullback = nil
					words += ", dense"
				}
				b.Run(words, func(b *testing.B) { benchGradient(b, p, name) })
			}
		}
	}
}

func benchGradient(b *testing.B, p *probode.Problem, name string) {
	m, err := catalog.Parse(name)
	if err != nil {
		b.Fatal(err)
	}
	s, err := probode.NewSolver(p, m, uniform(b, p, 0.05), 1e-6)
	if err != nil {
		b.Fatal(err)
	}
	n := len(p.Theta)
	z, xi, w := make([]float64, s.PathLen()), make([]float64, s.NoiseLen()), make([]float64, s.PathLen())
	probode.DrawNoise(w, 1, 1)
	dz, dtheta := make([]float64, n*len(z)), make([]float64, n*n)
	for j := range n {
		dtheta[j*(n+1)] = 1
	}
	g := &probode.Gradient{Theta: make([]float64, n), Xi: make([]float64, len(xi))}
	probode.DrawNoise(xi, 1, 2)
	var solve, backward, forward time.Duration
	since := func(least *time.Duration, err error, start time.Time) {
		if d := time.Since(start); *least == 0 || d < *least {
			*least = d
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		start := time.Now()
		since(&solve, s.Solve(z, p.Theta, xi), start)
		start = time.Now()
		since(&backward, s.Gradient(g, w, z, p.Theta, xi), start)
		start = time.Now()
		since(&forward, s.SolveTangents(z, dz, p.Theta, dtheta, xi), start)
	}
	b.ReportMetric(1+float64(backward)/float64(solve), "solves")
	b.ReportMetric(float64(forward)/float64(solve), "solves-forward")
}
