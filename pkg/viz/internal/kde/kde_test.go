package kde

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// lattice returns n points that represent the normal distribution with the given moments
// without chance: the normal quantiles of the points of an additive lattice with
// the ratios 1/g, 1/g², g the real root of g³ = g + 1.
func lattice(n int, mx, my, sx, sy, r float64) (x, y []float64) {
	const g = 1.32471795724474602596
	frac := func(v float64) float64 { return v - math.Floor(v) }
	for i := range n {
		u := distuv.UnitNormal.Quantile(frac(0.5 + float64(i+1)/g))
		v := distuv.UnitNormal.Quantile(frac(0.5 + float64(i+1)/(g*g)))
		x = append(x, mx+sx*u)
		y = append(y, my+sy*(r*u+math.Sqrt(1-r*r)*v))
	}
	return x, y
}

// The estimate for a normal distribution N(μ, Σ) is on average N(μ, (1 + f² n^(−1/3)) Σ),
// whose region of highest density of mass p is the ellipse of Mahalanobis radius
// √(−2 log(1−p)).
func TestKDE2(t *testing.T) {
	const mx, my, sx, sy = 0.2, 3, 0.04, 2
	for _, r := range []float64{0, 0.6, -0.95} {
		for _, f := range []float64{1, 1.5} {
			n := 4000
			x, y := lattice(n, mx, my, sx, sy, r)
			g, err := Plane(x, y, f, 128)
			if err != nil {
				t.Fatal(err)
			}
			// The kernel is cut off at four standard deviations, which
			// loses 4 Φ(−4) = 1.3e-4 of its mass.
			if m := g.mass(); math.Abs(m-1) > 3e-4 {
				t.Errorf("r = %v, f = %v: mass %v", r, f, m)
			}
			s := 1 + f*f*math.Pow(float64(n), -1.0/3)
			ps := []float64{0.5, 0.9}
			levels := g.Levels(ps...)
			for k, p := range ps {
				want := (1 - p) / (2 * math.Pi * s * sx * sy * math.Sqrt(1-r*r))
				// What is left of the lattice's discrepancy after
				// smoothing is some per cent of the density.
				if math.Abs(levels[k]/want-1) > 0.05 {
					t.Errorf("r = %v, f = %v: level of %v is %v, want %v", r, f, p, levels[k], want)
				}
				cx, cy := g.Contour(levels[k])
				c := 0
				if pieces(cx, cy, func(_, _ int) { c++ }); c != 1 {
					t.Errorf("r = %v, f = %v: %d contours of one hill", r, f, c)
				}
				radius := math.Sqrt(-2 * math.Log(1-p) * s)
				area := math.Pi * radius * radius * sx * sy * math.Sqrt(1-r*r)
				if a := shoelace(cx, cy); math.Abs(a/area-1) > 0.03 {
					t.Errorf("r = %v, f = %v: area of %v is %v, want %v", r, f, p, a, area)
				}
				for i := range cx {
					u, v := (cx[i]-mx)/sx, (cy[i]-my)/sy
					d := math.Sqrt((u*u - 2*r*u*v + v*v) / (1 - r*r))
					if math.Abs(d/radius-1) > 0.08 {
						t.Fatalf("r = %v, f = %v: a vertex of the contour of %v at radius %v, want %v", r, f, p, d, radius)
					}
				}
			}
		}
	}
}

func TestKDE1(t *testing.T) {
	n := 1000
	var x []float64
	for i := range n {
		x = append(x, 3+2*distuv.UnitNormal.Quantile((float64(i)+0.5)/float64(n)))
	}
	at, density, err := Line(x, 256)
	if err != nil {
		t.Fatal(err)
	}
	want := distuv.Normal{Mu: 3, Sigma: 2 * math.Sqrt(1+math.Pow(float64(n), -0.4))}
	mass := 0.0
	for i := range at {
		mass += density[i] * (at[1] - at[0])
		// The variance of the quantiles is 0.3 % below one, and the kernel is cut off: some
		// thousandths of the mode.
		if d := math.Abs(density[i] - want.Prob(at[i])); d > 0.005*want.Prob(3) {
			t.Errorf("density at %v is %v, want %v", at[i], density[i], want.Prob(at[i]))
		}
	}
	if math.Abs(mass-1) > 2e-4 { // 2 Φ(−4) = 6e-5, and the grid
		t.Errorf("mass %v", mass)
	}
}

func TestKDEErrors(t *testing.T) {
	for _, tt := range []struct{ x, y []float64 }{
		{[]float64{1, 2}, []float64{1, 3}},
		{[]float64{1, 2, math.NaN()}, []float64{1, 3, 2}},
		{[]float64{1, 2, 3}, []float64{2, 4, 6}},
		{[]float64{1, 1, 1}, []float64{2, 4, 7}},
	} {
		if _, err := Plane(tt.x, tt.y, 1, 128); err == nil {
			t.Errorf("no error for %v, %v", tt.x, tt.y)
		}
	}
	for _, x := range [][]float64{{1}, {1, math.Inf(1)}, {2, 2, 2}} {
		if _, _, err := Line(x, 256); err == nil {
			t.Errorf("no error for %v", x)
		}
	}
}

// pieces calls f with the ends [i, j) of every run of x and y without NaN.
func pieces(x, y []float64, f func(i, j int)) {
	start := 0
	for i := range x {
		if math.IsNaN(x[i]) || math.IsNaN(y[i]) {
			f(start, i)
			start = i + 1
		}
	}
	if start < len(x) {
		f(start, len(x))
	}
}

// shoelace returns the area inside closed polylines, positive where the inside
// is on the left.
func shoelace(x, y []float64) (a float64) {
	pieces(x, y, func(i, j int) {
		for k := i; k+1 < j; k++ {
			a += (x[k]*y[k+1] - x[k+1]*y[k]) / 2
		}
	})
	return a
}

func sample(n int, lo, hi float64, f func(x, y float64) float64) Surface {
	g := Surface{Z: make([]float64, 0, n*n)}
	for i := range n {
		g.X = append(g.X, lo+(hi-lo)*float64(i)/float64(n-1))
	}
	g.Y = g.X
	for _, y := range g.Y {
		for _, x := range g.X {
			g.Z = append(g.Z, f(x, y))
		}
	}
	return g
}

func TestContour(t *testing.T) {
	hill := func(x0 float64) func(x, y float64) float64 {
		return func(x, y float64) float64 { return math.Exp(-(x-x0)*(x-x0) - y*y) }
	}
	two := func(x, y float64) float64 { return hill(-1)(x, y) + hill(1)(x, y) }
	crater := func(x, y float64) float64 { r := x*x + y*y; return r * math.Exp(-r) }
	checker := func(x, y float64) float64 { return 1 + math.Sin(3*x)*math.Sin(3*y) }
	for _, tt := range []struct {
		name     string
		g        Surface
		level    float64
		contours int
		area     float64 // 0: not known
	}{
		{"hill", sample(101, -3, 3, hill(0)), 0.5, 1, math.Pi * math.Log(2)},
		// Between the hills of exp(−(x∓1)²) the saddle is at 2/e = 0.736.
		{"two hills apart", sample(101, -4, 4, two), 0.75, 2, 0},
		{"two hills joined", sample(101, -4, 4, two), 0.72, 1, 0},
		// r² e^(−r²) = level between two radii.
		{"crater", sample(201, -4, 4, crater), 0.2, 2, math.Pi * (2.5426413577735264 - 0.25917110181907377)},
		{"cut by the border", sample(101, -0.5, 0.5, hill(0)), 0.5, 1, 0},
		{"saddles on the level", sample(61, -3, 3, checker), 1, 0, 0},
		{"nothing", sample(11, -3, 3, hill(0)), 2, 0, 0},
	} {
		x, y := tt.g.Contour(tt.level)
		n := 0
		pieces(x, y, func(i, j int) {
			n++
			if x[i] != x[j-1] || y[i] != y[j-1] {
				t.Errorf("%s: a contour from (%v, %v) to (%v, %v) is open", tt.name, x[i], y[i], x[j-1], y[j-1])
			}
		})
		if tt.contours > 0 && n != tt.contours || tt.name == "nothing" && n != 0 {
			t.Errorf("%s: %d contours, want %d", tt.name, n, tt.contours)
		}
		// Chords of a grid of spacing d: relative error of order d².
		if a := shoelace(x, y); tt.area != 0 && math.Abs(a/tt.area-1) > 0.005 {
			t.Errorf("%s: area %v, want %v", tt.name, a, tt.area)
		}
	}
}

func BenchmarkKDE2(b *testing.B) {
	x, y := lattice(10000, 0, 0, 1, 1, 0.5)
	for b.Loop() {
		if _, err := Plane(x, y, 1, 128); err != nil {
			b.Fatal(err)
		}
	}
}

func (g Surface) mass() float64 {
	var s float64
	for _, z := range g.Z {
		s += z
	}
	return s * (g.X[1] - g.X[0]) * (g.Y[1] - g.Y[0])
}
