package probode

import (
	"fmt"
	"math"
)

// Scaling says how the size of the noise depends on the step.
type Scaling int

const (
	// ScaleDefault means ScaleLocal on a grid that stores local errors. A grid stores
	// local errors if it comes from an error-controlled solve or from a Setup with
	// ScaleLocal. On grids without stored local errors, ScaleDefault means ScaleStep.
	ScaleDefault Scaling = iota
	// ScaleStep uses the method's own noise, with the scale √α h^p, as in [T18].
	ScaleStep
	// ScaleLocal adds √α l √N ξ to each component of the state after each of the N steps.
	// Here l is the size of the local error of this component in this step. The local
	// errors are those of the classical path at a fixed θ. In every step, the standard
	// deviation of the noise is the same multiple of the local error. For α = 1, the sum
	// of the noise over all steps has a standard deviation of at least Σ l. ScaleLocal
	// works for any method, and α has no unit. The spread of paths with ScaleLocal agrees
	// better with the actual errors than the spread of paths with ScaleStep: see
	// docs/calibration.md. If the grid stores no local errors, ScaleLocal costs up to
	// four classical solves before the first path.
	ScaleLocal
)

func (s Scaling) String() string {
	switch s {
	case ScaleDefault:
		return "default scaling"
	case ScaleStep:
		return "noise of the method"
	case ScaleLocal:
		return "noise scaled by local errors"
	}
	return fmt.Sprintf("Scaling(%d)", int(s))
}

// Alpha returns the noise scale α.
func (s *Solver) Alpha() float64 { return s.alpha }

// SetAlpha changes the noise scale. SetAlpha panics if alpha is negative or NaN.
func (s *Solver) SetAlpha(alpha float64) {
	if !(alpha >= 0) {
		panic(fmt.Sprintf("probode: alpha is %g: want a number ≥ 0", alpha))
	}
	s.alpha = alpha
	s.rescale()
}

// SetScaling changes how the size of the noise depends on the step. If scaling is
// ScaleLocal and no local errors are stored in the grid, SetScaling estimates these
// errors along the classical path at θ. The estimation of local errors requires several
// solves, and SetScaling returns an error if one of them fails.
func (s *Solver) SetScaling(scaling Scaling, theta []float64) error {
	if scaling == ScaleDefault {
		scaling = s.byDefault()
	}
	switch scaling {
	case ScaleStep, ScaleLocal:
	default:
		return fmt.Errorf("%s: %v: want ScaleStep or ScaleLocal", s.p.Title(), scaling)
	}
	if scaling == ScaleLocal {
		local := s.g.local
		if local == nil {
			var err error
			if local, err = s.localErrors(theta); err != nil {
				return err
			}
		}
		s.local = local
	}
	if s.scaling = scaling; scaling == ScaleLocal {
		s.setUnit()
	}
	s.rescale()
	return nil
}

// Scaling returns the Scaling that s uses: ScaleStep or ScaleLocal.
func (s *Solver) Scaling() Scaling {
	if s.scaling == ScaleLocal {
		return ScaleLocal
	}
	return ScaleStep
}

// byDefault returns the scaling that ScaleDefault stands for.
func (s *Solver) byDefault() Scaling {
	if s.g.local == nil {
		return ScaleStep
	}
	return ScaleLocal
}

// setUnit sets the scales of ScaleLocal for α = 1. The old scales are not overwritten,
// because a clone may use them.
func (s *Solver) setUnit() {
	n := 0
	for i := range s.g.Steps() {
		if s.g.H(i) > 0 {
			n++
		}
	}
	s.unit = make([]float64, len(s.local))
	for i := range s.g.Steps() {
		if s.g.H(i) > 0 {
			for k := i * s.d; k < (i+1)*s.d; k++ {
				s.unit[k] = math.Sqrt(float64(n)) * s.local[k]
			}
			for _, k := range s.p.Noiseless {
				s.unit[i*s.d+k] = 0 // the local error is a rounding error
			}
		}
	}
}

// rescale updates the scales after a change of α or of the scaling.
func (s *Solver) rescale() {
	if n := s.Normals(); len(s.scale) != n {
		s.scale = make([]float64, n)
	}
	if s.fixed = false; s.scaling == ScaleLocal {
		return
	}
	if h, ok := s.g.Uniform(); ok {
		s.fixed = true
		s.setScale(math.Pow(h, s.noise.Exponent))
	} else if !s.g.moving && s.powers == nil {
		s.powers = make([]float64, s.g.Steps())
		for i := range s.powers {
			s.powers[i] = math.Pow(s.g.H(i), s.noise.Exponent)
		}
	}
}

// scaleAt sets the field `scale` to the noise scales of step i.
func (s *Solver) scaleAt(i int) {
	switch {
	case s.fixed:
	case s.scaling == ScaleLocal:
		root := math.Sqrt(s.alpha)
		for k, u := range s.unit[i*s.d : (i+1)*s.d] {
			s.scale[k] = root * u
		}
	case s.powers != nil:
		s.setScale(s.powers[i])
	default:
		s.setScale(math.Pow(s.g.H(i), s.noise.Exponent))
	}
}

// localNoise returns the noise of ScaleLocal of the steps from step i.
func (s *Solver) localNoise(xi []float64, i int) []float64 {
	root := math.Sqrt(s.alpha)
	s.added = s.added[:0]
	for k, u := range s.unit[i*s.d:][:len(xi)] {
		s.added = append(s.added, root*u*xi[k])
	}
	return s.added
}

// setScale sets the scale √α h^p of each normal variate; the argument `power` is h^p. A
// component without noise has the scale 0.
func (s *Solver) setScale(power float64) {
	v := math.Sqrt(s.alpha) * power
	for k := range s.scale {
		s.scale[k] = v
	}
	if len(s.scale) == s.d {
		for _, k := range s.p.Noiseless {
			s.scale[k] = 0
		}
	}
}
