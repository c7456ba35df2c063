package filter

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode"
)

// jumps are affine events of affine, x → Jx + j.
var jumps = []struct {
	time float64
	j    [4]float64
	c    [2]float64
}{{.55, [4]float64{0, 1, 2, 0}, [2]float64{.2, 0}}, {1.3, [4]float64{.5, 0, .3, 0}, [2]float64{0, -1}}}

// jumping is affine with these events. The argument after says whether a datum at the time
// of an event shows the state after it.
func jumping(after bool) *probode.Problem {
	p := affine()
	for _, e := range jumps {
		p.Events = append(p.Events, probode.Event{Time: e.time, SeenAfter: after, Jump: func(x []float64, _ float64, _ []float64) {
			x[0], x[1] = e.j[0]*x[0]+e.j[1]*x[1]+e.c[0], e.j[2]*x[0]+e.j[3]*x[1]+e.c[1]
		}})
	}
	return p
}

// derivatives continues the map x = Mu + m, in the first two rows, to the derivatives x′ =
// Ax + b, x″ = Ax′, … of the solution of affine.
func derivatives(q int, m *mat.Dense, c []float64) {
	a := [2][2]float64{{-1, 2}, {-2, -.5}}
	_, n := m.Dims()
	for i := range q {
		for k := range 2 {
			for j := range n {
				m.Set(2*i+2+k, j, a[k][0]*m.At(2*i, j)+a[k][1]*m.At(2*i+1, j))
			}
			c[2*i+2+k] = a[k][0]*c[2*i] + a[k][1]*c[2*i+1]
			if i == 0 {
				c[2+k] += []float64{.3, -.1}[k]
			}
		}
	}
}

// newChain returns the joint distribution of the derivatives of the solution of jumping at
// the nodes, the first of which is 0: the Gauss–Markov process of the prior between them,
// and the affine map of an event where a time occurs twice. After an event the derivatives
// are those of the equation through the state. The noise of the step to node i is multiplied
// by sigma[i], or by 1 if there is no sigma.
func newChain(q int, nodes []float64, sigma ...float64) *dense {
	w := 2 * (q + 1)
	start, x := mat.NewDense(w, 1, nil), make([]float64, w)
	copy(x, []float64{1, 0.5})
	derivatives(q, start, x)
	n := len(nodes)
	d := &dense{q, n, mat.NewVecDense(n*w, nil), mat.NewDense(n*w, n*w, nil)}
	for k, v := range x {
		d.mean.SetVec(k, v)
	}
	for i := 1; i < n; i++ {
		f, c, noise := mat.NewDense(w, w, nil), make([]float64, w), mat.NewDense(w, w, nil)
		if h := nodes[i] - nodes[i-1]; h > 0 {
			for a := range q + 1 {
				for b := range q + 1 {
					power := float64(2*q + 1 - a - b)
					v := math.Pow(h, power) / power / math.Gamma(float64(q-a+1)) / math.Gamma(float64(q-b+1))
					if sigma != nil {
						v *= sigma[i] * sigma[i]
					}
					for k := range 2 {
						noise.Set(2*a+k, 2*b+k, v)
						if b >= a {
							f.Set(2*a+k, 2*b+k, math.Pow(h, float64(b-a))/math.Gamma(float64(b-a+1)))
						}
					}
				}
			}
		} else {
			for _, e := range jumps {
				if e.time == nodes[i] {
					for k, v := range e.j {
						f.Set(k/2, k%2, v)
					}
					copy(c, e.c[:])
				}
			}
			derivatives(q, f, c)
		}
		var m mat.VecDense
		m.MulVec(f, d.mean.SliceVec((i-1)*w, i*w))
		for k := range w {
			d.mean.SetVec(i*w+k, m.AtVec(k)+c[k])
		}
		var cross, own mat.Dense
		cross.Mul(f, d.cov.Slice((i-1)*w, i*w, 0, i*w))
		d.cov.Slice(i*w, (i+1)*w, 0, i*w).(*mat.Dense).Copy(&cross)
		d.cov.Slice(0, i*w, i*w, (i+1)*w).(*mat.Dense).Copy(cross.T())
		own.Mul(cross.Slice(0, w, (i-1)*w, i*w), f.T())
		own.Add(&own, noise)
		d.cov.Slice(i*w, (i+1)*w, i*w, (i+1)*w).(*mat.Dense).Copy(&own)
	}
	return d
}

// ends returns the indices of the nodes at which steps end by the given time. The times off
// are not grid points.
func ends(nodes, off []float64, by float64) (at []int) {
	for i, t := range nodes {
		if i > 0 && t > nodes[i-1] && t <= by && !slices.Contains(off, t) {
			at = append(at, i)
		}
	}
	return at
}

// On an affine field with affine jumps, on irregular grids, the filter, the smoother and
// the solution between grid points are those of a dense Gaussian computation. Derivatives
// of the jumps are differences, with an error of 1e-10. Dense covariances lose digits for
// large q.
func TestJumpsAgainstDense(t *testing.T) {
	off := []float64{.27, .56, 1.29, 1.31, 1.97} // between grid points, some of them near an event
	for q := 1; q <= 3; q++ {
		for _, mesh := range []probode.Mesh{probode.Uniform(.25), probode.Through(.3)} {
			for _, forward := range []bool{true, false} {
				s := solve(t, jumping(false), Settings{EK: EK{Q: q}, Mesh: mesh, Times: []float64{.1, .9, 1.95}, Alpha: 1, Forward: forward})
				check := func(what string, d *dense, n int, mean, sd []float64) {
					t.Helper()
					for k := range 2 {
						at := 2*n*(q+1) + k
						if m, v := d.mean.AtVec(at), math.Sqrt(max(0, d.cov.At(at, at))); !within(mean[k], m, 1e-8) || !(math.Abs(sd[k]-v) <= 1e-7+1e-6*v) {
							t.Errorf("q = %d, %v, forward %t, %s, component %d: %.12g ± %.10g: want %.12g ± %.10g", q, mesh, forward, what, k, mean[k], sd[k], m, v)
						}
					}
				}
				nodes := s.T
				whole := newChain(q, nodes)
				if !forward {
					whole.equation(ends(nodes, nil, 2)...)
				}
				for i, at := range nodes {
					d := whole
					if forward {
						d = newChain(q, nodes)
						if before := ends(nodes, nil, at); len(before) > 0 {
							d.equation(before...)
						}
					}
					check("grid point", d, i, []float64{s.Mean[0][i], s.Mean[1][i]}, []float64{s.SD[0][i], s.SD[1][i]})
				}
				for _, at := range off {
					finer := slices.Sorted(slices.Values(append(slices.Clone(nodes), at)))
					by := 2.
					if forward {
						by = at
					}
					d := newChain(q, finer)
					d.equation(ends(finer, []float64{at}, by)...)
					mean, sd := s.At(at)
					check("between", d, slices.Index(finer, at), mean, sd)
				}
			}
		}
	}
}

// With a diffusion that varies from step to step, the distributions are those of a dense
// computation with the same noise in each step.
func TestVaryingAgainstDense(t *testing.T) {
	for q := 1; q <= 3; q++ {
		for _, forward := range []bool{true, false} {
			s := solve(t, jumping(false), Settings{EK: EK{Q: q}, Mesh: probode.Through(.3), Varying: true, Alpha: 1.7, Forward: forward})
			sigma := make([]float64, len(s.T))
			for _, p := range s.run.chains[0].points {
				sigma[p.index] = p.sigma * math.Sqrt(1.7)
			}
			for i, at := range s.T {
				d, by := newChain(q, s.T, sigma...), 2.
				if forward {
					by = at
				}
				if e := ends(s.T, nil, by); len(e) > 0 {
					d.equation(e...)
				}
				for k := range 2 {
					n := 2*i*(q+1) + k
					m, v := d.mean.AtVec(n), math.Sqrt(max(0, d.cov.At(n, n)))
					if !within(s.Mean[k][i], m, 1e-8) || !(math.Abs(s.SD[k][i]-v) <= 1e-7+1e-6*v) {
						t.Errorf("q = %d, forward %t, component %d at time %d: %.12g ± %.9g: want %.12g ± %.9g", q, forward, k, i, s.Mean[k][i], s.SD[k][i], m, v)
					}
				}
			}
		}
	}
}

// The estimated diffusion is the one under which the residuals of all steps are most likely:
// the sum of rᵀS⁻¹r over the number of residuals, which is −2 times the exponent of
// their joint density. If κ² is given, nothing is estimated.
func TestEstimatedDiffusion(t *testing.T) {
	for q := 1; q <= 3; q++ {
		s := solve(t, jumping(false), Settings{EK: EK{Q: q}, Mesh: probode.Through(.3)})
		at := ends(s.T, nil, 2)
		// Doubling κ² divides the exponent by 2, and changes the log determinant by n log 2.
		n := float64(2 * len(at))
		d := newChain(q, s.T)
		one := d.equation(at...)
		d = newChain(q, s.T)
		d.cov.Scale(2, d.cov)
		two := d.equation(at...)
		want := 4 * (two - one + n*math.Ln2/2) / n
		for k, got := range s.Diffusion {
			if !(math.Abs(got/want-1) < 1e-6) {
				t.Errorf("q = %d: the diffusion of component %d is %.10g: want %.10g", q, k, got, want)
			}
		}
		given := solve(t, jumping(false), Settings{EK: EK{Q: q}, Mesh: probode.Through(.3), Alpha: want})
		for k := range 2 {
			for i := range s.T {
				if given.Mean[k][i] != s.Mean[k][i] || !(math.Abs(given.SD[k][i]-s.SD[k][i]) <= 1e-6*s.SD[k][i]) {
					t.Errorf("q = %d: %.12g ± %.8g at time %d with the diffusion that was estimated: want %.12g ± %.8g", q, given.Mean[k][i], given.SD[k][i], i, s.Mean[k][i], s.SD[k][i])
				}
			}
		}
	}
}

// observation is a linear combination of the states with an error of its own.
type observation struct {
	slopes [2]float64
	sd     float64
}

var seen = []observation{{[2]float64{1, 0}, .1}, {[2]float64{-.5, 2}, .3}, {[2]float64{0, 1}, .01}}

// predictive returns what Predict writes and returns for the observations seen plus 0.7 of
// jumping, with steps through the times up to 0.3, and the log likelihood of y.
func predictive(t *testing.T, q int, after bool, times []float64, y [][]float64, dalton bool) (dst []float64, ll float64) {
	t.Helper()
	p, m := jumping(after), EK{Q: q}
	g, err := probode.Setup{Method: m, Mesh: probode.Through(.3)}.Grid(context.Background(), p, nil, times)
	if err != nil {
		t.Fatal(err)
	}
	of, err := NewMarginal(p, m, g, times, len(seen), dalton)
	if err != nil {
		t.Fatal(err)
	}
	dst = make([]float64, 2*len(times)*len(seen))
	ll, err = of.Predict(context.Background(), dst, p.Theta, 2.5, func(n int, x []float64, r *Row) {
		copy(r.Y, y[n])
		for k, o := range seen {
			r.Mean[k] = .7 + o.slopes[0]*x[0] + o.slopes[1]*x[1]
			copy(r.Slopes[2*k:], o.slopes[:])
			r.SD[k] = o.sd
		}
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range y {
		for k, v := range y[n] {
			if mean, sd := dst[2*(n*len(seen)+k)], dst[2*(n*len(seen)+k)+1]; !math.IsNaN(v) {
				ll -= (v-mean)*(v-mean)/(2*sd*sd) + math.Log(sd) + math.Log(2*math.Pi)/2
			}
		}
	}
	return dst, ll
}

// The likelihoods of Fenrir and DALTON are that of a dense Gaussian computation: with
// events, at irregular times that include the start and the times of events, with linear
// combinations of the states, errors of different sizes, and missing values. A datum at the
// time of an event is one of the state before it, or after it for SeenAfter.
func TestMarginalAgainstDense(t *testing.T) {
	nan := math.NaN()
	times := []float64{0, .1, .55, .9, 1.3, 1.95}
	all := [][]float64{{1.6, 1.3, 1.21}, {1.5, .2, 1.}, {nan, .1, nan}, {1.7, nan, 1.8}, {nan, .6, nan}, {.5, .2, nan}}
	for q := 1; q <= 3; q++ {
		s := solve(t, jumping(false), Settings{EK: EK{Q: q}, Mesh: probode.Through(.3), Times: times, Alpha: 1})
		w := 2 * (q + 1)
		for _, after := range []bool{false, true} {
			for _, only := range [][]int{{0, 1, 2, 3, 4, 5}, {0}, {1}, {2}, {5}, {1, 4}, {}} {
				y := make([][]float64, len(times))
				var rows, values, sd []float64
				for n, row := range all {
					y[n] = []float64{nan, nan, nan}
					if !slices.Contains(only, n) {
						continue
					}
					copy(y[n], row)
					node := slices.Index(s.T, times[n])
					if after && s.T[node+1] == times[n] {
						node++
					}
					for k, v := range row {
						if math.IsNaN(v) {
							continue
						}
						line := make([]float64, len(s.T)*w)
						copy(line[node*w:], seen[k].slopes[:])
						rows, values, sd = append(rows, line...), append(values, v-.7), append(sd, seen[k].sd)
					}
				}
				d := newChain(q, s.T)
				d.cov.Scale(2.5, d.cov)
				d.equation(ends(s.T, nil, 2)...)
				var want float64
				if len(values) > 0 {
					want = d.given(mat.NewDense(len(values), len(s.T)*w, rows), values, sd)
				}
				for _, dalton := range []bool{false, true} {
					if _, got := predictive(t, q, after, times, y, dalton); !within(got, want, 1e-6) {
						t.Errorf("q = %d, data at times %v, after events %t, DALTON %t: log likelihood %.12g: want %.12g", q, only, after, dalton, got, want)
					}
				}
			}
		}
	}
}

// Without data, Fenrir predicts values from the solution given the whole equation, and
// DALTON from the equation up to the time of the value. Both are predictions with the
// measurement error.
func TestPredictiveWithoutData(t *testing.T) {
	times := []float64{0, .1, .55, .9, 1.3, 1.95}
	y := make([][]float64, len(times))
	for n := range y {
		y[n] = []float64{math.NaN(), math.NaN(), math.NaN()}
	}
	const q, w = 2, 6
	s := solve(t, jumping(false), Settings{EK: EK{Q: q}, Mesh: probode.Through(.3), Times: times, Alpha: 1})
	for _, dalton := range []bool{false, true} {
		dst, ll := predictive(t, q, false, times, y, dalton)
		if !within(ll, 0, 1e-9) {
			t.Errorf("DALTON %t: without data the log likelihood is %g: want 0", dalton, ll)
		}
		for n, at := range times {
			d, by := newChain(q, s.T), 2.
			d.cov.Scale(2.5, d.cov)
			if dalton {
				by = at
			}
			if e := ends(s.T, nil, by); len(e) > 0 {
				d.equation(e...)
			}
			node := slices.Index(s.T, at) * w
			for k, o := range seen {
				mean, v := .7, o.sd*o.sd
				for a, c := range o.slopes {
					mean += c * d.mean.AtVec(node+a)
					for b, e := range o.slopes {
						v += c * e * d.cov.At(node+a, node+b)
					}
				}
				got := dst[2*(n*len(seen)+k):]
				if !within(got[0], mean, 1e-8) || !(math.Abs(got[1]/math.Sqrt(v)-1) < 1e-6) {
					t.Errorf("DALTON %t, t = %g, value %d: %.10g ± %.8g: want %.10g ± %.8g", dalton, at, k, got[0], got[1], mean, math.Sqrt(v))
				}
			}
		}
	}
}

// Draws of the solution have the covariance between times that a dense computation gives,
// also across an event. With 4,000 draws a correlation has an error below 1/63; 5 of these
// errors are exceeded with a probability of 6e-7 in each of 12 checks.
func TestCovarianceOfDraws(t *testing.T) {
	const q, n = 2, 4000
	s := solve(t, jumping(false), Settings{EK: EK{Q: q}, Mesh: probode.Through(.3), Alpha: 1})
	d := newChain(q, s.T)
	d.equation(ends(s.T, nil, 2)...)
	e := s.Ensemble(n, 11)
	last := len(s.T) - 1
	for _, pair := range [][2]int{{1, 2}, {2, 3}, {2, last}, {4, 6}, {last - 1, last}, {3, 7}} {
		for _, k := range [][2]int{{0, 0}, {0, 1}} {
			a, b := 2*pair[0]+k[0], 2*pair[1]+k[1] // in a path
			i, j := pair[0]*2*(q+1)+k[0], pair[1]*2*(q+1)+k[1]
			sa, sb := math.Sqrt(d.cov.At(i, i)), math.Sqrt(d.cov.At(j, j))
			if sa < 1e-9 || sb < 1e-9 {
				continue
			}
			var sum float64
			for _, path := range e.Paths {
				sum += (path[a] - d.mean.AtVec(i)) * (path[b] - d.mean.AtVec(j))
			}
			if got, want := sum/n/sa/sb, d.cov.At(i, j)/sa/sb; !(math.Abs(got-want) < 5*1.42/math.Sqrt(n)) {
				t.Errorf("components %v at times %v: correlation %.4f: want %.4f", k, pair, got, want)
			}
		}
	}
}
