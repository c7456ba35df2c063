package filter

import (
	"cmp"
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// pass is an EK that keeps all distributions. A probode.Solver takes its steps, and
// handles grids, events and failures as for any method.
type pass struct {
	EK
	kappa                 float64 // see engine
	perComponent, varying bool
	joint                 bool // all components are in one block
	kept, linked          bool // the points are kept, with their links

	// The optional function observe() is called at each grid point i, before the
	// distribution at that point is stored. The argument x is the predicted state.
	observe func(run *recording, i int, x []float64) error

	run *recording // made by Stepper
}

func (m *pass) again() {
	s := m.run
	for _, c := range s.chains {
		c.points, c.memory = c.points[:0], c.memory[:0]
	}
	clear(s.square)
	s.begun, s.steps, s.logDet, s.det = false, 0, 0, 1
}

func (m *pass) Stepper(p *probode.Problem, g *probode.Grid) (*probode.Stepper, error) {
	e, err := newEngine(m.EK, p, m.joint)
	if err != nil {
		return nil, err
	}
	e.kappa = m.kappa
	run := &recording{engine: e, pass: m, g: g, square: make([]float64, len(e.blocks)), sigma: make([]float64, len(e.blocks)), det: 1}
	for _, b := range e.blocks {
		run.chains = append(run.chains, &chain{block: b})
	}
	m.run = run
	return &probode.Stepper{Start: func(s *probode.Step) error { return run.restart(s.Index, s.H, s.X, s.Theta) }, Step: run.step}, nil
}

type recording struct {
	*engine
	pass   *pass
	g      *probode.Grid
	begun  bool
	chains []*chain
	last   int       // the last grid point that keep was called for
	sigma  []float64 // noise κ of the last step for each block

	// The diffusion is estimated from the following sums over all steps.
	steps  int
	square []float64 // Σ rᵀS⁻¹r of each block for κ = 1, with the residual r and its covariance S
	logDet float64   // Σ log det S^{1/2} of all blocks, apart from the factor det
	det    float64
}

// restart begins at grid point i, or goes on after an event, with a step of length h.
func (s *recording) restart(i int, h float64, x, theta []float64) error {
	t := s.g.Times()[i]
	var err error
	if !s.begun {
		err = s.begin(h, t, x, theta)
		s.begun = true
		if s.pass.observe != nil || s.pass.varying && s.pass.perComponent {
			s.equal = false
		}
		for _, c := range s.chains {
			c.next = link{}
		}
	} else {
		err = s.pastEvent(t, x, theta)
	}
	if err != nil {
		return err
	}
	for _, c := range s.chains {
		if s.pass.kept && cap(c.points) == 0 {
			c.reserve(s.g.Steps()+1, s.pass.linked)
		}
	}
	return s.keep(i, 0, x)
}

func (s *recording) step(step *probode.Step) error {
	h, theta := step.H, step.Theta
	copy(s.x, step.X)
	s.predict(h, step.End, theta)
	s.disperse()
	if s.Jacobian == Cubature {
		s.cubature(step.End, theta)
		s.disperse() // a noise that varies depends on the linearisation
	}
	for k, b := range s.blocks {
		before, noise := b.rows, b.growth*b.root // the second is h^{q+1/2}
		s.condition(k, s.pass.linked)
		b.update(s.fa[k*b.w:])
		if s.pass.linked {
			b.link(&s.chains[k].next, before)
		} else {
			s.chains[k].next = link{}
		}
		for j, y := range b.white {
			y /= noise
			s.square[k] += y * y
			if s.det *= math.Abs(b.v[j*len(b.z)+j]) * noise; s.det < 1e-150 || s.det > 1e150 {
				s.logDet, s.det = s.volume(), 1
			}
		}
	}
	s.steps++
	err := s.keep(step.Index+1, h, s.x)
	copy(step.Next, step.X)
	s.state(step.Next)
	return err
}

// volume is Σ log det S^{1/2}, with the covariances S of the residuals.
func (s *recording) volume() float64 { return s.logDet + math.Log(s.det) }

func (s *recording) disperse() {
	s.diffuse()
	for k, b := range s.blocks[:s.distinct()] {
		b.disperse(s.sigma[k])
	}
}

// diffuse estimates the noise of the step by maximum likelihood, for a known state at its
// beginning [S19], if the diffusion varies.
func (s *recording) diffuse() {
	var mean float64
	for k, b := range s.blocks {
		s.sigma[k] = 1
		if !s.pass.varying {
			continue
		}
		b.innovation(b.white, s.fa[k*b.w:])
		noise := b.growth * b.root
		square := b.likeliest(b.white) / (noise * noise)
		s.sigma[k] = max(math.Sqrt(square), 1e-150) // a covariance of zero could not be conditioned on
		mean += square / float64(len(s.blocks))
	}
	if s.pass.varying && !s.pass.perComponent {
		for k := range s.sigma {
			s.sigma[k] = max(math.Sqrt(mean), 1e-150)
		}
	}
}

// keep stores grid point i after a step of length h or an event. f was linearised at x.
func (s *recording) keep(i int, h float64, x []float64) error {
	s.last = i
	if s.pass.observe != nil {
		if err := s.pass.observe(s, i, x); err != nil {
			return err
		}
	}
	for k, c := range s.chains {
		if s.pass.kept {
			c.keep(point{index: i, h: h, sigma: s.sigma[k]})
		}
	}
	return nil
}

// finish restarts after events at the end of the span, which the solver does only if a
// step follows.
func (s *recording) finish(path, theta []float64) error {
	end := len(s.g.Times()) - 1
	if s.last == end {
		return nil
	}
	return s.restart(end, 0, path[end*s.p.Dim():], theta)
}

// pastEvent propagates errors from before the events by derivatives of the jumps and of
// the Taylor series: see slopes.
func (s *recording) pastEvent(t float64, x, theta []float64) error {
	d, unit := len(x), s.blocks[0].unit
	slopes, err := s.slopes(t, x, theta)
	if err != nil {
		return err
	}
	total := 0
	for _, b := range s.blocks {
		total += b.rows
	}
	moved := make([][]float64, len(s.blocks)) // for each block, the errors due to the normal variates of all blocks
	for k, b := range s.blocks {
		n := len(b.z)
		moved[k] = make([]float64, total*(n+b.rows))
		first := 0
		for l, from := range s.blocks {
			for j, c := range s.parts[l] {
				errors := from.errors(j)
				for p := 0; p < n && slopes[c] != nil; p++ {
					own := moved[k][b.columns[p]*total+first:][:from.rows]
					vector.AddScaled(own, from.level(j, unit)*slopes[c][p/b.w*d+s.parts[k][p%b.w]], errors)
				}
			}
			for i := 0; k == l && i < b.rows; i++ {
				moved[k][(n+i)*total+first+i] = 1
			}
			first += from.rows
		}
	}
	before := make([]int, len(s.blocks))
	for k, b := range s.blocks {
		before[k] = b.rows
	}
	if err := s.begin(unit, t, x, theta); err != nil {
		return err
	}
	s.equal = false
	for k, b := range s.blocks {
		n, a := len(b.z), moved[k]
		triangularize(a, total, total, n, n+before[k])
		b.rows = min(total, n)
		for c := range n {
			own := b.r[c*b.rows : (c+1)*b.rows]
			clear(own)
			copy(own, a[c*total:c*total+min(c+1, b.rows)])
		}
		s.chains[k].next = link{before: before[k], after: b.rows, rest: total - b.rows, a: a[n*total:], drift: make([]float64, before[k])}
	}
	return nil
}

// slopes returns for each component of the state before the events the derivatives of all
// coordinates after them, by central differences, and nil for a component that is
// certain. x is the state after the events.
func (s *recording) slopes(t float64, x, theta []float64) ([][]float64, error) {
	before := append([]float64(nil), s.x...)
	s.state(before)
	out := make([][]float64, len(x))
	z, at := make([]float64, len(s.z)), make([]float64, len(x))
	for k, b := range s.blocks {
		for j, c := range s.parts[k] {
			if length(b.errors(j)) == 0 {
				continue
			}
			out[c] = make([]float64, len(z))
			eps := 6e-6 * cmp.Or(max(reach(before, c), reach(x, c)), 1e-3) // the cube root of the rounding error
			for _, side := range [2]float64{eps, -eps} {
				copy(at, before)
				at[c] += side
				s.jump(at, t, theta)
				if err := s.start.at(z, s.blocks[0].unit, t, at, theta); err != nil {
					return nil, err
				}
				vector.AddScaled(out[c], 0.5/side, z)
			}
			for _, n := range s.p.Noiseless {
				if out[c][n] != 0 {
					return nil, fmt.Errorf("the event at t = %g sets the Noiseless component %s to a value that depends on uncertain components", t, s.p.StateName(n))
				}
			}
		}
	}
	return out, nil
}

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
