package shape

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Expand computes the derivatives at p.X. If the solver chooses its steps separately for
// every θ, the density is discontinuous in θ. Expand therefore uses the steps chosen at
// p.X for all evaluations.
func (s *Surface) Expand(p *Point) bool {
	if math.IsInf(s.place(p.X), 0) {
		return false
	}
	defer s.e.Hold(s.theta)()
	defer func() {
		for i := range s.parts {
			q := &s.parts[i]
			q.origin, q.slopes = append(q.origin[:0], q.base...), append(q.slopes[:0], q.jac...)
		}
	}()
	if s.exact = s.along(p.X); s.exact {
		s.Evaluations++
		return s.assemble(p)
	}
	if math.IsInf(s.Value(p.X), 0) {
		return false
	}
	s.locate()
	return s.differentiate(p.X) && s.assemble(p)
}

// differentiate computes derivatives at the last x by differences.
func (s *Surface) differentiate(x []float64) bool {
	var plus, minus []float64
	for k, at := range x {
		if s.Progress != nil {
			s.Progress(k, len(x))
		}
		h := s.Steps[k]
		// look changes coordinate k by h, and appends the resulting locations to dst. Parts
		// that do not depend on coordinate k are left out. look returns false if the log
		// density is not finite at the changed point.
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
				if !found {
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
			continue // nothing depends on it
		}
		if minus = minus[:0]; !s.Forward || !up {
			if minus, down = look(minus, -h); !down && !up {
				return false
			}
		}
		for i := range s.parts {
			p := &s.parts[i]
			m, found := slices.BinarySearch(p.cols, k)
			if !found {
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

// observed computes the derivatives of coordinates that occur in no equation, at the last x.
func (s *Surface) observed(x []float64) bool {
	d := len(s.theta)
	s.place(x)
	slopes := make([]float64, d)
	s.e.Slopes(slopes, x[:d])
	for i := range s.parts {
		p := &s.parts[i]
		var free []int // the indices of these coordinates in p.cols
		for m, solved := range p.solved {
			if !solved {
				free = append(free, m)
			}
		}
		if len(free) == 0 {
			continue
		}
		directions := make([]float64, len(free)*d)
		for n, m := range free {
			directions[n*d+p.cols[m]] = slopes[p.cols[m]]
		}
		rows := s.e.Part(i).Tangents(s.theta, directions)
		if rows == nil || !finite(rows...) {
			return false
		}
		w := len(p.cols)
		if p.jac == nil {
			p.jac = make([]float64, len(p.base)*w)
		}
		for j := range p.base {
			for n, m := range free {
				p.jac[j*w+m] = rows[j*len(free)+n]
			}
		}
	}
	return true
}

// Follow corrects derivatives that were computed by finite differences. The corrected
// derivatives reproduce the change in the locations between the previous point and
// point.X. If the derivatives were computed together with the path, Follow does nothing
// and returns false, because new derivatives cost little more than a solve.
func (s *Surface) Follow(point *Point, from []float64) bool {
	if s.exact {
		return false
	}
	to := point.X
	for i := range s.parts {
		p := &s.parts[i]
		p.before, p.was = append(p.before[:0], p.base...), append(p.was[:0], p.jac...)
	}
	s.locate()
	if !s.observed(to) {
		return false
	}
	for i := range s.parts {
		p := &s.parts[i]
		// The length of the step is measured in the norm defined by the diagonal of the
		// information matrix.
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

func (s *Surface) assemble(point *Point) bool {
	n := len(point.X)
	slopes, curvatures := s.priors(point.X)
	s.gradient.Zero()
	kinked := false
	for i := range s.parts {
		p := &s.parts[i]
		w := len(p.cols)
		gradient := make([]float64, w)
		for _, c := range p.cells {
			kinked = kinked || c.Kinked && w > 0
			for i, v := range c.Score {
				floats.AddScaled(gradient, v, p.row(c.At+i))
			}
		}
		for a, i := range p.cols {
			s.gradient.SetVec(i, s.gradient.AtVec(i)+gradient[a])
		}
	}
	s.gradient.AddVec(s.gradient, mat.NewVecDense(n, slopes))
	s.inform(s.precision, curvatures, true)
	for k := range n {
		if !finite(s.gradient.AtVec(k), s.precision.At(k, k)) {
			return false
		}
	}
	if point.Gradient == nil {
		point.Gradient, point.Information = mat.NewVecDense(n, nil), mat.NewSymDense(n, nil)
	}
	point.Gradient.CopyVec(s.gradient)
	point.Information.CopySym(s.precision)
	point.U, point.J, point.Curvature = nil, nil, nil
	if kinked {
		s.bend(point)
		point.Curvature = mat.NewSymDense(n, nil)
		s.inform(point.Curvature, curvatures, false)
	}
	if s.Normal != nil {
		point.flatten(s.Normal)
	}
	return true
}

func (s *Surface) priors(x []float64) (slopes, curvatures []float64) {
	slopes, curvatures = make([]float64, len(x)), make([]float64, len(x))
	for k, at := range x {
		if k >= len(s.theta) {
			slopes[k], curvatures[k] = -at, 1
			continue
		}
		h := 1e-3 * s.unit[k]
		up, here, down := s.e.PriorLogProb(k, at+h), s.e.PriorLogProb(k, at), s.e.PriorLogProb(k, at-h)
		if !math.IsInf(up, 0) && !math.IsInf(down, 0) {
			slopes[k], curvatures[k] = (up-down)/(2*h), max(0, (2*here-up-down)/(h*h))
		}
	}
	return slopes, curvatures
}

// inform without `kinks` leaves out expected values whose likelihood has one.
func (s *Surface) inform(dst *mat.SymDense, curvatures []float64, kinks bool) {
	dst.Zero()
	for i := range s.parts {
		p := &s.parts[i]
		w := len(p.cols)
		full, scaled := make([]float64, w*w), make([]float64, w)
		for _, c := range p.cells {
			n := len(c.Score)
			for i := range n {
				clear(scaled)
				for j := range n {
					if v := c.Information[i*n+j]; v != 0 && (kinks || !c.Kinked || i*j > 0) {
						floats.AddScaled(scaled, v, p.row(c.At+j))
					}
				}
				for a, v := range p.row(c.At + i) {
					if v != 0 {
						floats.AddScaled(full[a*w+a:(a+1)*w], v, scaled[a:])
					}
				}
			}
		}
		for a, i := range p.cols {
			for b, j := range p.cols[a:] {
				dst.SetSym(i, j, dst.At(i, j)+full[a*w+a+b])
			}
		}
	}
	for k, v := range curvatures {
		dst.SetSym(k, k, dst.At(k, k)+v)
	}
}
