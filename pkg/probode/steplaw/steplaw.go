package steplaw

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"
)

// A StepLaw is the law of one step of an implicit method, Z_{i+1} given what
// came before: the exact density and its Gaussian approximation side by side.
// It is for pictures and for tests. In one and two dimensions it has moments
// and draws of the exact law by quadrature, which owe nothing to the chain
// that ExactLaw runs.
//
// A StepLaw has its own workspace and is not for use by two goroutines at the
// same time.
type StepLaw struct {
	Problem *Problem
	Method  AdamsMoulton
	Alpha   float64
	H       float64 // step size
	Step    int     // i
	T       float64 // tᵢ, the beginning of the step
	Z       []float64

	// Mean and Cov are μ and LLᵀ = α h^{2s+1} Γ⁻¹JJᵀΓ⁻ᵀ of the Gaussian
	// approximation [T18, §2.4].
	Mean []float64
	Cov  *mat.SymDense

	d        int
	inv      float64   // (h β₋₁)⁻¹
	known    []float64 // as in adamsMoulton
	forecast []float64 // Adams–Bashforth value, where roots are looked for
	law      exactStep
	singular error // ErrSingularH, wrapped, or nil
	logDet   float64
	eval     evaluator
	scratch  *lu
	moving   *jacobian
	w        []float64

	roots [][]float64
	cells *cellLaw
}

// StepLaw returns the law of the step from tᵢ to t_{i+1}, given the states up
// to Zᵢ in rows 0, …, i of z and the parameters theta. An s-step method needs
// the last s rows (Predictor at least one), the others are not read. The
// method must be AdamsMoulton, under either law. The error is a *SolveError if
// Γ is singular or Newton's method does not converge. StepLaw panics if a
// length or i is wrong.
//
// A singular J is no error here, since the Gaussian approximation exists:
// Normalizable reports it.
func (s *Solver) StepLaw(i int, z, theta []float64) (*StepLaw, error) {
	a, ok := s.step.(*adamsMoulton)
	switch {
	case !ok:
		return nil, fmt.Errorf("%s: StepLaw of %v: want AdamsMoulton, the noise of explicit methods is Gaussian", s.p.Name, s.m)
	case i < s.first || i >= s.Steps():
		panic(fmt.Sprintf("probode: StepLaw of step %d: want one in [%d, %d)", i, s.first, s.Steps()))
	case len(z) < (i+1)*s.d:
		panic(fmt.Sprintf("probode: z has length %d: want at least (i+1)·d = %d", len(z), (i+1)*s.d))
	case len(theta) != len(s.p.Theta):
		panic(fmt.Sprintf("probode: theta has length %d: want %d, that of Problem.Theta", len(theta), len(s.p.Theta)))
	case s.alpha == 0:
		return nil, fmt.Errorf("%s: StepLaw with alpha = 0: want alpha > 0, else there is no law", s.p.Name)
	}
	fail := func(err error) error { return &SolveError{s.p.Name, s.m, s.h, i, s.t[i], err} }
	d, zi := s.d, row(z, i, s.d)
	for j := max(0, i+1-len(a.explicit)); j <= i; j++ {
		s.p.F(s.past.row(j), s.t[j], row(z, j, d), theta)
	}
	l := &StepLaw{Problem: s.p, Method: s.m.(AdamsMoulton), Alpha: s.alpha, H: s.h, Step: i, T: s.t[i],
		Z: slices.Clone(zi), Cov: mat.NewSymDense(d, nil), d: d, inv: a.inv,
		forecast: slices.Clone(zi), law: newExactStep(a), eval: newEvaluator(s.p),
		moving: newJacobian(d, s.p.Band), w: make([]float64, d)}
	l.scratch = newLU(l.moving)
	s.past.addPast(l.forecast, s.h, a.explicit, i)
	if err := a.prepare(i, zi, theta); err != nil {
		return nil, fail(err)
	}
	err := l.law.set(a, i, slices.Clone(theta))
	l.known = slices.Clone(a.known)
	switch {
	case errors.Is(err, ErrSingularH):
		l.singular = fail(err)
	case err != nil:
		return nil, fail(err)
	}
	l.Mean = l.law.mu
	columns := mat.NewDense(d, d, nil) // row k holds column k of L
	unit := make([]float64, d)
	for k := range d {
		unit[k] = 1
		col := columns.RawRowView(k)
		l.law.jac.addMul(col, l.law.scale, unit)
		l.law.gamma.solve(col)
		unit[k] = 0
	}
	l.Cov.SymOuterK(1, columns.T())
	l.logDet = float64(d)*math.Log(l.law.scale) + l.law.negJ.logDet() - l.law.gamma.logDet()
	return l, nil
}

// logDet returns ln|det| of the matrix that was factorised.
func (f *lu) logDet() float64 {
	if f.d == 2 && !f.banded {
		return -math.Log(math.Abs(f.a[0]*f.a[3] - f.a[1]*f.a[2])) // the inverse is kept
	}
	var sum float64
	for i := range f.d {
		at := i*f.stride + i
		if f.banded {
			at = i*f.stride + f.low
		}
		sum -= math.Log(math.Abs(f.a[at]))
	}
	return sum
}

// Residual writes the discrepancy in derivative space,
//
//	r(z) = β₋₁⁻¹ (h⁻¹(z − Zᵢ) − Σ_{j=0}^{s−1} β_j F_{i−j}) − f(t_{i+1}, z),
//
// into dst. [T18, equation 9]
func (l *StepLaw) Residual(dst, z []float64) {
	l.checkLen(dst)
	l.checkLen(z)
	l.Problem.F(dst, l.law.t, z, l.law.theta)
	for k, f := range dst {
		dst[k] = l.inv*z[k] - l.known[k] - f
	}
}

// LogDensity returns the exact log density −½ r(z)ᵀ H⁻¹ r(z), not normalised
// (see Moments for the normaliser). It is NaN if H is singular.
func (l *StepLaw) LogDensity(z []float64) float64 {
	l.checkLen(z)
	if l.singular != nil {
		return math.NaN()
	}
	l.Residual(l.w, z)
	l.law.negJ.solve(l.w)
	return -square(l.w) / (2 * l.law.scale * l.law.scale)
}

// LogGaussian returns the log density of the Gaussian approximation N(Mean,
// Cov) at z, normalised. It is NaN if Cov is singular.
func (l *StepLaw) LogGaussian(z []float64) float64 {
	l.checkLen(z)
	if l.singular != nil {
		return math.NaN()
	}
	l.standardize(l.w, z)
	return -square(l.w)/2 - float64(l.d)/2*math.Log(2*math.Pi) - l.logDet
}

// standardize writes ζ = L⁻¹(z − μ) into dst: since J and Γ commute,
// √α h^{s+1/2} ζ = J⁻¹Γ(z−μ) = (hβ₋₁)⁻¹ J⁻¹(z−μ) − (z−μ).
func (l *StepLaw) standardize(dst, z []float64) {
	for k, v := range l.Mean {
		dst[k] = z[k] - v
	}
	l.law.negJ.solve(dst)
	for k, v := range l.Mean {
		dst[k] = -(l.inv*dst[k] + (z[k] - v)) / l.law.scale
	}
}

// logRelative returns ln of the exact density at ζ, −½‖u‖² = −Φ − ½‖ζ‖².
func (l *StepLaw) logRelative(zeta []float64) float64 {
	return -l.law.phi(zeta) - square(zeta)/2
}

func (l *StepLaw) checkLen(z []float64) {
	if len(z) != l.d {
		panic(fmt.Sprintf("probode: state has length %d: want d = %d", len(z), l.d))
	}
}

func square(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v * v
	}
	return sum
}

// sd returns a length that is natural for component k: the standard deviation
// of the Gaussian approximation.
func (l *StepLaw) sd(k int) float64 { return math.Sqrt(l.Cov.At(k, k)) }

// Roots returns the solutions of r(z) = 0 that a search finds, the nearest to
// Mean first. Newton's method starts from Zᵢ, Mean, the Adams–Bashforth value
// and points around them; for d = 2 from 16 directions at distances from a
// standard deviation to a hundred times the size of the state, each twice the
// last. For d = 1 every change of sign of r over such distances, in steps of
// 5 %, is found. More than one root means that the exact law may have several
// modes, and that Newton's method may solve for the wrong one.
func (l *StepLaw) Roots() [][]float64 {
	if l.roots != nil {
		return l.roots
	}
	if l.d == 1 {
		l.changesOfSign()
	}
	for _, z := range append([][]float64{l.Z, l.Mean, l.forecast}, l.around()...) {
		l.newton(slices.Clone(z))
	}
	slices.SortStableFunc(l.roots, func(a, b []float64) int {
		return cmp.Compare(l.distance(a, l.Mean), l.distance(b, l.Mean))
	})
	return l.roots
}

// size is the scale of the state and of the step.
func (l *StepLaw) size() float64 {
	size := max(maxAbs(l.Z), maxAbs(l.Mean), l.distance(l.Z, l.Mean))
	if size == 0 {
		size = 1
	}
	return size
}

// around returns points that are spread out around the mean: on a spiral of
// directions for d ≤ 2, and along at most 8 axes otherwise.
func (l *StepLaw) around() [][]float64 {
	var points [][]float64
	add := func(k int, by float64) {
		z := slices.Clone(l.Mean)
		z[k] += by
		points = append(points, z)
	}
	size := l.size()
	if l.d == 2 {
		for r := 1.0; ; r *= 2 {
			a, b := r*l.sd(0), r*l.sd(1)
			for n := range 16 {
				sin, cos := math.Sincos(2 * math.Pi * float64(n) / 16)
				points = append(points, []float64{l.Mean[0] + a*cos, l.Mean[1] + b*sin})
			}
			if r > 1e6 || a > 100*size && b > 100*size || a == 0 || b == 0 {
				return points
			}
		}
	}
	for k := range min(l.d, 8) {
		for _, by := range []float64{l.sd(k), 10 * l.sd(k), size} {
			add(k, by)
			add(k, -by)
		}
	}
	return points
}

// newton runs Newton's method from z, which it overwrites, and keeps the root
// if it finds a new one.
func (l *StepLaw) newton(z []float64) {
	f := make([]float64, l.d)
	for range 100 {
		l.eval.fj(f, l.moving, l.law.t, z, l.law.theta)
		if !l.scratch.factorize(l.inv, l.moving) {
			return
		}
		for k, v := range f {
			l.w[k] = l.inv*z[k] - l.known[k] - v
		}
		l.scratch.solve(l.w)
		var update, size float64
		for k, v := range l.w {
			z[k] -= v
			update = max(update, math.Abs(v)/(math.Abs(z[k])+l.sd(k)))
			size = max(size, math.Abs(z[k]))
		}
		if update-update != 0 || size > 1e12*l.size() {
			return
		}
		if update < 1e-10 {
			l.keep(z)
			return
		}
	}
}

func (l *StepLaw) keep(z []float64) {
	for _, r := range l.roots {
		// Newton's method finds a double root to the square root of rounding
		// only, and it must not be counted twice. Roots that are closer than
		// 10⁻³ sd make no difference to the law.
		same := true
		for k, v := range r {
			same = same && math.Abs(v-z[k]) <= 1e-3*l.sd(k)+1e-6*math.Abs(v)
		}
		if same {
			return
		}
	}
	l.roots = append(l.roots, z)
}

func (l *StepLaw) distance(a, b []float64) float64 {
	var most float64
	for k, v := range a {
		most = max(most, math.Abs(v-b[k]))
	}
	return most
}

// changesOfSign finds the roots for d = 1.
func (l *StepLaw) changesOfSign() {
	r := func(x float64) float64 {
		z, v := [1]float64{x}, [1]float64{}
		l.Residual(v[:], z[:])
		return v[0]
	}
	for _, side := range []float64{-1, 1} {
		a := l.Mean[0]
		ra := r(a)
		least := l.sd(0) / 64
		if least == 0 {
			least = 1e-9 * l.size()
		}
		for step := least; step < 100*(l.size()+l.sd(0)); step *= 1.05 {
			b := l.Mean[0] + side*step
			rb := r(b)
			if ra*rb < 0 {
				lo, hi, rlo := a, b, ra
				for range 200 {
					mid := lo + (hi-lo)/2
					if mid == lo || mid == hi {
						break
					}
					if rm := r(mid); rm*rlo > 0 {
						lo, rlo = mid, rm
					} else {
						hi = mid
					}
				}
				// A pole changes sign, too.
				if math.Abs(r(lo)) < math.Abs(ra)+math.Abs(rb) {
					l.keep([]float64{lo})
				}
			}
			a, ra = b, rb
		}
	}
}

// Normalizable reports, as an error, why the exact law does not exist:
// ErrSingularH if J has no inverse, or ErrImproper if the density does not
// decay. Decay is looked for along rays: the axes, the axes of the
// approximation, a few fixed directions at random and, up to d = 16, the
// directions in which r grows least far out. On each, ½ rᵀH⁻¹r must grow by
// more than d ln 10 with every factor of ten in distance from 10⁴ to 10⁸
// times the size of the state, as the integral of a power law demands. A
// density that fails in other directions only is not recognised.
func (l *StepLaw) Normalizable() error {
	if l.singular != nil {
		return l.singular
	}
	rng := Stream(0, 0)
	var rays [][]float64
	add := func(v []float64) {
		norm := math.Sqrt(square(v))
		if norm == 0 || norm-norm != 0 {
			return
		}
		minus := make([]float64, l.d)
		for k := range v {
			v[k] /= norm
			minus[k] = -v[k]
		}
		rays = append(rays, v, minus)
	}
	for k := range min(l.d, 16) {
		v := make([]float64, l.d)
		v[k] = 1
		w := make([]float64, l.d)
		l.law.place(w, v)
		for k, m := range l.Mean {
			w[k] -= m
		}
		add(v)
		add(w)
	}
	for range 4 {
		v := make([]float64, l.d)
		for k := range v {
			v[k] = rng.NormFloat64()
		}
		add(v)
	}
	if l.d > 1 && l.d <= 16 {
		far, f := make([]float64, l.d), make([]float64, l.d)
		gamma := mat.NewDense(l.d, l.d, nil)
		var svd mat.SVD
		var right mat.Dense
		for _, ray := range rays[:len(rays):len(rays)] {
			for k, v := range l.Mean {
				far[k] = v + 1e6*l.size()*ray[k]
			}
			l.eval.fj(f, l.moving, l.law.t, far, l.law.theta)
			for i := range l.d {
				for j := range l.d {
					g := -l.moving.at(i, j)
					if i == j {
						g += l.inv
					}
					gamma.Set(i, j, g)
				}
			}
			if finite(gamma.RawMatrix().Data) && svd.Factorize(gamma, mat.SVDFull) {
				svd.VTo(&right)
				add(mat.Col(nil, l.d-1, &right))
			}
		}
	}
	z := make([]float64, l.d)
	for _, ray := range rays {
		last, slow := 0.0, 0
		for radius := 1e4; radius < 2e8; radius *= 10 {
			for k, v := range l.Mean {
				z[k] = v + radius*l.size()*ray[k]
			}
			q := -l.LogDensity(z)
			if q-q != 0 {
				break // zero or undefined density
			}
			if radius > 1e4 && q-last < float64(l.d)*math.Ln10 {
				slow++
			}
			last = q
		}
		if slow > 0 {
			return &SolveError{l.Problem.Name, l.Method, l.H, l.Step, l.T,
				fmt.Errorf("%w (the direction is %.3g)", ErrImproper, ray)}
		}
	}
	return nil
}

// Moments are normaliser and moments of the exact law of a step.
type Moments struct {
	// LogNormalizer is ln ∫ exp(−½ rᵀH⁻¹r) dz, so that the normalised log
	// density is LogDensity − LogNormalizer.
	LogNormalizer float64
	Mean          []float64
	Cov           *mat.SymDense
	Skewness      []float64 // of each component
	// Error is the estimated relative error of the integral.
	Error float64
}

// Moments computes the moments of the exact law by quadrature, for d ≤ 2. A
// box around all roots that were found grows until the density at its edges
// is below e⁻⁵⁰ of its maximum, and its cells are divided until products of
// Gauss rules of 6 points agree to 10⁻¹⁰ of the integral with those of half
// the width. It is an error if d > 2, if the law does not exist (see
// Normalizable), or if 2¹⁸ cells are not enough.
func (l *StepLaw) Moments() (*Moments, error) {
	c, err := l.cellLaw()
	if err != nil {
		return nil, err
	}
	d := l.d
	m := &Moments{Mean: make([]float64, d), Cov: mat.NewSymDense(d, nil), Skewness: make([]float64, d), Error: c.err}
	m.LogNormalizer = math.Log(c.total) + c.top + l.logDet
	// Deviations from μ first, then from the mean, which spares digits.
	dev := make([]float64, d)
	c.each(func(z []float64, weight float64) {
		for k := range m.Mean {
			m.Mean[k] += weight * (z[k] - l.Mean[k])
		}
	})
	for k, v := range l.Mean {
		m.Mean[k] += v
	}
	cov := make([]float64, d*d)
	c.each(func(z []float64, weight float64) {
		for k := range dev {
			dev[k] = z[k] - m.Mean[k]
		}
		for j, v := range dev {
			for k, w := range dev {
				cov[j*d+k] += weight * v * w
			}
			m.Skewness[j] += weight * v * v * v
		}
	})
	for j := range d {
		for k := range d {
			m.Cov.SetSym(j, k, cov[j*d+k])
		}
	}
	for k := range m.Skewness {
		m.Skewness[k] /= math.Pow(m.Cov.At(k, k), 1.5)
	}
	return m, nil
}

// Sample fills dst, n×d row-major, with independent draws from the exact law,
// for d ≤ 2: a cell of the quadrature is chosen by its share of the integral,
// and a point in it by rejection from the uniform distribution. The errors are
// those of Moments.
func (l *StepLaw) Sample(dst []float64, rng *rand.Rand) error {
	c, err := l.cellLaw()
	if err != nil {
		return err
	}
	if len(dst)%l.d != 0 {
		panic(fmt.Sprintf("probode: dst has length %d: want a multiple of d = %d", len(dst), l.d))
	}
	for !c.sample(dst, rng) {
		c.slack *= 2
	}
	return nil
}

// cellLaw is the exact law on a division of a box in ζ into cells. There the
// law is of the size of 1 wherever the approximation is any good. Densities
// are relative to e^top.
type cellLaw struct {
	l          *StepLaw
	lo, hi     []float64 // the box
	top        float64
	nodes, wts []float64 // Gauss rule on (0, 1)
	leaves     []cell
	sums       []float64 // running sums of the masses of leaves
	total, err float64
	zeta       []float64
	marks      []mark
	slack      float64
}

type cell struct {
	lo, width [2]float64 // second element 0 and 1 for d = 1
	mass      float64    // ∫ over the cell, in ζ, of density / e^top
	peak      float64    // largest value seen, computed when sampled
}

// A mark is a point that a coarse rule might miss: cells that hold it are
// divided until they are no wider than width.
type mark struct {
	at    [2]float64
	width float64
}

const (
	gaussPoints = 6
	maxCells    = 1 << 18
	cellTol     = 1e-10
)

func (l *StepLaw) cellLaw() (*cellLaw, error) {
	if l.d > 2 {
		return nil, fmt.Errorf("%s: quadrature for the law of a step with %d components: want 1 or 2; draw an ensemble of one step for more", l.Problem.Name, l.d)
	}
	if l.cells != nil {
		return l.cells, nil
	}
	if err := l.Normalizable(); err != nil {
		return nil, err
	}
	c := &cellLaw{l: l, lo: make([]float64, 2), hi: []float64{0, 1}, top: math.Inf(-1),
		nodes: make([]float64, gaussPoints), wts: make([]float64, gaussPoints), zeta: make([]float64, l.d), slack: 1.25}
	quad.Legendre{}.FixedLocations(c.nodes, c.wts, 0, 1)
	fail := func(err error) error {
		return &SolveError{l.Problem.Name, l.Method, l.H, l.Step, l.T, err}
	}
	if err := c.findBox(); err != nil {
		return nil, fail(err)
	}
	if err := c.divide(); err != nil {
		return nil, fail(err)
	}
	l.cells = c
	return c, nil
}

// at returns the density relative to e^top at ζ.
func (c *cellLaw) at(zeta [2]float64) float64 {
	return math.Exp(c.log(zeta) - c.top)
}

func (c *cellLaw) log(zeta [2]float64) float64 {
	copy(c.zeta, zeta[:])
	return c.l.logRelative(c.zeta)
}

// findBox finds a box around all of the mass.
func (c *cellLaw) findBox() error {
	l, d := c.l, c.l.d
	for k := range d {
		c.lo[k], c.hi[k] = math.Inf(1), math.Inf(-1)
	}
	include := func(at [2]float64, width float64) {
		for k := range d {
			c.lo[k], c.hi[k] = min(c.lo[k], at[k]-width), max(c.hi[k], at[k]+width)
		}
	}
	include([2]float64{}, 1)
	c.top = c.log([2]float64{})
	var zeta [2]float64
	for _, z := range l.Roots() {
		l.standardize(zeta[:d], z)
		c.top = max(c.top, c.log(zeta))
		c.markRoot(zeta, z)
	}
	for _, m := range c.marks {
		include(m.at, m.width)
	}
	// Local maxima of the density that are not roots.
	var near [][2]float64
	var level []float64
	for _, z := range l.around() {
		l.standardize(zeta[:d], z)
		v := c.log(zeta)
		c.top = max(c.top, v)
		near, level = append(near, zeta), append(level, v)
	}
	for n, at := range near {
		if level[n] > c.top-edge {
			include(at, 0)
		}
	}
	// Each side moves out until the density there has vanished.
	for range 400 {
		grown := false
		for k := range d {
			for _, upper := range []bool{false, true} {
				if c.sideLevel(k, upper) <= c.top-edge {
					continue
				}
				grown = true
				by := (c.hi[k] - c.lo[k]) / 8
				if upper {
					c.hi[k] += by
				} else {
					c.lo[k] -= by
				}
			}
		}
		if !grown {
			return nil
		}
		if c.hi[0]-c.lo[0] > 1e12 || c.hi[1]-c.lo[1] > 1e12 {
			break
		}
	}
	return ErrImproper
}

// edge is how far ln density must fall to the edges of the box. What lies
// beyond is of the order of e⁻⁵⁰.
const edge = 50

// sideLevel returns the largest log density on a side of the box, and raises
// top if it finds a new maximum.
func (c *cellLaw) sideLevel(k int, upper bool) float64 {
	var zeta [2]float64
	zeta[k] = c.lo[k]
	if upper {
		zeta[k] = c.hi[k]
	}
	level, n := math.Inf(-1), 256
	if c.l.d == 1 {
		n = 0
	}
	for m := range n + 1 {
		if n > 0 {
			o := 1 - k
			zeta[o] = c.lo[o] + (c.hi[o]-c.lo[o])*float64(m)/float64(n)
		}
		level = max(level, c.log(zeta))
	}
	c.top = max(c.top, level)
	return level
}

// markRoot marks a root and, around it, points of the ellipse in which the
// law is about N(root, (AᵀA)⁻¹), A = ∂u/∂ζ = J⁻¹Γ(root)Γ⁻¹J.
func (c *cellLaw) markRoot(zeta [2]float64, z []float64) {
	l, d := c.l, c.l.d
	f, unit := make([]float64, d), make([]float64, d)
	l.eval.fj(f, l.moving, l.law.t, z, l.law.theta)
	a := mat.NewDense(d, d, nil)
	for k := range d {
		clear(unit)
		unit[k] = 1
		v, w := make([]float64, d), make([]float64, d)
		l.law.jac.addMul(v, 1, unit)
		l.law.gamma.solve(v)
		for j, x := range v {
			w[j] = l.inv * x
		}
		l.moving.addMul(w, -1, v)
		l.law.negJ.solve(w)
		for j, x := range w {
			a.Set(j, k, -x)
		}
	}
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDFull) {
		return
	}
	var right mat.Dense
	svd.VTo(&right)
	s := svd.Values(nil)
	// Where the law is not N(root, …) at all, as near a multiple root, a linear
	// reach of more than 30 means nothing.
	const farthest = 30
	least := min(1/s[0], farthest)
	c.marks = append(c.marks, mark{zeta, least})
	for k := range d {
		reach := min(1/s[k], farthest)
		for _, r := range []float64{-4, -2, -1, 1, 2, 4} {
			at := zeta
			for j := range d {
				at[j] += r * reach * right.At(j, k)
			}
			c.marks = append(c.marks, mark{at, least})
		}
	}
}

// divide makes the cells.
func (c *cellLaw) divide() error {
	d := c.l.d
	n := [2]int{64, 1}
	if d == 2 {
		n = [2]int{16, 16}
	}
	var active []cell
	for i := range n[0] {
		for j := range n[1] {
			q := cell{}
			for k, m := range [2]int{i, j} {
				q.width[k] = (c.hi[k] - c.lo[k]) / float64(n[k])
				q.lo[k] = c.lo[k] + float64(m)*q.width[k]
			}
			c.integrate(&q)
			c.total += q.mass
			active = append(active, q)
		}
	}
	for len(active) > 0 {
		var next []cell
		var settled float64
		for _, q := range active {
			parts := c.split(q)
			var sum float64
			for n := range parts {
				c.integrate(&parts[n])
				sum += parts[n].mass
			}
			off := math.Abs(sum - q.mass)
			if c.marked(q) || !(off <= cellTol*c.total) {
				next = append(next, parts...)
			} else {
				c.leaves = append(c.leaves, parts...)
				c.err += off
			}
			settled += sum - q.mass
		}
		c.total += settled
		active = next
		if len(active)+len(c.leaves) > maxCells {
			return fmt.Errorf("quadrature of the exact law did not converge with %d cells: the density has features that are too narrow", maxCells)
		}
	}
	c.total = 0
	for _, q := range c.leaves {
		c.total += q.mass
		c.sums = append(c.sums, c.total)
	}
	if !(c.total > 0) || math.IsInf(c.total, 1) {
		return fmt.Errorf("quadrature of the exact law found an integral of %g", c.total)
	}
	c.err /= c.total
	return nil
}

// marked reports whether q holds a mark and is wider than it allows.
func (c *cellLaw) marked(q cell) bool {
	for _, m := range c.marks {
		in, wide := true, false
		for k := range c.l.d {
			in = in && m.at[k] >= q.lo[k] && m.at[k] <= q.lo[k]+q.width[k]
			wide = wide || q.width[k] > m.width
		}
		if in && wide {
			return true
		}
	}
	return false
}

// split divides q in halves in each dimension.
func (c *cellLaw) split(q cell) []cell {
	parts := []cell{q}
	for k := range c.l.d {
		for n := range parts {
			parts[n].width[k] /= 2
			other := parts[n]
			other.lo[k] += other.width[k]
			parts = append(parts, other)
		}
	}
	return parts
}

func (c *cellLaw) integrate(q *cell) {
	q.mass = 0
	c.eachIn(q, func(v, weight float64) { q.mass += v * weight })
}

// eachIn calls do with the density and the weight of every node in q; the
// state of the node is in l.law.z.
func (c *cellLaw) eachIn(q *cell, do func(v, weight float64)) {
	for i, x := range c.nodes {
		at := [2]float64{q.lo[0] + x*q.width[0]}
		w := c.wts[i] * q.width[0]
		if c.l.d == 1 {
			do(c.at(at), w)
			continue
		}
		for j, y := range c.nodes {
			at[1] = q.lo[1] + y*q.width[1]
			do(c.at(at), w*c.wts[j]*q.width[1])
		}
	}
}

// each calls do with the states of all nodes and weights that add up to 1.
func (c *cellLaw) each(do func(z []float64, weight float64)) {
	for n := range c.leaves {
		c.eachIn(&c.leaves[n], func(v, weight float64) { do(c.l.law.z, v*weight/c.total) })
	}
}

// sample reports false if a density was found above the bound of its cell,
// with which none of the draws would be exact.
func (c *cellLaw) sample(dst []float64, rng *rand.Rand) bool {
	d := c.l.d
	for n := 0; n < len(dst); n += d {
		pick := sort.SearchFloat64s(c.sums, c.total*(1-rng.Float64())) // in (0, total]
		q := &c.leaves[pick]
		if q.peak == 0 {
			c.findPeak(q)
		}
		for {
			at := [2]float64{q.lo[0] + q.width[0]*rng.Float64()}
			if d == 2 {
				at[1] = q.lo[1] + q.width[1]*rng.Float64()
			}
			v := c.at(at)
			if v > c.slack*q.peak {
				return false
			}
			if c.slack*q.peak*rng.Float64() < v {
				copy(dst[n:n+d], c.l.law.z)
				break
			}
		}
	}
	return true
}

// findPeak looks at the nodes, the corners and the middles of the sides. The
// law is smooth in a cell, since the rule has converged there, and slack times
// the largest value bounds it.
func (c *cellLaw) findPeak(q *cell) {
	c.eachIn(q, func(v, _ float64) { q.peak = max(q.peak, v) })
	for i := range 3 {
		for j := range 3 {
			q.peak = max(q.peak, c.at([2]float64{q.lo[0] + q.width[0]*float64(i)/2, q.lo[1] + q.width[1]*float64(j)/2}))
		}
	}
}
