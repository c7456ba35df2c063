package shape

import (
	"slices"
)

// Settle maximises the log density over the coordinates that do not affect the solution
// of the equations, such as the size of the measurement errors or the scale and offset of
// an observation, and returns the result that Ascent.Adjust must return. Settle
// does not solve the equations again. If the log density has kinks, Settle does not
// change x. After Settle, Follow cannot be called.
func (s *Surface) Settle(x []float64, value float64) float64 {
	const (
		longest = 5 // step, in each coordinate: it should be at least a factor of 100 for a scale
		rounds  = 30
		enough  = 1e-6 // predicted rise
	)
	free := s.unsolved()
	if len(free) == 0 {
		return value
	}
	point := Point{X: x}
	trial := slices.Clone(x)
	gradient, least, most := make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(x))
	damping, known := 0.0, false
	for range rounds {
		if !known {
			s.locate()
			if !s.observed(x) || !s.assemble(&point) || point.U != nil {
				break
			}
			known = true
		}
		for _, k := range free {
			gradient[k] = point.Gradient.AtVec(k)
			least[k], most[k] = min(0, max(s.Low[k]-x[k], -longest)), max(0, min(s.High[k]-x[k], longest))
		}
		d, ok := boxed(point.Information, gradient, damping+1e-9, least, most)
		var rise float64
		for _, k := range free {
			rise += gradient[k] * d[k] / 2
			trial[k] = x[k] + d[k]
		}
		if !ok || rise < enough {
			break
		}
		if at := s.unmoved(trial); at > value {
			copy(x, trial)
			value, known = at, false
			damping /= 10
			continue
		}
		var largest float64
		for _, k := range free {
			largest = max(largest, point.Information.At(k, k))
		}
		damping = max(0.1*largest, 10*damping)
	}
	s.unmoved(x)
	return value
}

func (s *Surface) unsolved() (free []int) {
	for k := range s.Steps {
		in := false
		for i := range s.parts {
			p := &s.parts[i]
			m, found := slices.BinarySearch(p.cols, k)
			in = in || found && p.solved[m]
		}
		if !in {
			free = append(free, k)
		}
	}
	return free
}
