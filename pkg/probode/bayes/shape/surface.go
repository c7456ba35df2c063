package shape

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
)

// A Surface is the log posterior density of a Density as a function that can be
// expanded about a point. All derivatives of a posterior are computed here. It is a
// Function of the unconstrained parameters.
//
// The distribution of each value of the data depends on its locations: the expected
// value, and the unknown numbers of its likelihood. With the derivative J of the
// locations, their score s and Fisher's information I, the gradient is Jᵀs and the
// information JᵀIJ, plus the contributions of the priors.
//
// J comes from differences of solves, or from derivatives of the path (see Exact). In a
// model of many experiments, only those that depend on a coordinate are solved again,
// and none for the size of the errors. From one point of a climb to the next, J is
// corrected by the change of the locations in the step [Broyden 1965], for each
// experiment separately and in the coordinates on which it depends [Schubert 1970].
// That needs no solve.
type Surface struct {
	// Low and High are the bounds of coordinates that are moved on their own scale (see
	// Param.Natural), otherwise ±∞.
	Low, High []float64

	// Steps are the half widths of the differences. NewSurface sets them to 10⁻⁵ of the
	// width of the priors, because posteriors may be much narrower.
	Steps []float64

	// Forward uses one-sided differences, which need half the work and give a rough
	// gradient.
	Forward bool

	// Exact uses derivatives of the path if the method has them. For explicit methods a
	// direction costs about five solves, while a difference costs one or two. If the
	// solver has no derivatives, as the accurate one, they come from a Dormand–Prince
	// method with steps chosen at the point, provided that its predictions of the data are
	// the same there.
	Exact bool

	// Progress, if not nil, is called before each coordinate of a differentiation.
	Progress func(done, total int)

	// Draws is the number of draws for an estimate of Fisher's information of a value of
	// the data, if it has no closed form. NewSurface sets it to 256.
	Draws int

	e         *bayes.Density
	blocks    []Block
	theta, xi []float64
	precision *mat.SymDense
	gradient  *mat.VecDense
	parts     []part
	lent      *bayes.Density // the density whose derivatives stand in, nil if there is none
	asked     bool           // lent has been determined
}

// A part is one experiment in a Surface.
type part struct {
	cols   []int  // coordinates on which it depends
	solved []bool // whether these occur in its equations
	noise  int    // where its ξ begins

	state []float64    // at the point of the last locate
	base  []float64    // locations
	cells []bayes.Cell // of the data
	jac   []float64    // derivative of the locations in cols, row by row; nil before it was taken

	before, was []float64 // base and jac at the point before
}

// NewSurface returns the surface of e, and uses e for its solves. With blocks its
// coordinates are (θ, v), where v are the sums of ξ over the blocks, which are N(0, 1)
// in the prior.
func NewSurface(e *bayes.Density, blocks ...Block) *Surface {
	d := e.Dim()
	n := d + len(blocks)
	s := &Surface{e: e, blocks: blocks, Draws: 256,
		theta: make([]float64, d), Steps: make([]float64, n), Low: make([]float64, n), High: make([]float64, n),
		precision: mat.NewSymDense(n, nil), gradient: mat.NewVecDense(n, nil)}
	if len(blocks) > 0 {
		s.xi = make([]float64, e.NoiseLen())
	}
	for k := range s.Steps {
		s.Steps[k] = 1e-3 // the width of N(0, 1) is 1
		s.Low[k], s.High[k] = math.Inf(-1), math.Inf(1)
	}
	for k := range d {
		// The posterior may be much narrower than the prior.
		s.Steps[k] = 1e-5 * math.Abs(e.PriorQuantile(k, 0.75)-e.PriorQuantile(k, 0.25))
		if !(s.Steps[k] > 0) || math.IsInf(s.Steps[k], 1) {
			s.Steps[k] = 1e-5
		}
		if p := e.Posterior().Params[k]; p.Natural {
			// The bound itself is outside.
			const inside = 1e-3
			prior := p.Prior
			s.Low[k], s.High[k] = prior.Quantile(0)+inside*s.Steps[k], prior.Quantile(1)-inside*s.Steps[k]
		}
	}
	at := 0
	for i := range e.Posterior().Experiments {
		r := e.Part(i)
		p := part{noise: at, cells: r.Cells()}
		at += r.NoiseLen()
		for k := range d {
			if any, solved := r.Depends(k, len(blocks) > 0); any {
				p.cols, p.solved = append(p.cols, k), append(p.solved, solved)
			}
		}
		for i, b := range blocks {
			if b.From >= p.noise && b.From < at {
				p.cols, p.solved = append(p.cols, d+i), append(p.solved, true)
			}
		}
		s.parts = append(s.parts, p)
	}
	return s
}

// Use makes s use e, another density of the same posterior, from now on.
func (s *Surface) Use(e *bayes.Density) { s.e = e }

// place sets θ and ξ to those of x, and returns the log density of the prior.
func (s *Surface) place(x []float64) float64 {
	d := len(s.theta)
	lp := s.e.Constrain(s.theta, x[:d])
	clear(s.xi)
	for i := range s.blocks {
		v := x[d+i]
		s.blocks[i].Add(s.xi, v)
		lp -= v * v / 2
	}
	return lp
}

// Value returns the log density at x, −∞ if it cannot be evaluated. The density then
// holds the expected values of the data.
func (s *Surface) Value(x []float64) float64 {
	lp := s.place(x)
	if math.IsInf(lp, 0) {
		return math.Inf(-1)
	}
	ll, err := s.e.LogLikelihood(s.theta, s.xi)
	if err != nil || math.IsNaN(ll) {
		return math.Inf(-1)
	}
	return lp + ll
}

// Expand computes the derivatives at p.X. If the density jumps because its steps are
// chosen at every θ, the value is that with the steps at p.X.
func (s *Surface) Expand(p *Point) bool {
	s.e.Constrain(s.theta, p.X[:len(s.theta)])
	defer s.e.Hold(s.theta)()
	if math.IsInf(s.Value(p.X), 0) {
		return false
	}
	s.locate()
	if !s.Exact || !s.along(p.X) {
		if !s.differentiate(p.X, true) {
			return false
		}
	}
	return s.assemble(p)
}

// locate stores the states and locations of the last evaluation, and the cells of the
// data there.
func (s *Surface) locate() {
	rng := probode.Stream(0x73636f7265)
	for i := range s.parts {
		p, r := &s.parts[i], s.e.Part(i)
		p.state = append(p.state[:0], s.e.States(i)...)
		p.base = r.Locations(p.base[:0])
		r.Score(p.cells, s.Draws, rng)
	}
}

// differentiate sets the derivatives of the locations at x, where the density was last
// evaluated: all of them, or only those in coordinates that occur in no equation.
func (s *Surface) differentiate(x []float64, all bool) bool {
	var plus, minus []float64
	for k, at := range x {
		if s.Progress != nil && all {
			s.Progress(k, len(x))
		}
		h := s.Steps[k]
		// look moves coordinate k by h, and returns the locations of the parts that depend on
		// it, one after another. It returns false outside the bounds.
		look := func(dst []float64, h float64) ([]float64, bool) {
			x[k] = at + h
			defer func() { x[k] = at }()
			if math.IsInf(s.place(x), 0) {
				return dst, false
			}
			ok := true
			var ll float64
			var err error
			for i := range s.parts {
				p, r := &s.parts[i], s.e.Part(i)
				m, found := slices.BinarySearch(p.cols, k)
				if !found || p.solved[m] && !all {
					continue
				}
				if p.solved[m] {
					var xi []float64
					if s.xi != nil {
						xi = s.xi[p.noise:]
					}
					ll, err = r.LogLikelihood(s.theta, xi)
				} else {
					ll, err = r.Observe(s.theta)
				}
				ok = ok && err == nil && finite(ll)
				dst = r.Locations(dst)
				copy(s.e.States(i), p.state)
			}
			return dst, ok
		}
		var up, down bool
		if plus, up = look(plus[:0], h); len(plus) == 0 && up {
			continue // nothing depends on it, or nothing that is requested
		}
		if minus = minus[:0]; !s.Forward || !up {
			if minus, down = look(minus, -h); !down && !up {
				return false
			}
		}
		for i := range s.parts {
			p := &s.parts[i]
			m, found := slices.BinarySearch(p.cols, k)
			if !found || p.solved[m] && !all {
				continue
			}
			n, w := len(p.base), len(p.cols)
			if p.jac == nil {
				p.jac = make([]float64, n*w)
			}
			for j, base := range p.base {
				switch {
				case up && down:
					p.jac[j*w+m] = (plus[j] - minus[j]) / (2 * h)
				case up:
					p.jac[j*w+m] = (plus[j] - base) / h
				default: // at a bound
					p.jac[j*w+m] = (base - minus[j]) / h
				}
			}
			plus = plus[min(n, len(plus)):]
			minus = minus[min(n, len(minus)):]
		}
	}
	s.place(x)
	return true
}

// Follow corrects the derivatives by the change of the locations since the last point.
func (s *Surface) Follow(point *Point, from []float64) bool {
	to := point.X
	for i := range s.parts {
		p := &s.parts[i]
		p.before, p.was = append(p.before[:0], p.base...), append(p.was[:0], p.jac...)
	}
	s.locate()
	if !s.differentiate(to, false) {
		return false
	}
	for i := range s.parts {
		p := &s.parts[i]
		// Lengths are measured in the diagonal of the metric.
		w := len(p.cols)
		weight := make([]float64, w)
		var square float64
		for m, k := range p.cols {
			if p.solved[m] {
				weight[m] = (to[k] - from[k]) * (point.Information.At(k, k) + 1e-12)
				square += weight[m] * (to[k] - from[k])
			}
		}
		if !(square > 0) {
			continue
		}
		for j := range p.base {
			miss := p.base[j] - p.before[j]
			was, jac := p.was[j*w:(j+1)*w], p.jac[j*w:(j+1)*w]
			for m, k := range p.cols {
				miss -= (to[k] - from[k]) * (was[m] + jac[m]) / 2
			}
			for m, v := range weight {
				jac[m] += miss * v / square
			}
		}
	}
	return s.assemble(point)
}

// assemble computes the expansion at point from the derivatives of the locations, and
// reports whether it is finite.
func (s *Surface) assemble(point *Point) bool {
	x := point.X
	s.gradient.Zero()
	s.precision.Zero()
	for i := range s.parts {
		p := &s.parts[i]
		if len(p.cols) == 0 {
			continue
		}
		w := len(p.cols)
		full, gradient, scaled := make([]float64, w*w), make([]float64, w), make([]float64, w)
		for _, c := range p.cells {
			for i := range c.Score {
				clear(scaled)
				for j := range c.Score {
					if v := c.Information[i*len(c.Score)+j]; v != 0 {
						floats.AddScaled(scaled, v, p.jac[(c.At+j)*w:(c.At+j+1)*w])
					}
				}
				row := p.jac[(c.At+i)*w : (c.At+i+1)*w]
				floats.AddScaled(gradient, c.Score[i], row)
				for a, v := range row {
					if v != 0 {
						floats.AddScaled(full[a*w+a:(a+1)*w], v, scaled[a:])
					}
				}
			}
		}
		for a, i := range p.cols {
			s.gradient.SetVec(i, s.gradient.AtVec(i)+gradient[a])
			for b, j := range p.cols[a:] {
				s.precision.SetSym(i, j, s.precision.At(i, j)+full[a*w+a+b])
			}
		}
	}
	// Add the priors.
	d := len(s.theta)
	priors := make([]float64, len(x))
	add := func(k int, gradient, curvature float64) {
		priors[k] = curvature
		s.gradient.SetVec(k, s.gradient.AtVec(k)+gradient)
		s.precision.SetSym(k, k, s.precision.At(k, k)+curvature)
	}
	for k := range d {
		at, h := x[k], 100*s.Steps[k]
		prior := func(u float64) float64 {
			return s.e.PriorLogProb(k, u)
		}
		up, here, down := prior(at+h), prior(at), prior(at-h)
		if g, c := (up-down)/(2*h), (2*here-up-down)/(h*h); !math.IsInf(up, 0) && !math.IsInf(down, 0) {
			add(k, g, max(0, c))
		}
	}
	for k := d; k < len(x); k++ {
		add(k, -x[k], 1)
	}
	for k := range x {
		if v := s.gradient.AtVec(k) + s.precision.At(k, k); math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	if point.Gradient == nil {
		point.Gradient, point.Information = mat.NewVecDense(len(x), nil), mat.NewSymDense(len(x), nil)
	}
	point.Gradient.CopyVec(s.gradient)
	point.Information.CopySym(s.precision)
	s.bend(point, priors)
	return true
}

func finite(all ...float64) bool {
	return !slices.ContainsFunc(all, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}
