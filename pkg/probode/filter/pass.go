package filter

import (
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode"
)

// A pass is an EK whose Stepper keeps the distributions at all grid points. A
// probode.Solver performs the pass, so grids, events and failures are handled as for any
// other method.
type pass struct {
	EK
	kappa                 float64 // see engine
	perComponent, varying bool
	joint                 bool // all components are in one block

	// observe, if not nil, is called when the filter has arrived at grid point i, before
	// the distribution there is stored. The argument x is the prediction of the state.
	observe func(run *recording, i int, x []float64) error

	run *recording // made by Stepper
}

// again prepares for another solve.
func (m *pass) again() {
	s := m.run
	for _, c := range s.chains {
		c.points = c.points[:0]
	}
	clear(s.square)
	s.steps, s.logDet = s.steps[:0], 0
}

func (m *pass) Stepper(p *probode.Problem, g *probode.Grid) (probode.Stepper, error) {
	e, err := newEngine(m.EK, p, m.joint)
	if err != nil {
		return nil, err
	}
	e.kappa = m.kappa
	m.run = &recording{engine: e, pass: m, g: g, square: make([]float64, len(e.blocks)), sigma: make([]float64, len(e.blocks)), work: make([]float64, p.Dim()*p.Dim())}
	for _, b := range e.blocks {
		m.run.chains = append(m.run.chains, &chain{block: b})
	}
	return m.run, nil
}

// A recording is the Stepper of a pass.
type recording struct {
	*engine
	pass   *pass
	g      *probode.Grid
	chains []*chain
	sigma  []float64 // noise κ of the last step for each block
	work   []float64

	// The diffusion is estimated from these sums over all steps.
	steps  []evidence
	square []float64 // Σ rᵀS⁻¹r of each block for κ = 1, with the residual r and its covariance S
	logDet float64   // Σ log det S^{1/2} of all blocks
}

// An evidence holds the length of a step and its part of the sum of squares.
type evidence struct{ h, square float64 }

// A chain holds the distributions of one block at the grid points.
type chain struct {
	*block
	points []point
}

// A point is the distribution at a grid point, in the coordinates of the block.
type point struct {
	index int       // of the grid point
	z     []float64 // mean
	rows  []float64 // factor of the covariance, with rows as long as z

	// These fields say how the point follows from the previous one: by a step of length h
	// with the noise sigma or, at an event, by the derivative of the state after it with
	// respect to the state before it.
	h, sigma float64
	jump     []float64
}

// Start begins a pass, or continues it after an event.
func (s *recording) Start(i int, x, theta []float64) error {
	t := s.g.Times()[i]
	if len(s.chains[0].points) == 0 {
		if err := s.begin(s.g.H(i), t, x, theta); err != nil {
			return err
		}
		return s.keep(i, 0, nil, x)
	}
	jumps, err := s.pastEvent(t, x, theta)
	if err != nil {
		return err
	}
	return s.keep(i, 0, jumps, x)
}

func (s *recording) Step(dst []float64, i int, x, theta, _, _ []float64) error {
	h := s.g.H(i)
	copy(s.x, x)
	s.predict(h, s.g.Times()[i+1], theta)
	s.disperse()
	if s.Jacobian == Cubature {
		s.cubature(s.g.Times()[i+1], theta)
		s.disperse() // a noise that varies depends on the linearisation
	}
	own := evidence{h: h}
	noise := math.Pow(h, float64(s.Q)+0.5)
	for k, b := range s.blocks {
		b.condition()
		b.update(s.fa[k*b.w:])
		for j, y := range b.white {
			own.square += y * y / (noise * noise)
			s.square[k] += y * y / (noise * noise)
			s.logDet += math.Log(math.Abs(b.a[j*len(b.z)+j]) * noise)
		}
	}
	s.steps = append(s.steps, own)
	err := s.keep(i+1, h, nil, s.x)
	copy(dst, x)
	s.state(dst)
	return err
}

// disperse computes the predicted covariance, with the noise of the step.
func (s *recording) disperse() {
	s.diffuse()
	for k, b := range s.blocks {
		b.disperse(s.sigma[k])
	}
}

// diffuse sets the noise of the step. If the diffusion varies from step to step, the
// noise is chosen so that the residual is most likely after a step from a known state
// [S19].
func (s *recording) diffuse() {
	var mean float64
	for k, b := range s.blocks {
		s.sigma[k] = 1
		if !s.pass.varying {
			continue
		}
		b.scatter(s.work)
		b.innovation(b.white, s.fa[k*b.w:])
		noise := math.Pow(b.h, float64(s.Q)+0.5)
		square := likeliest(s.work[:b.w*b.w], b.white) / (noise * noise)
		s.sigma[k] = max(math.Sqrt(square), 1e-150) // a covariance of zero could not be conditioned on
		mean += square / float64(len(s.blocks))
	}
	if s.pass.varying && !s.pass.perComponent {
		for k := range s.sigma {
			s.sigma[k] = max(math.Sqrt(mean), 1e-150)
		}
	}
}

// keep stores the distributions at grid point i, after a step of length h or after an
// event. The argument x is the state at which f was linearised.
func (s *recording) keep(i int, h float64, jumps [][]float64, x []float64) error {
	if s.pass.observe != nil {
		if err := s.pass.observe(s, i, x); err != nil {
			return err
		}
	}
	for k, c := range s.chains {
		n, m := len(c.z), len(c.points)
		if m == cap(c.points) {
			c.points = append(c.points, point{})
		}
		c.points = c.points[:m+1]
		p := &c.points[m] // its slices are those of the last pass, if there was one
		*p = point{index: i, h: h, sigma: s.sigma[k], z: append(p.z[:0], c.z...), rows: resize(p.rows, c.rows*n)}
		if jumps != nil {
			p.jump = jumps[k]
		}
		for j := range c.rows {
			c.lift(p.rows[j*n:(j+1)*n], j)
		}
	}
	return nil
}

// pastEvent restarts the filter from the state x after the events at time t. The errors
// of the state before the event, whose covariance the blocks hold, are propagated through
// the jump and the Taylor series of the solution. It returns the derivatives of the jump
// for each block.
func (s *recording) pastEvent(t float64, x, theta []float64) ([][]float64, error) {
	d, unit := len(x), s.blocks[0].unit
	before := append([]float64(nil), s.x...)
	s.state(before)
	jump := func(dst, x []float64) error {
		copy(dst, x)
		s.jump(dst, t, theta)
		return nil
	}
	field := func(dst, x []float64) error {
		s.p.F(dst, t, x, theta)
		return nil
	}
	// The coordinates after the event are a function of the state before it.
	after := func(z, x []float64) error {
		at := make([]float64, d)
		_ = jump(at, x)
		return s.start.at(z, unit, t, at, theta)
	}
	errors := s.stateRows()
	moved := make([]float64, 0, len(errors)/d*len(s.z)) // the rows after the event
	for r := 0; r < len(errors); r += d {
		row := make([]float64, len(s.z))
		if err := slope(row, after, before, errors[r:r+d]); err != nil {
			return nil, err
		}
		for _, k := range s.p.Noiseless {
			if row[k] != 0 {
				return nil, fmt.Errorf("the event at t = %g makes %s, which is Noiseless, a function of states that are uncertain", t, s.p.StateName(k))
			}
		}
		moved = append(moved, row...)
	}
	if err := s.begin(unit, t, x, theta); err != nil {
		return nil, err
	}
	var jumps [][]float64
	for k, b := range s.blocks {
		part := s.parts[k]
		size := len(part)
		own, jac := make([]float64, size*size), make([]float64, b.w*size)
		e, column := make([]float64, d), make([]float64, d)
		for j, c := range part {
			clear(e)
			e[c] = 1
			_ = slope(column, jump, before, e)
			for i, c := range part {
				own[i*size+j] = column[c] * b.level(j, unit) / b.level(i, unit)
			}
			_ = slope(column, field, x, e)
			for i, c := range part[size-b.w:] {
				jac[i*size+j] = column[c]
			}
		}
		b.linearize(b.jac, jac, unit)
		jumps = append(jumps, own)
		width := s.Q * b.w
		var rows []float64
		for r := 0; r < len(moved); r += len(s.z) {
			for i := range s.Q + 1 {
				for _, c := range part[:b.w] {
					if i != b.m {
						rows = append(rows, moved[r+i*d+c])
					}
				}
			}
		}
		rows = compress(rows, width, b.sum)
		b.rows = len(rows) / width
		copy(b.r, rows)
	}
	return jumps, nil
}

// stateRows returns the factor of the covariance of the state, in rows of d.
func (s *recording) stateRows() []float64 {
	d := len(s.x)
	var rows []float64
	for k, b := range s.blocks {
		for i := range b.rows {
			row := make([]float64, d)
			for j, c := range s.parts[k] {
				row[c] = b.r[i*b.q*b.w+j] * b.level(j, b.unit)
			}
			rows = append(rows, row...)
		}
	}
	return compress(rows, d, make([]float64, d))
}

// The method jump applies the jumps of the events at time t.
func (s *recording) jump(x []float64, t float64, theta []float64) {
	for k := range s.p.Events {
		e := &s.p.Events[k]
		at := e.Time
		if e.When != nil {
			at = e.When(theta)
		}
		if at == t && e.Jump != nil {
			e.Jump(x, t, theta)
		}
	}
}

// slope writes the derivative of f at x in direction v to dst, by a central difference.
func slope(dst []float64, f func(dst, x []float64) error, x, v []float64) error {
	var most, size float64
	for _, u := range x {
		size = max(size, math.Abs(u))
	}
	if size == 0 {
		size = 1
	}
	for k, u := range v {
		most = max(most, math.Abs(u)/max(math.Abs(x[k]), 1e-3*size))
	}
	clear(dst)
	if most == 0 {
		return nil
	}
	eps := 6e-6 / most // the cube root of the rounding error
	value, at := make([]float64, len(dst)), make([]float64, len(x))
	for _, side := range [2]float64{eps, -eps} {
		copy(at, x)
		add(at, side, v)
		if err := f(value, at); err != nil {
			return err
		}
		add(dst, 0.5/side, value)
	}
	return nil
}
