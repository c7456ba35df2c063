package filter

import (
	"cmp"
	"math"

	"github.com/probode/probode/pkg/probode/internal/vector"
)

// regression is the workspace of Cubature.
type regression struct {
	root               []float64 // factor of the predicted covariance of the state of a block
	mean, at, up, down []float64
}

func newRegression(d int) regression {
	return regression{mean: make([]float64, d), at: make([]float64, d), up: make([]float64, d), down: make([]float64, d)}
}

// cubature linearises f by its values at m ± √n sⱼ, with the rows sⱼ of a factor of the
// predicted n×n covariance, which the blocks must hold: their mean approximates the
// expectation, and A sⱼ = (f(m + √n sⱼ) − f(m − √n sⱼ)) / (2√n) is the linear regression
// of f on the state.
func (e *engine) cubature(t float64, theta []float64) {
	kappa, known := e.kappa, e.kappa > 0
	if !known {
		kappa = e.local()
	}
	n := float64(len(e.fa) * e.order())
	clear(e.mean)
	for k, b := range e.blocks {
		d := b.m * b.w
		size := len(b.z)
		rows := size // of the noise of the step
		if known {   // without κ, the rest of the prediction is left out
			rows += b.rows
		}
		e.root = resize(e.root, rows*d)
		for j := range d {
			own, c := e.root[j*rows:(j+1)*rows], b.columns[j]
			copy(own[size:], b.tail[c*b.rows:])
			copy(own[:size], b.top[c*size:])
		}
		triangularize(e.root, rows, rows, d, d)
		distance := math.Sqrt(n) * kappa * b.growth * b.root
		for j := range d { // A sⱼ goes to column j of hjac
			s := b.full[:d]
			for l := range s {
				if s[l] = 0; l >= j {
					s[l] = e.root[l*rows+j]
				}
			}
			far := e.pair(k, s, distance, t, theta)
			for i, c := range e.parts[k][d-b.w:] {
				b.hjac[i*d+j] = b.weight(b.h) * (e.up[c] - e.down[c]) / (2 * far)
			}
			for i := range e.mean {
				e.mean[i] += ((e.up[i]+e.down[i])/2 - e.f[i]) * (distance / far) * (distance / far) / n
			}
		}
		for i := range b.w {
			row := b.hjac[i*d : (i+1)*d]
			for j := d - 1; j >= 0; j-- {
				for l := j + 1; l < d; l++ {
					row[j] -= e.root[l*rows+j] * row[l]
				}
				row[j] /= e.root[j*rows+j]
			}
		}
	}
	for k, b := range e.blocks {
		for i, c := range e.parts[k][(b.m-1)*b.w:] {
			e.fa[k*b.w+i] += e.mean[c]
		}
	}
}

// pair takes f on both sides of the predicted mean in the direction s of block k, and
// returns the distance in units of s: a larger one, at which f is still practically
// linear, if rounding would dominate.
func (e *engine) pair(k int, s []float64, distance, t float64, theta []float64) float64 {
	var most float64
	b, part := e.blocks[k], e.parts[k]
	for j, c := range part {
		// If x = 0, the state provides no scale for the distance, so `distance` is left
		// unchanged. If x = 0 and distance = 0, the scale is 10⁻³.
		if scale := reach(e.x, c); scale > 0 || distance == 0 {
			most = max(most, math.Abs(s[j]*b.level(j, b.h))/cmp.Or(scale, 1e-3))
		}
	}
	if most > 0 {
		distance = max(distance, 6e-6/most) // the cube root of the rounding error
	}
	for i, to := range [2][]float64{e.up, e.down} {
		copy(e.at, e.x)
		for j, c := range part {
			e.at[c] += float64(1-2*i) * distance * s[j] * b.level(j, b.h)
		}
		e.p.F(to, t, e.at, theta)
	}
	return distance
}

// local is the maximum-likelihood κ from the residuals, for J = 0 and a known state at
// the beginning of the step.
func (e *engine) local() float64 {
	var square float64
	for k, b := range e.blocks {
		b.innovation(b.white, e.fa[k*b.w:])
		noise := b.noise[b.m*(b.q+1):][:b.q+1]
		square += vector.Dot(b.white, b.white) / vector.Dot(noise, noise)
	}
	b := e.blocks[0]
	return math.Sqrt(square/float64(len(e.fa))) / (b.growth * b.root)
}

func reach(x []float64, c int) float64 {
	return max(math.Abs(x[c]), 1e-3*vector.MaxAbs(x))
}
