package filter

import (
	"cmp"
	"math"

	"github.com/probode/probode/pkg/probode/internal/vector"
)

// cubature linearises f, using values of f at points around the predicted mean m. The
// blocks must hold the factors of the predicted covariance.
//
// Let S be a factor of the predicted n×n covariance of the state, and let sⱼ be row j of
// S. The mean of f over the points m ± √n sⱼ approximates the expectation of f. The
// matrix A of the linear regression of f on the state satisfies
// A sⱼ = (f(m + √n sⱼ) − f(m − √n sⱼ)) / (2√n) for all j.
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

// pair computes f at two points on opposite sides of the predicted mean. The points
// differ from the mean only in the coordinates of block k, in the direction s. The method
// returns the distance of the two points from the mean, in units of s. If rounding errors
// would dominate at the given distance, pair() uses a larger distance. At the larger
// distance, f is still practically linear.
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

// local returns the maximum-likelihood estimate of κ from the residuals of the predicted
// means. The estimate assumes that J = 0, and that the state at the beginning of the step
// is known.
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

// reach returns the scale on which component c of x is varied for finite differences, or
// 0 if x is zero.
func reach(x []float64, c int) float64 {
	return max(math.Abs(x[c]), 1e-3*vector.MaxAbs(x))
}
