package filter

import "math"

// The prior of each component of the state is an integrated Wiener process of order q:
// its q-th derivative is κ times a Wiener process. The filter works with the Nordsieck
// coordinates
//
//	zᵢ = hⁱ x⁽ⁱ⁾ / i!,   i = 0, …, q,
//
// of all components, with component k of zᵢ at index i*w+k. In these coordinates the
// transition matrix of a step of length h consists of binomial coefficients, and does not
// depend on h. The covariance of the noise in the step is κ² h^{2q+1} Q with
//
//	Q_ij = (q choose i) (q choose j) / ((2q+1−i−j) q!²).

// shift replaces zᵢ by Σ_j (j choose i) z_j, a step without noise.
func shift(z []float64, q, w int) {
	for i := range q {
		for j := (q - 1) * w; j >= i*w; j -= w {
			for k := j; k < j+w; k++ {
				z[k] += z[k+w]
			}
		}
	}
}

func rescale(z []float64, w int, ratio float64) {
	c := 1.0
	for i := 0; i < len(z) && ratio != 1; i += w {
		scale(z[i:i+w], c)
		c *= ratio
	}
}

func scale(x []float64, c float64) {
	for k := range x {
		x[k] *= c
	}
}

// wiener returns L of Q = L Lᵀ by rows; L[i*(q+1)+n] is zero for i+n > q. The expansion
// of tᵐ in orthonormal Legendre polynomials on [0, 1] is accurate although Q is
// ill-conditioned.
func wiener(q int) []float64 {
	n := q + 1
	l := make([]float64, n*n)
	for i := range n {
		m := q - i
		c := choose(q, i) / math.Gamma(float64(q+1)) / float64(m+1)
		for j := 0; j <= m; j++ { // c = (q choose i)/q! · m!²/((m−j)! (m+j+1)!)
			l[i*n+j] = c * math.Sqrt(float64(2*j+1))
			c *= float64(m-j) / float64(m+j+2)
		}
	}
	return l
}

func choose(n, k int) float64 {
	c := 1.0
	for i := range k {
		c = c * float64(n-i) / float64(i+1)
	}
	return math.Round(c)
}
