package probode

import (
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode/internal/linalg"
)

// run solves the steps from, …, to−1.
func (s *Solver) run(z, memory, theta, xi []float64, from, to int) (err error) {
	d := s.d
	switch {
	case len(z) != s.PathLen():
		panic(fmt.Sprintf("probode: z has length %d: want (N+1)·d = %d", len(z), s.PathLen()))
	case len(theta) != len(s.p.Theta):
		panic(fmt.Sprintf("probode: theta has length %d: want %d, that of Problem.Theta", len(theta), len(s.p.Theta)))
	case xi != nil && len(xi) != s.NoiseLen():
		panic(fmt.Sprintf("probode: xi has length %d: want N·n = %d", len(xi), s.NoiseLen()))
	}
	if !linalg.Finite(theta) {
		return s.fail(from, theta, nil, ErrParameter)
	}
	i := from
	defer func() { // what panics is a function of the problem
		if v := recover(); v != nil {
			err = s.fail(i, theta, row(z, i, d), &PanicError{v, stack()})
		}
	}()
	if s.g.moving {
		if err := s.g.move(theta); err != nil {
			return s.fail(from, theta, nil, err)
		}
	}
	if from == 0 {
		s.p.Initial(z[:d], theta)
		if !sane(z[:d]) {
			return s.fail(0, theta, z[:d], ErrStart)
		}
	} else if len(memory) > 0 {
		s.step.(Rememberer).Restore(from, memory)
	}
	n := s.normals()
	tangents := s.tangents
	if tangents != nil && !tangents.live {
		tangents = nil
	}
	if tangents != nil {
		tangents.start(theta)
	}
	for j := s.g.segment(from); i < to; j++ {
		seg := &s.g.seg[j]
		*s.now = seg.now
		if i == seg.from && i < seg.to {
			if err := s.step.Start(i, row(z, i, d), theta); err != nil {
				return s.fail(i, theta, row(z, i, d), err)
			}
		}
		for end := min(to, seg.to); i < end; {
			if s.stop.Load() {
				return s.fail(i, theta, row(z, i, d), s.cause())
			}
			if tangents != nil {
				err = s.advanceTangents(z, i, j, n, theta, xi)
				if err == nil {
					i++
				}
			} else {
				i, err = s.advance(z, i, end, n, theta, xi)
			}
			if err != nil {
				return s.fail(i, theta, row(z, i, d), err)
			}
		}
		if i < to { // the event behind the segment
			copy(row(z, i+1, d), row(z, i, d))
			if tangents != nil {
				tangents.jump(j, i, row(z, i, d), theta, s.g.t[i])
			}
			if e := s.g.events[j]; e.inside && e.event.Jump != nil {
				e.event.Jump(row(z, i+1, d), s.g.t[i], theta)
				if !sane(row(z, i+1, d)) {
					return s.fail(i, theta, row(z, i, d), fmt.Errorf("%w: after %s", ErrDiverged, e.title))
				}
			}
			i++
		}
	}
	if len(memory) > 0 {
		s.step.(Rememberer).Save(memory)
	}
	if !s.checked && from == 0 && to == s.Steps() {
		s.checked = true
		return s.checkPath(z, theta)
	}
	return nil
}

// advance makes one step, or several with a Runner, of those up to end. It
// returns the number of the next step, or of the one that failed.
func (s *Solver) advance(z []float64, i, end, n int, theta, xi []float64) (int, error) {
	if r, ok := s.step.(Runner); ok && (s.fixed || xi == nil) && r.Runs() {
		const most = 32 // between two looks at the context
		to := min(end, i+most)
		return r.Run(z, i, to, theta, xi, s.scale)
	}
	if err := s.single(z, i, n, theta, xi); err != nil {
		return i, err
	}
	return i + 1, nil
}

// advanceTangents makes step i of segment seg, and its derivative.
func (s *Solver) advanceTangents(z []float64, i, seg, n int, theta, xi []float64) error {
	if err := s.single(z, i, n, theta, xi); err != nil {
		return err
	}
	var normals []float64
	if xi != nil {
		normals = xi[i*n : (i+1)*n]
	}
	return s.tangents.step(i, seg, row(z, i, s.d), row(z, i+1, s.d), theta, normals)
}

// single makes step i.
func (s *Solver) single(z []float64, i, n int, theta, xi []float64) error {
	x, next := row(z, i, s.d), row(z, i+1, s.d)
	if s.g.t[i] == s.g.t[i+1] { // in a segment that has closed at this θ
		copy(next, x)
		return nil
	}
	var normals []float64
	if xi != nil {
		normals = xi[i*n : (i+1)*n]
		s.scaleAt(i)
	}
	var err error
	if s.scaling == ScaleLocal {
		err = s.step.Step(next, i, x, theta, nil, nil)
		for k, v := range normals {
			next[k] += s.scale[k] * v
		}
	} else {
		err = s.step.Step(next, i, x, theta, normals, s.scale)
	}
	if err == nil && !sane(next) {
		err = ErrDiverged
	}
	return err
}

// tooLarge is the size of a state at which a method is running away.
const tooLarge = 1e100

// sane reports whether all elements of x are numbers that a state can be.
func sane(x []float64) bool {
	for _, v := range x {
		if !(math.Abs(v) < tooLarge) {
			return false
		}
	}
	return true
}
