package probode

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Calibration chooses the noise scale α so that the spread of the ensemble
// has the size of the error it is there to describe. With mᵢₖ and vᵢₖ the
// mean and variance of an ensemble at grid point i in component k, and Eᵢₖ an
// indicator of the global error of the classical method there, the score is
//
//	S(α) = −Σᵢₖ B(N(mᵢₖ, vᵢₖ), N(mᵢₖ, Eᵢₖ²)),
//	B = ¼ log ¼(v/E² + E²/v + 2),
//
// minus the sum of the Bhattacharyya distances, which is at most 0, and α* is
// where it is largest [C16, §3.1]. The same ξ is used for every α, and the
// noise scales with √α, so that S is a smooth function of log α.

// An Indicator estimates the global error of the classical method of s, at
// θ, on the grid of s.
type Indicator func(ctx context.Context, s *Solver, theta []float64) (*ErrorEstimate, error)

// An ErrorEstimate is what an Indicator gives.
type ErrorEstimate struct {
	// E is the estimated error, row-major (N+1)×d; its sign does not matter.
	E []float64
	// Accuracy is the error of E itself, element by element, as far as it is
	// known; nil if it is not.
	Accuracy []float64
}

// Richardson is the Indicator that needs no accurate solution: the scaled
// difference to the same method with every step cut in halves,
//
//	E = (Z_h − Z_{h/2}) · 2^q / (2^q − 1),
//
// q the order of the method. It is right to leading order in h.
func Richardson(ctx context.Context, s *Solver, theta []float64) (*ErrorEstimate, error) {
	if err := s.MoveTo(theta); err != nil {
		return nil, err
	}
	fine, err := NewSolver(s.p, s.m, s.g.Refine(), 0)
	if err != nil {
		return nil, err
	}
	defer fine.Bind(ctx)()
	z, y := make([]float64, s.PathLen()), make([]float64, fine.PathLen())
	if err := s.Solve(z, theta, nil); err != nil {
		return nil, err
	}
	if err := fine.Solve(y, theta, nil); err != nil {
		return nil, err
	}
	two := math.Exp2(float64(s.m.Order()))
	for i := range s.g.t {
		at := row(y, s.g.refined(i), s.d)
		for k, v := range row(z, i, s.d) {
			z[i*s.d+k] = (v - at[k]) * two / (two - 1)
		}
	}
	return &ErrorEstimate{E: z}, nil
}

// CalibrateSettings says how Calibrate and Score work.
type CalibrateSettings struct {
	// StepSize is h, for a uniform grid.
	StepSize float64
	// Mesh, if not nil, makes the grid and takes the place of StepSize.
	Mesh Mesh
	// Scaling says how the size of the noise goes with the step; zero is the
	// default of the grid.
	Scaling Scaling
	// Theta is the parameter value; nil means Problem.Theta.
	Theta []float64
	// Indicator is the measure of the error; nil means Richardson.
	// reference.TrueError takes the difference to an accurate solution.
	Indicator Indicator
	// Components are those components of the state, counted from 0, that take
	// part in the score; nil means all.
	Components []int
	// Paths is the size of the ensemble; zero means 1000. The standard error
	// of log α* falls with its square root.
	Paths int
	// Bracket holds the smallest and the largest α considered. Zero means
	// 1e-6 and 1e6, and what lies beyond if the ensemble is still too wide at
	// the one or too narrow at the other: which α is right goes with the
	// units of the state, and with a high power of those of time.
	Bracket [2]float64
	// Seed determines the noise, which is the same for every α.
	Seed uint64
	// Workers is the number of goroutines; zero means the number of cores. It
	// changes no bit of the result.
	Workers int
	// Progress, if not nil, is called with the number of evaluations of the
	// score done and an upper bound of their number, which grows where the
	// bracket has to.
	Progress func(done, total int)
}

// A Calibration is the result of Calibrate.
type Calibration struct {
	// Alpha is α*, and SE its Monte Carlo standard error, by the jackknife
	// over groups of paths, NaN if a path cannot be solved close to α*. α*
	// belongs to the problem, to θ and to the units of the state: with a state
	// ten times as large it is a hundred times as large.
	Alpha, SE float64
	// Curve is the score on a logarithmic grid over the bracket, from the
	// first 100 paths. Curve[i].Score is −Inf where a path failed.
	Curve []ScorePoint
	// Points is the number of terms of the score: of grid points times
	// components. LeftOut counts the terms that are not in it.
	Points  int
	LeftOut LeftOut
	// AtEdge says that the optimum is at an edge of the bracket, so that
	// Alpha is not a maximum of the score. It does not happen with a Bracket
	// of zero as long as α* is in [1e-100, 1e100].
	AtEdge bool
	// Warnings says in words what a user should know about the above.
	Warnings []string
}

// A ScorePoint is a value of the score.
type ScorePoint struct{ Alpha, Score float64 }

// LeftOut counts the grid points, times components, that are not in a score,
// by reason. The start and the start-up, where there is no noise, are not
// counted.
type LeftOut struct {
	// Small: the error is below 10⁻⁴ of the largest error in its component.
	// The distance depends on ratios, so that where an error crosses zero or
	// a state decays to nothing a few points would decide alone.
	Small int
	// Uncertain: the error is not known to better than 1 %.
	Uncertain int
}

// Calibrate finds α* for p and m at the given step size. The error wraps
// that of the indicator, of ctx, or of the classical solution.
func Calibrate(ctx context.Context, p *Problem, m Method, s CalibrateSettings) (*Calibration, error) {
	c, err := newCalibrator(ctx, p, m, s)
	if err != nil {
		return nil, err
	}
	defer c.release()
	out := &Calibration{Points: len(c.used), LeftOut: c.left}
	lo, hi := math.Log(c.s.Bracket[0]), math.Log(c.s.Bracket[1])

	// A scan with few paths finds the neighbourhood of the maximum.
	const perDecade, refinements = 3, 16
	n := max(2, int(math.Ceil((hi-lo)/math.Ln10*perDecade)))
	c.total = n + 1 + refinements
	point := func(i int) (ScorePoint, float64, error) {
		a := math.Exp(lo + (hi-lo)*float64(i)/float64(n))
		if i == 0 || i == n {
			a = c.s.Bracket[min(i, 1)] // not off by a rounding
		}
		v, width, err := c.score(ctx, a, min(c.s.Paths, 100))
		return ScorePoint{a, v}, width, err
	}
	best, first := 0, 0 // the latter is the number of Curve[0]
	var low, high float64
	for i := range n + 1 {
		p, width, err := point(i)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			low = width
		}
		high = width
		if out.Curve = append(out.Curve, p); p.Score > out.Curve[best].Score {
			best = i
		}
	}
	if s.Bracket == [2]float64{} {
		// The width tells on which side the maximum lies even where the score
		// does not: where the noise is lost in the rounding of the path, or
		// no path can be solved.
		const most = 94 * perDecade // to 1e100, and 1e-100
		for i := n + 1; i <= n+most && (high < 0 || best == len(out.Curve)-1); i++ {
			c.total++
			p, width, err := point(i)
			if err != nil {
				return nil, err
			}
			high = width
			if out.Curve = append(out.Curve, p); p.Score > out.Curve[best].Score {
				best = i
			}
		}
		for ; first > -most && (low > 0 || best == 0); first-- {
			c.total++
			p, width, err := point(first - 1)
			if err != nil {
				return nil, err
			}
			low = width
			out.Curve = slices.Insert(out.Curve, 0, p)
			if best++; p.Score >= out.Curve[best].Score {
				best = 0
			}
		}
	}
	last := len(out.Curve) - 1
	if math.IsInf(out.Curve[best].Score, -1) {
		return nil, fmt.Errorf("%s, %v, %v: no alpha in [%.3g, %.3g] has an ensemble with spread in which all paths can be solved", p.title(), m, c.solver.g, out.Curve[0].Alpha, out.Curve[last].Alpha)
	}
	if best == 0 || best == last {
		out.AtEdge = true
		out.Alpha, out.SE = out.Curve[best].Alpha, math.NaN()
		out.Warnings = append(out.Warnings, fmt.Sprintf("the score is still rising at the edge of the bracket, alpha = %.3g: widen Bracket; if that does not help, the noise of %v has the wrong size for its error at %v", out.Alpha, m, c.solver.g))
		c.warn(out)
		return out, nil
	}

	// Within a step of the scan the score is close to a parabola of log α. A
	// hundredth of the standard error at 1000 paths is close enough.
	var failed error
	f := func(x float64) float64 {
		v, _, err := c.score(ctx, math.Exp(x), c.s.Paths)
		if err != nil {
			failed = errors.Join(failed, err)
		}
		return -v
	}
	width := (hi - lo) / float64(n)
	at := lo + width*float64(first+best)
	x := minimize(f, at-width, at, at+width, 4e-4, refinements-2)
	if failed != nil {
		return nil, failed
	}
	out.Alpha = math.Exp(x)
	rel, err := c.jackknife(ctx, out.Alpha)
	if err != nil {
		return nil, err
	}
	out.SE = rel * out.Alpha
	if math.IsNaN(rel) || math.IsInf(out.Curve[best+1].Score, -1) && out.Alpha > out.Curve[best].Alpha {
		out.Warnings = append(out.Warnings, fmt.Sprintf("close above alpha = %.3g paths can no longer be solved, which cuts off the score there: take alpha* for a lower bound, or a smaller step", out.Alpha))
	}
	if s.Progress != nil {
		s.Progress(c.total, c.total)
	}
	c.warn(out)
	return out, nil
}

// Score returns S(α) for each of alphas, from all of the paths of s: −Inf
// where a path could not be solved, or where the ensemble has no spread.
func Score(ctx context.Context, p *Problem, m Method, alphas []float64, s CalibrateSettings) ([]float64, error) {
	c, err := newCalibrator(ctx, p, m, s)
	if err != nil {
		return nil, err
	}
	defer c.release()
	c.total = len(alphas)
	out := make([]float64, len(alphas))
	for i, a := range alphas {
		if !(a > 0) || math.IsInf(a, 1) {
			return nil, fmt.Errorf("%s: alpha is %g: want a finite number > 0", p.title(), a)
		}
		if out[i], _, err = c.score(ctx, a, c.s.Paths); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// A calibrator evaluates the score.
type calibrator struct {
	s       CalibrateSettings
	solver  *Solver
	theta   []float64
	used    []int     // positions in a path that take part
	e2      []float64 // E² there
	left    LeftOut
	workers []*worker
	release func()
	done    int
	total   int
}

func newCalibrator(ctx context.Context, p *Problem, m Method, s CalibrateSettings) (c *calibrator, err error) {
	if s.Paths == 0 {
		s.Paths = 1000
	}
	if s.Bracket == [2]float64{} {
		s.Bracket = [2]float64{1e-6, 1e6}
	}
	if err := checkRun(ctx, p, s.Paths, s.Workers); err != nil {
		return nil, err
	}
	switch {
	case s.Paths < 2*jackknifeGroups:
		return nil, fmt.Errorf("%s: %d paths: want at least %d to calibrate", p.title(), s.Paths, 2*jackknifeGroups)
	case !(s.Bracket[0] > 0 && s.Bracket[0] < s.Bracket[1]) || math.IsInf(s.Bracket[1], 1):
		return nil, fmt.Errorf("%s: Bracket is [%g, %g]: want 0 < smallest < largest alpha", p.title(), s.Bracket[0], s.Bracket[1])
	}
	grid := Settings{StepSize: s.StepSize, Mesh: s.Mesh, Scaling: s.Scaling, Theta: s.Theta}
	solver, theta, err := grid.solver(ctx, p, m)
	if err != nil {
		return nil, err
	}
	release := solver.Bind(ctx)
	defer func() {
		if err != nil {
			release()
		}
	}()
	c = &calibrator{s: s, solver: solver, theta: theta, release: release, workers: make([]*worker, workerCount(s.Workers))}
	components := s.Components
	if components == nil {
		for k := range solver.d {
			components = append(components, k)
		}
	}
	for _, k := range components {
		if k < 0 || k >= solver.d {
			return nil, fmt.Errorf("%s: component %d in Components: want 0 to %d", p.title(), k, solver.d-1)
		}
	}
	indicator := s.Indicator
	if indicator == nil {
		indicator = Richardson
	}
	z := make([]float64, solver.PathLen())
	if err := solver.run(z, nil, c.theta, nil, 0, solver.Steps()); err != nil {
		return nil, fmt.Errorf("classical solution: %w", err)
	}
	est, err := indicator(ctx, solver, c.theta)
	if err != nil {
		return nil, fmt.Errorf("%s: error indicator: %w", p.title(), err)
	}
	if len(est.E) != len(z) || est.Accuracy != nil && len(est.Accuracy) != len(z) {
		return nil, fmt.Errorf("%s: error indicator: %d errors and %d accuracies: want %d", p.title(), len(est.E), len(est.Accuracy), len(z))
	}
	const small = 1e-4 // see LeftOut
	d := solver.d
	largest := make([]float64, d)
	for i, v := range est.E {
		largest[i%d] = max(largest[i%d], math.Abs(v))
	}
	for i := solver.Startup() + 1; i < len(solver.g.t); i++ {
		for _, k := range components {
			e := math.Abs(est.E[i*d+k])
			switch {
			case !(e > small*largest[k]):
				c.left.Small++
			case est.Accuracy != nil && !(e > 100*est.Accuracy[i*d+k]):
				c.left.Uncertain++
			default:
				c.used = append(c.used, i*d+k)
				c.e2 = append(c.e2, e*e)
			}
		}
	}
	if len(c.used) == 0 {
		return nil, fmt.Errorf("%s, %v, %v: the error is nowhere large enough to be matched (%d points below 1e-4 of its largest value, %d not known to 1 %%): take a larger step or a more accurate indicator",
			p.title(), m, solver.g, c.left.Small, c.left.Uncertain)
	}
	return c, nil
}

func (c *calibrator) warn(out *Calibration) {
	// A few points where an error crosses zero are as it should be.
	if n := c.left.Small + c.left.Uncertain; 10*n > n+len(c.used) {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d of %d points are not in the score: at %d the error is below 1e-4 of its largest value, at %d it is not known to 1 %%",
			n, n+len(c.used), c.left.Small, c.left.Uncertain))
	}
}

// jackknifeGroups is the number of groups of paths whose moments are kept
// apart. It also is the grain of parallel work.
const jackknifeGroups = 20

// groups returns the moments at the used points of the paths 0, …, n−1 in
// jackknifeGroups groups, and false if a path failed.
func (c *calibrator) groups(ctx context.Context, alpha float64, n int) ([]moments, bool, error) {
	type group struct {
		m  moments
		ok bool
	}
	var out []moments
	allOK := true
	err := Ordered(ctx, jackknifeGroups, len(c.workers), func(w, g int) group {
		if c.workers[w] == nil {
			c.workers[w] = newWorker(c.solver)
		}
		wk := c.workers[w]
		wk.solver.SetAlpha(alpha)
		r := group{newMoments(len(c.used)), true}
		at := make([]float64, len(c.used))
		for path := g * n / jackknifeGroups; path < (g+1)*n/jackknifeGroups; path++ {
			if wk.solver.SolvePath(wk.z, c.theta, wk.xi, c.s.Seed, uint64(path)) != nil {
				r.ok = false
				break
			}
			for k, i := range c.used {
				at[k] = wk.z[i]
			}
			r.m.add(at)
		}
		return r
	}, func(g group) {
		allOK = allOK && g.ok
		out = append(out, g.m)
	})
	c.done++
	if c.s.Progress != nil && err == nil {
		c.s.Progress(min(c.done, c.total), c.total)
	}
	return out, allOK, err
}

// score returns S(α) from the first n paths, and the width of the ensemble as
// match does; one of which a path cannot be solved is too wide.
func (c *calibrator) score(ctx context.Context, alpha float64, n int) (v, width float64, err error) {
	groups, ok, err := c.groups(ctx, alpha, n)
	if err != nil {
		return 0, 0, err
	}
	if !ok {
		return math.Inf(-1), 1, nil
	}
	all := newMoments(len(c.used))
	for g := range groups {
		all.merge(&groups[g])
	}
	v, width = c.match(&all)
	return v, width, nil
}

// match returns the score of an ensemble with moments m, and whether it is on
// the whole too narrow or too wide: the mean of (v − E²)/(v + E²), from −1 to 1.
// It is −4/Points times the slope of the score in log α where the variances grow
// like α.
func (c *calibrator) match(m *moments) (v, width float64) {
	var sum float64
	for k, m2 := range m.m2 {
		ratio := m2 / float64(m.n-1) / c.e2[k]
		sum -= math.Log(0.25 * (ratio + 1/ratio + 2))
		width += 1 - 2/(1+ratio)
	}
	width /= float64(len(m.m2))
	if math.IsNaN(sum) {
		return math.Inf(-1), width
	}
	return sum / 4, width
}

// jackknife returns the standard error of log α*. The score with a group of
// paths left out is a parabola near α*, given by its values at three points.
func (c *calibrator) jackknife(ctx context.Context, alpha float64) (float64, error) {
	const delta = 0.2 // in log α: small against the width of the maximum
	var at [3][]float64
	for j := range at {
		groups, ok, err := c.groups(ctx, alpha*math.Exp(delta*float64(j-1)), c.s.Paths)
		if err != nil {
			return 0, err
		}
		if !ok {
			return math.NaN(), nil
		}
		for leave := range groups {
			rest := newMoments(len(c.used))
			for g := range groups {
				if g != leave {
					rest.merge(&groups[g])
				}
			}
			v, _ := c.match(&rest)
			at[j] = append(at[j], v)
		}
	}
	var x moments = newMoments(1)
	for g := range at[0] {
		l, m, r := at[0][g], at[1][g], at[2][g]
		x.add([]float64{delta / 2 * (l - r) / (l - 2*m + r)})
	}
	n := float64(x.n)
	return math.Sqrt((n - 1) / n * x.m2[0]), nil
}

// minimize returns the minimum of f in (a, c) by Brent's method, golden
// section with parabolic steps [Brent 1973, §5.8], to within tol, given a
// point b between whose value is lower than those at a and c. gonum/optimize
// has no scalar method without derivatives.
func minimize(f func(float64) float64, a, b, c, tol float64, most int) float64 {
	const golden = 0.3819660112501051
	x, w, v := b, b, b
	fx := f(b)
	fw, fv := fx, fx
	var step, before float64
	for range most {
		mid := (a + c) / 2
		if math.Abs(x-mid) <= 2*tol-(c-a)/2 {
			break
		}
		parabola := false
		if math.Abs(before) > tol {
			r := (x - w) * (fx - fv)
			q := (x - v) * (fx - fw)
			p := (x-v)*q - (x-w)*r
			q = 2 * (q - r)
			if q > 0 {
				p = -p
			}
			q = math.Abs(q)
			if math.Abs(p) < math.Abs(q*before/2) && p > q*(a-x) && p < q*(c-x) {
				before, step = step, p/q
				parabola = true
				if u := x + step; u-a < 2*tol || c-u < 2*tol {
					step = math.Copysign(tol, mid-x)
				}
			}
		}
		if !parabola {
			before = c - x
			if x >= mid {
				before = a - x
			}
			step = golden * before
		}
		u := x + step
		if math.Abs(step) < tol {
			u = x + math.Copysign(tol, step)
		}
		fu := f(u)
		if fu <= fx {
			if u < x {
				c = x
			} else {
				a = x
			}
			v, fv, w, fw, x, fx = w, fw, x, fx, u, fu
			continue
		}
		if u < x {
			a = u
		} else {
			c = u
		}
		if fu <= fw || w == x {
			v, fv, w, fw = w, fw, u, fu
		} else if fu <= fv || v == x || v == w {
			v, fv = u, fu
		}
	}
	return x
}
