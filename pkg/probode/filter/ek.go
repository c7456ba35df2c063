package filter

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/field"
	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/linalg"
)

// Jacobian determines how a filter linearises f at the prediction.
type Jacobian int

const (
	// Full uses ∂f/∂x at the predicted mean. Full gives EK1, the extended Kalman filter.
	Full Jacobian = iota
	// Zero replaces the Jacobian with a zero matrix. Zero gives EK0, which is cheap but
	// not suited to stiff problems.
	Zero
	// Cubature replaces f with its linear regression on the state under the predicted
	// distribution, as in the method of Kersting and Hennig [KH16]. The coefficients of
	// the regression are computed by spherical cubature of degree 3. Spherical cubature
	// needs the values of f at 2d points, but no Jacobian. The residual variance of the
	// regression, which is of fourth order in the standard deviation of the state, is
	// ignored.
	//
	// The values of f are computed at points around the predicted mean. The distances of
	// these points from the mean are proportional to κ, so the result of the filter
	// depends on κ. If κ² is not given, the distances from the mean are computed from the
	// covariance of the noise of the step. The noise covariance is computed with the
	// maximum-likelihood estimate of κ² from the residual of the step.
	Cubature
)

// EK is a probode.Method that computes the mean of a Gaussian filter. The prior of the
// filter is an integrated Wiener process of order q [S19; T19].
//
// The noise of a step is the process noise of the filter. The error of the mean is a
// Gaussian Markov chain,
//
//	e_{n+1} = (I − K H)(A eₙ + √α h^{q+1/2} L ξₙ),
//
// with the gain K of the filter and a factor L of Q = L Lᵀ. A path is the mean plus this
// error. At every time, the paths and the filter with κ² = α have the same mean and the
// same covariance. Therefore the value of α that package calibrate chooses is also a
// calibrated value of the diffusion κ².
//
// Between events f must be smooth: after a step across a jump of f, the derivatives that
// the filter carries are wrong, and no error estimate says so. If f jumps when a component
// of the state crosses a threshold, set Problem.Hybrid.
//
// At an event each path is restarted from its own state. To compute distributions instead
// of paths, use Solve.
type EK struct {
	// Q is the order of the prior and of the method, from 1 to 11.
	Q int
	// Jacobian is Full, Zero or Cubature. Full gives EK1, and Zero gives EK0.
	Jacobian Jacobian

	// The state is divided into blocks of Width neighbouring components. The filter uses
	// only the derivatives of f within the blocks, so the errors of different blocks are
	// independent. The standard deviations do not include errors that propagate from one
	// block to another. With blocks of width w, a step takes O(d w² q³) operations. A
	// Width of 0 means one block for all components or, if Jacobian is Zero, one block
	// for each component. If an observation depends on several blocks, or the problem has
	// events, the steps of Fenrir and DALTON cost as much as with a single block. If
	// Jacobian is Cubature, Fenrir and DALTON always use a single block for all
	// components.
	Width int

	// If SecondOrder is true, the state is (x, x′): F writes x′ to the first half of its
	// result and x″ to the second half. The Wiener process is a prior for x only, and the
	// filter conditions on the equation for x″ [B22]. SecondOrder halves the number of
	// rows of the covariance matrix. SecondOrder requires a Q of at least 2. With
	// SecondOrder, Width is the number of components of x in a block.
	SecondOrder bool
}

func (m EK) String() string {
	name := [...]string{"EK1", "EK0", "CKF"}[m.Jacobian] + fmt.Sprintf("(%d)", m.Q)
	if m.Width > 0 && m.Jacobian != Zero {
		name += fmt.Sprintf(", blocks of %d", m.Width)
	}
	if m.SecondOrder {
		name += ", second order"
	}
	return name
}

// Order returns q.
func (m EK) Order() int { return m.Q }

func (m EK) order() int {
	if m.SecondOrder {
		return 2
	}
	return 1
}

// Noise describes the noise of a step. The noise has q+1 normal variates for each
// component of the process. The scale of the noise is proportional to h^{q+1/2}, where h
// is the step length.
func (m EK) Noise(d int) probode.Noise {
	return probode.Noise{Normals: (m.Q + 1) * d / m.order(), Exponent: float64(m.Q) + 0.5}
}

// Stepper returns the filter for p.
func (m EK) Stepper(p *probode.Problem, _ *probode.Grid) (*probode.Stepper, error) {
	e, err := newEngine(m, p, false)
	if err != nil {
		return nil, err
	}
	s := &stepper{engine: e, out: make([]float64, p.Dim()), residual: make([]float64, len(e.fa))}
	for _, b := range e.blocks {
		s.e = append(s.e, make([]float64, len(b.z)))
	}
	return &probode.Stepper{Start: s.start, Step: s.step, Memory: s.memory(), Save: s.save, Restore: s.restore, LocalError: s.localError}, nil
}

type engine struct {
	EK
	p      *probode.Problem
	start  *taylor
	blocks []*block
	parts  [][]int           // components of the state of each block; those that are Noiseless are in none
	lin    *field.Linearizer // nil if the Jacobian is not used
	matrix *linalg.Matrix
	jac    []float64
	x, f   []float64 // the predicted state, and f there
	fa     []float64 // the right-hand sides of the equations of all blocks
	equal  bool      // the covariances of all blocks are equal
	z      []float64

	kappa float64 // the root of the diffusion if Cubature is to use it, or 0
	regression
}

// newEngine has one block for all components if `joint`.
func newEngine(m EK, p *probode.Problem, joint bool) (*engine, error) {
	d := p.Dim()
	var active []int // the components of the process
	for k := range d / m.order() {
		if !slices.Contains(p.Noiseless, k) {
			active = append(active, k)
		}
	}
	n, w := len(active), m.width(len(active))
	switch {
	case m.Q < m.order() || m.Q > 11:
		return nil, fmt.Errorf("the order is %d: want %d to 11", m.Q, m.order())
	case n == 0:
		return nil, errors.New("all components are Noiseless: want at least one component with noise")
	case m.SecondOrder && (d%2 != 0 || len(p.Noiseless) > 0):
		return nil, fmt.Errorf("SecondOrder is set for a state with %d components, %d of which are Noiseless: want a state (x, x′) without Noiseless components", d, len(p.Noiseless))
	case w < 1 || n%w != 0:
		return nil, fmt.Errorf("the field Width is %d: want a divisor of %d, the number of components with noise", m.Width, n)
	}
	if joint {
		w = n
	}
	e := &engine{EK: m, p: p, start: newTaylor(p, m.Q), x: make([]float64, d), f: make([]float64, d), z: make([]float64, (m.Q+1)*d),
		fa: make([]float64, n), jac: make([]float64, w*m.order()*w)}
	switch m.Jacobian {
	case Full:
		e.lin, e.matrix = field.NewLinearizer(p.Field()), p.Field().NewJacobian()
	case Cubature:
		e.regression = newRegression(d)
	}
	noise := wiener(m.Q)
	for first := 0; first < n; first += w {
		part := slices.Clone(active[first : first+w])
		if m.SecondOrder {
			for _, c := range active[first : first+w] {
				part = append(part, c+d/2)
			}
		}
		e.parts = append(e.parts, part)
		e.blocks = append(e.blocks, newBlock(m.Q, w, m.order(), noise))
	}
	return e, nil
}

func (m EK) width(n int) int {
	switch {
	case m.Jacobian == Zero:
		return 1
	case m.Width == 0:
		return n
	}
	return m.Width
}

var errSecondOrder = errors.New("with SecondOrder the state is (x, x′): want an F whose first half is x′")

// begin gets the exact state, and about the length of the next step.
func (e *engine) begin(unit, t float64, x, theta []float64) error {
	if e.SecondOrder {
		e.p.F(e.f, t, x, theta)
		if half := len(x) / 2; !slices.Equal(e.f[:half], x[half:]) {
			return errSecondOrder
		}
	}
	if err := e.start.at(e.z, unit, t, x, theta); err != nil {
		return err
	}
	copy(e.x, x)
	e.equal = e.Jacobian == Zero && e.order() == 1 && e.blocks[0].w == 1
	for k, b := range e.blocks {
		b.measure(unit)
		b.rows = 0
		for i := range e.Q + 1 {
			for j, c := range e.parts[k][:b.w] {
				b.z[i*b.w+j] = e.z[i*len(x)+c]
			}
		}
	}
	return nil
}

func (e *engine) state(x []float64) {
	for k, b := range e.blocks {
		for j, c := range e.parts[k] {
			x[c] = b.z[j] * b.level(j, b.unit)
		}
	}
}

// predict goes to time t with a step of length h, and takes f and, if Jacobian is Full,
// its Jacobian there.
func (e *engine) predict(h, t float64, theta []float64) {
	for k, b := range e.blocks {
		b.predict(h)
		for j, c := range e.parts[k] {
			e.x[c] = b.pred[j] * b.level(j, h)
		}
	}
	if e.lin == nil {
		e.p.F(e.f, t, e.x, theta)
	} else {
		e.lin.FJ(e.f, e.matrix, t, e.x, theta)
	}
	width := e.width(len(e.fa))
	for k, b := range e.blocks {
		part := e.parts[k]
		for i, from := range part[len(part)-b.w:] {
			e.fa[k*b.w+i] = e.f[from]
			for j, to := range part {
				if e.lin != nil && (width == b.w || i/width == j%b.w/width) {
					e.jac[i*len(part)+j] = e.matrix.At(from, to)
				}
			}
		}
		for j, v := range e.jac { // in the coordinates of the step
			b.hjac[j] = b.weight(h) * b.level(j%len(part), h) * v
		}
	}
}

func (e *engine) distinct() int {
	if e.equal {
		return 1
	}
	return len(e.blocks)
}

func (e *engine) condition(k int, linked bool) {
	if k < e.distinct() {
		e.blocks[k].condition(linked)
		return
	}
	b, first := e.blocks[k], e.blocks[0]
	copy(b.top, first.top)
	copy(b.tail, first.tail)
	copy(b.v, first.v)
	copy(b.r, first.r)
	b.rows = first.rows
}

type stepper struct {
	*engine
	e        [][]float64 // error of the mean of each block
	noisy    bool        // e is not zero
	out      []float64   // the last state
	residual []float64   // of the last prediction
}

func (s *stepper) start(step *probode.Step) error {
	s.noisy = false
	copy(s.out, step.X)
	unit := (s.p.Span[1] - s.p.Span[0]) / 100 // in an error-controlled run the next step is not known
	if step.H > 0 {
		unit = step.H
	}
	return s.begin(unit, step.T, step.X, step.Theta)
}

func (s *stepper) step(step *probode.Step) error {
	x, theta, dst, xi := step.X, step.Theta, step.Next, step.Xi
	for k, b := range s.blocks {
		for j, c := range s.parts[k] {
			if x[c] != s.out[c] { // noise was added to the state
				b.z[j] += (x[c] - s.out[c]) / b.level(j, b.unit)
			}
		}
	}
	copy(s.x, x)
	s.predict(step.H, step.End, theta)
	if xi != nil && !s.noisy {
		s.noisy = true
		for _, e := range s.e {
			clear(e)
		}
	}
	for _, b := range s.blocks[:s.distinct()] {
		b.disperse(1)
	}
	if s.Jacobian == Cubature {
		s.cubature(step.End, theta)
	}
	for k, b := range s.blocks {
		s.condition(k, false)
		b.innovation(s.residual[k*b.w:], s.fa[k*b.w:])
		b.update(s.fa[k*b.w:])
		if s.noisy {
			if n := len(b.z); xi != nil {
				b.wander(s.e[k], xi[k*n:(k+1)*n], step.Scale[k*n:])
			} else {
				b.wander(s.e[k], nil, nil)
			}
		}
	}
	copy(dst, x)
	s.state(dst)
	for k, b := range s.blocks {
		for j, c := range s.parts[k] {
			if s.noisy {
				dst[c] += s.e[k][j] * b.level(j, b.unit)
			}
		}
	}
	copy(s.out, dst)
	return nil
}

// wander propagates the error e of the mean; xi may be nil.
func (b *block) wander(e, xi, scale []float64) {
	rescale(e, b.w, b.ratio)
	shift(e, b.q, b.w)
	for j := range len(xi) / b.w {
		for i := 0; i+j <= b.q; i++ {
			for k := range b.w {
				e[i*b.w+k] += b.noise[i*(b.q+1)+j] * scale[j*b.w+k] * xi[j*b.w+k]
			}
		}
	}
	d := b.m * b.w
	for k := range b.white { // the residual of the linearised equation
		b.white[k] = e[d+k] - vector.Dot(b.hjac[k*d:(k+1)*d], e)
	}
	b.correct(e)
	rescale(e, b.w, 1/b.ratio)
}

// localError is the sd of the residual for a known state at the beginning, with the
// maximum-likelihood κ² of the step itself [S19].
func (s *stepper) localError(dst []float64, _ *probode.Step) error {
	clear(dst)
	for k, b := range s.blocks {
		copy(b.white, s.residual[k*b.w:])
		sd := math.Sqrt(b.likeliest(b.white))
		for j, c := range s.parts[k] {
			i := j % b.w
			dst[c] = sd * length(b.v[i*len(b.z):][:i+1]) * b.level(j, b.h)
		}
	}
	return nil
}

func (s *stepper) memory() int {
	n := 2 + len(s.blocks)
	s.each(func(v []float64) { n += len(v) })
	return n
}

func (s *stepper) each(do func(v []float64)) {
	do(s.out)
	for k, b := range s.blocks {
		do(b.z)
		do(s.e[k])
		do(b.r)
	}
}

func (s *stepper) save(dst []float64) {
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

func (s *stepper) restore(src []float64) {
	s.noisy = src[1] != 0
	for k, b := range s.blocks {
		b.measure(src[0])
		b.rows = int(src[2+k])
	}
	src = src[2+len(s.blocks):]
	s.each(func(v []float64) { src = src[copy(v, src):] })
}
