package shape

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/internal/vector"
)

// slack damps expansions with kinks: no steps of more than ten standard deviations where
// the density has no curvature.
const slack = 1e-2

// sharpest is the final width of the hyperbolas for absolute values, about the distance
// of the computed maximum from a kink.
const sharpest = 1e-10

// bentStep maximises an expansion with kinks within bounds, and returns the predicted
// rise. It damps by `damping` times the diagonal of Information. √(r² + ε²) replaces |r|,
// and Newton's method follows the maximum as ε shrinks. It linearises λ √(r² + ε²) = r
// with the slopes λ as unknowns: with d alone it does not converge to kinks [Chan, Golub
// & Mulet (1999), SIAM J. Sci. Comput. 20, 1964].
func (p *Point) bentStep(damping float64, low, high []float64) (d []float64, gain float64, ok bool) {
	n := len(p.X)
	h := mat.NewSymDense(n, nil)
	h.CopySym(p.Curvature)
	for i := range n {
		h.SetSym(i, i, h.At(i, i)+damping*max(p.Information.At(i, i), 1e-6))
	}
	down := mat.NewVecDense(n, nil)
	down.ScaleVec(-1, p.Gradient)
	us, js := p.walls(down, h, low, high)
	// value returns the expansion of −log density at d, and stores the arguments of the
	// absolute values in r.
	value := func(d []float64, epsilon float64, r []float64) (f float64) {
		x := mat.NewVecDense(n, d)
		f = mat.Dot(x, down) + mat.Inner(x, h, x)/2
		for i, row := range js {
			r[i] = us[i] + mat.Dot(x, row)
			f += math.Hypot(r[i], epsilon)
		}
		return f
	}
	widest := max(1, vector.MaxAbs(us))
	d = make([]float64, n)
	trial, r, lambda := make([]float64, n), slices.Clone(us), make([]float64, len(us))
	before := value(d, 0, r)
	if math.IsNaN(before) || math.IsInf(before, 0) {
		return d, 0, false
	}
	slope, step := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
	normal := mat.NewSymDense(n, nil)
	var chol mat.Cholesky
	for epsilon := widest; epsilon > sharpest; epsilon /= 4 {
		for range 20 {
			f := value(d, epsilon, r)
			slope.MulVec(h, mat.NewVecDense(n, d))
			slope.AddVec(slope, down)
			normal.CopySym(h)
			for i, row := range js {
				width := math.Hypot(r[i], epsilon)
				slope.AddScaledVec(slope, r[i]/width, row)
				normal.SymRankOne(normal, (1-lambda[i]*r[i]/width)/width, row)
			}
			if !chol.Factorize(normal) {
				break // rounding errors allow no further progress
			}
			// Kinks always make the matrix ill-conditioned, so a warning about its
			// condition number is ignored.
			_ = chol.SolveVecTo(step, slope)
			falls := mat.Dot(step, slope)
			if !(falls > 0.1*epsilon) {
				break
			}
			length := 1.0
			for ; length > 1e-6; length /= 2 {
				for i := range trial {
					trial[i] = d[i] - length*step.AtVec(i)
				}
				if value(trial, epsilon, make([]float64, len(r))) < f-1e-4*length*falls {
					break
				}
			}
			// The slopes λ must stay between −1 and 1.
			room, dlambda := 1.0, make([]float64, len(r))
			for i, row := range js {
				width := math.Hypot(r[i], epsilon)
				dlambda[i] = r[i]/width - lambda[i] - (1-lambda[i]*r[i]/width)/width*mat.Dot(step, row)
				if v := math.Abs(dlambda[i]); v > 0 {
					room = min(room, 0.99*(1-math.Copysign(1, dlambda[i])*lambda[i])/v)
				}
			}
			for i := range lambda {
				lambda[i] += room * dlambda[i]
			}
			copy(d, trial)
		}
	}
	for i := range d {
		d[i] = min(max(p.X[i]+d[i], low[i]), high[i]) - p.X[i]
	}
	gain = before - value(d, 0, r)
	return d, gain, !math.IsNaN(gain) && !math.IsInf(gain, 0)
}

// walls adds for each bound a kink of the penalty K max(0, t) = K|t|/2 + Kt/2 of the
// distance t beyond. K exceeds the slope, so that the maximum lies within.
func (p *Point) walls(down *mat.VecDense, h *mat.SymDense, low, high []float64) (us []float64, js []*mat.VecDense) {
	n := len(p.X)
	steepest := make([]float64, n)
	for i := range n {
		steepest[i] = math.Abs(down.AtVec(i)) + 100*math.Sqrt(h.At(i, i))
	}
	for i, row := range p.J {
		us, js = append(us, p.U[i]), append(js, mat.NewVecDense(n, row))
		for k, v := range row {
			steepest[k] += math.Abs(v)
		}
	}
	for i := range low {
		for side, wall := range [2]float64{low[i], high[i]} {
			if math.IsInf(wall, 0) {
				continue
			}
			k, row := 2*float64(2*side-1)*steepest[i], mat.NewVecDense(n, nil)
			row.SetVec(i, k/2)
			us, js = append(us, k/2*(p.X[i]-wall)), append(js, row)
			down.SetVec(i, down.AtVec(i)+k/2)
		}
	}
	return us, js
}

// flatten changes p so that steps from X are perpendicular to `normal`. It sets the slope in
// this direction to zero, and makes the curvature very large.
func (p *Point) flatten(normal []float64) {
	n := mat.NewVecDense(len(normal), normal)
	for _, v := range p.J {
		row := mat.NewVecDense(len(v), v)
		row.AddScaledVec(row, -mat.Dot(row, n), n)
	}
	p.Gradient.AddScaledVec(p.Gradient, -mat.Dot(p.Gradient, n), n)
	stiff := 1e4 * mat.Trace(p.Information)
	p.Information.SymRankOne(p.Information, stiff, n)
	if p.Curvature != nil {
		p.Curvature.SymRankOne(p.Curvature, stiff, n)
	}
}

func (s *Surface) bend(p *Point) {
	for i := range s.parts {
		part := &s.parts[i]
		for _, c := range part.cells {
			if !c.Kinked || len(part.cols) == 0 {
				continue
			}
			j := make([]float64, len(p.X))
			for m, k := range part.cols {
				j[k] = c.Slope * part.row(c.At)[m]
			}
			p.U, p.J = append(p.U, c.U), append(p.J, j)
		}
	}
}
