package filter

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
)

// A Jacobian says which part of ∂f/∂x a filter uses.
type Jacobian int

const (
	// Full is EK1, the extended Kalman filter, for any problem. A step takes O((qd)³).
	Full Jacobian = iota
	// Diagonal uses only ∂fₖ/∂xₖ. A step takes O(d q³) operations, and the components of
	// the state are independent given the mean.
	Diagonal
	// Zero is EK0, which does not use the Jacobian. It is as cheap as Diagonal, but it is
	// not suited to stiff problems.
	Zero
)

// EK is a probode.Method: the mean of a Gaussian filter whose prior is an integrated
// Wiener process of order q [S19; T19].
//
// The noise of a step is that of the filter itself. The error of the mean is a Gaussian
// Markov chain,
//
//	e_{n+1} = (I − K H)(A eₙ + √α h^{q+1/2} L ξₙ),
//
// with the gain K of the filter and the factor L of Q. A path is the mean plus this error.
// So the paths of an ensemble have exactly the mean and the covariance of the filter, with
// κ² = α, at every time. Whatever calibrates α, such as package calibrate, also calibrates
// the diffusion κ² of the filter.
//
// At an event each path begins again at its own state. Solve computes distributions
// instead of paths.
type EK struct {
	// Q is the order of the prior and of the method, 1 to 11.
	Q int
	// Jacobian is Full for EK1, or a cheaper form.
	Jacobian Jacobian
}

func (m EK) String() string {
	switch m.Jacobian {
	case Diagonal:
		return fmt.Sprintf("EK1(%d), diagonal", m.Q)
	case Zero:
		return fmt.Sprintf("EK0(%d)", m.Q)
	}
	return fmt.Sprintf("EK1(%d)", m.Q)
}

// Order returns q.
func (m EK) Order() int { return m.Q }

// Noise has q+1 normals for each component.
func (m EK) Noise(d int) probode.Noise {
	return probode.Noise{Normals: (m.Q + 1) * d, Exponent: float64(m.Q) + 0.5}
}

// Stepper returns the filter of p on g.
func (m EK) Stepper(p *probode.Problem, g *probode.Grid) (probode.Stepper, error) {
	e, err := newEngine(m, p, false)
	if err != nil {
		return nil, err
	}
	n := len(e.active)
	s := &stepper{engine: e, g: g, out: make([]float64, n), residual: make([]float64, n), work: make([]float64, n*n)}
	for _, b := range e.blocks {
		s.e = append(s.e, make([]float64, len(b.z)))
	}
	return s, nil
}

// An engine takes the steps of a filter.
type engine struct {
	EK
	p      *probode.Problem
	start  *taylor
	active []int // the components of the state that are not Noiseless; the others are constant
	blocks []*block
	lin    *probode.Linearizer // nil if the Jacobian is not used
	matrix *probode.Matrix
	jac    []float64
	x, f   []float64 // the predicted state, and f there
	fa     []float64 // the active components of f
	z      []float64
}

// newEngine returns an engine with one block for all components if the argument joint is
// true or the Jacobian is Full, and otherwise with one block for each component.
func newEngine(m EK, p *probode.Problem, joint bool) (*engine, error) {
	if m.Q < 1 || m.Q > 11 {
		return nil, fmt.Errorf("the order is %d: want 1 to 11", m.Q)
	}
	d := p.Dim()
	e := &engine{EK: m, p: p, start: newTaylor(p, m.Q), x: make([]float64, d), f: make([]float64, d), z: make([]float64, (m.Q+1)*d)}
	if m.Jacobian != Zero {
		e.lin, e.matrix = probode.NewLinearizer(p), p.NewJacobian()
	}
	for k := range d {
		if !slices.Contains(p.Noiseless, k) {
			e.active = append(e.active, k)
		}
	}
	n := len(e.active)
	if n == 0 {
		return nil, errors.New("all components are Noiseless: want one that is not constant")
	}
	w := 1
	if joint || m.Jacobian == Full {
		w = n
	}
	e.fa, e.jac = make([]float64, n), make([]float64, w*w)
	noise := wiener(m.Q)
	for range n / w {
		e.blocks = append(e.blocks, newBlock(m.Q, w, 1, noise))
	}
	return e, nil
}

// begin sets the exact state at time t. The argument unit is the approximate length of the
// step that follows.
func (e *engine) begin(unit, t float64, x, theta []float64) error {
	if err := e.start.at(e.z, unit, t, x, theta); err != nil {
		return err
	}
	copy(e.x, x)
	for k, b := range e.blocks {
		b.unit, b.rows = unit, 0
		for i := range e.Q + 1 {
			for j, c := range e.of(k) {
				b.z[i*b.w+j] = e.z[i*len(x)+c]
			}
		}
	}
	return nil
}

// of returns the components of block k.
func (e *engine) of(k int) []int {
	w := e.blocks[0].w
	return e.active[k*w : (k+1)*w]
}

// state writes the active components of the state, in z₀ of the blocks, to x.
func (e *engine) state(x []float64) {
	for k, b := range e.blocks {
		for j, c := range e.of(k) {
			x[c] = b.z[j]
		}
	}
}

// predict computes the prediction of a step of length h that ends at time t, and
// linearises f there.
func (e *engine) predict(h, t float64, theta []float64) {
	for k, b := range e.blocks {
		b.predict(h)
		for j, c := range e.of(k) {
			e.x[c] = b.pred[j]
		}
	}
	if e.lin == nil {
		e.p.F(e.f, t, e.x, theta)
	} else {
		e.lin.FJ(e.f, e.matrix, t, e.x, theta)
	}
	for j, c := range e.active {
		e.fa[j] = e.f[c]
	}
	for k, b := range e.blocks {
		if of := e.of(k); e.lin != nil {
			for i, from := range of {
				for j, to := range of {
					if i == j || e.Jacobian == Full {
						e.jac[i*b.w+j] = e.matrix.At(from, to)
					}
				}
			}
		}
		b.linearize(e.jac)
	}
}

// A stepper is the Stepper of EK.
type stepper struct {
	*engine
	g        *probode.Grid
	e        [][]float64 // error of the mean of each block
	noisy    bool        // e is not zero
	out      []float64   // the active components of the last state
	residual []float64   // of the last prediction
	work     []float64
}

// Start begins with the exact derivatives of the solution through x.
func (s *stepper) Start(i int, x, theta []float64) error {
	s.noisy = false
	for j, c := range s.active {
		s.out[j] = x[c]
	}
	unit := (s.p.Span[1] - s.p.Span[0]) / 100 // in an error-controlled run the next step is not known
	if i < s.g.Steps() && s.g.H(i) > 0 {
		unit = s.g.H(i)
	}
	return s.begin(unit, s.g.Times()[i], x, theta)
}

func (s *stepper) Step(dst []float64, i int, x, theta, xi, scale []float64) error {
	w := s.blocks[0].w
	for j, c := range s.active {
		if x[c] != s.out[j] { // noise was added to the state
			s.blocks[j/w].z[j%w] += x[c] - s.out[j]
		}
	}
	copy(s.x, x)
	s.predict(s.g.H(i), s.g.Times()[i+1], theta)
	if xi != nil && !s.noisy {
		s.noisy = true
		for _, e := range s.e {
			clear(e)
		}
	}
	for k, b := range s.blocks {
		b.condition(1)
		for i := range w {
			s.residual[k*w+i] = b.pred[w+i] - b.h*s.fa[k*w+i]
		}
		b.update(s.fa[k*w : (k+1)*w])
		copy(s.out[k*w:(k+1)*w], b.z)
		if s.noisy {
			if n := len(b.z); xi != nil {
				b.wander(s.e[k], xi[k*n:(k+1)*n], scale[k*n:])
			} else {
				b.wander(s.e[k], nil, nil)
			}
			add(s.out[k*w:(k+1)*w], 1, s.e[k][:w])
		}
	}
	copy(dst, x)
	for j, c := range s.active {
		dst[c] = s.out[j]
	}
	return nil
}

// wander moves the error e of the mean over the step. The normals xi may be nil.
func (b *block) wander(e, xi, scale []float64) {
	b.toStep(e, 1)
	shift(e, b.q, b.w)
	for j := range len(xi) / b.w {
		for i := 0; i+j <= b.q; i++ {
			for k := range b.w {
				e[i*b.w+k] += b.noise[i*(b.q+1)+j] * scale[j*b.w+k] * xi[j*b.w+k]
			}
		}
	}
	b.residual(b.white, e)
	b.correct(e)
	b.toUnit(e, 1)
}

// likeliest returns the c at which r is most likely under the distribution N(0, cS). It
// overwrites S, which must be symmetric, and r.
func likeliest(s, r []float64) float64 {
	w := len(r)
	var sum float64
	for i := range w { // Cholesky's factorisation of S, and the forward substitution
		for j := range i + 1 {
			v := s[i*w+j]
			for k := range j {
				v -= s[i*w+k] * s[j*w+k]
			}
			if i == j {
				s[i*w+i] = math.Sqrt(v)
			} else {
				s[i*w+j] = v / s[j*w+j]
			}
		}
		for k := range i {
			r[i] -= s[i*w+k] * r[k]
		}
		r[i] /= s[i*w+i]
		sum += r[i] * r[i]
	}
	return sum / float64(w)
}

// LocalError returns the standard deviation of the residual in a step from a known state,
// with the diffusion κ² under which the residual is most likely [S19].
func (s *stepper) LocalError(dst []float64, _ int, _, _, _ []float64) error {
	clear(dst)
	for k, b := range s.blocks {
		b.scatter(s.work)
		for i, c := range s.of(k) {
			dst[c] = math.Sqrt(s.work[i*b.w+i])
		}
		copy(b.white, s.residual[k*b.w:])
		size := math.Sqrt(likeliest(s.work, b.white))
		for _, c := range s.of(k) {
			dst[c] *= size
		}
	}
	return nil
}

// Memory returns the total length of the last state and of the mean, the error, the
// covariance and the Jacobian of every block.
func (s *stepper) Memory() int {
	n := len(s.out) + 2
	for _, b := range s.blocks {
		n += 2*len(b.z) + len(b.r) + len(b.jac) + 1
	}
	return n
}

// each calls the function do with every slice of the memory.
func (s *stepper) each(do func(v []float64)) {
	do(s.out)
	for k, b := range s.blocks {
		do(b.z)
		do(s.e[k])
		do(b.r)
		do(b.jac)
	}
}

func (s *stepper) Save(dst []float64) {
	dst[0], dst[1] = s.blocks[0].unit, 0
	if s.noisy {
		dst[1] = 1
	}
	dst = dst[2:]
	for k, b := range s.blocks {
		dst[k] = float64(b.rows)
	}
	dst = dst[len(s.blocks):]
	s.each(func(v []float64) { dst = dst[copy(dst, v):] })
}

func (s *stepper) Restore(_ int, src []float64) {
	s.noisy = src[1] != 0
	for k, b := range s.blocks {
		b.unit, b.rows = src[0], int(src[2+k])
	}
	src = src[2+len(s.blocks):]
	s.each(func(v []float64) { src = src[copy(v, src):] })
}
