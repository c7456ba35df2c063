package adams

// An Adams method replaces f by a polynomial that interpolates values of f at grid points.
// The coefficients of the method are the integrals of the Lagrange polynomials over one
// step. The coefficients are computed in integer arithmetic and rounded once, not copied
// from a table.

// BashforthCoefficients returns β₀, …, β_{s−1} of the s-step
// Adams–Bashforth method
//
//	z_{i+1} = zᵢ + h Σ_{j=0}^{s−1} β_j f_{i−j},
//
// each correctly rounded. BashforthCoefficients panics if s < 1 or s > 12. [HNW93,
// §III.1]
func BashforthCoefficients(s int) []float64 {
	if s < 1 {
		panic("adams: the number of steps of Adams–Bashforth is less than 1")
	}
	return adams(s, 0)
}

// MoultonCoefficients returns β₋₁ and β₀, …, β_{s−1} of the s-step
// Adams–Moulton method
//
//	z_{i+1} = zᵢ + h (β₋₁ f_{i+1} + Σ_{j=0}^{s−1} β_j f_{i−j}),
//
// each correctly rounded; s = 0 gives the backward Euler method. MoultonCoefficients
// panics if s < 0 or s > 11. [HNW93, §III.1; T18, equation 7]
func MoultonCoefficients(s int) (next float64, past []float64) {
	if s < 0 {
		panic("adams: the number of steps is negative")
	}
	b := adams(s+1, 1)
	return b[0], b[1:]
}

// most nodes are those with which float64 has all integers of the computation exactly.
const most = 12

// adams returns ∫₀¹ ℓ_j(τ) dτ, j = 0, …, n−1, for the Lagrange polynomials of the nodes
// `first`, …, `first`−n+1 in steps from the current time: `first` is 0 for an explicit
// method, and 1 for an implicit one.
func adams(n, first int) []float64 {
	if n > most {
		panic("adams: the number of nodes of an Adams method is more than 12")
	}
	const common = 27720 // a multiple of 1, …, most
	out := make([]float64, n)
	for j := range out {
		// p holds the coefficients of Π_{k≠j} (τ − τ_k), and scale is Π_{k≠j} (τ_j − τ_k).
		p, scale := []int{1}, 1
		for k := range n {
			if k == j {
				continue
			}
			q := make([]int, len(p)+1)
			for i, c := range p {
				q[i+1] += c
				q[i] -= (first - k) * c
			}
			p, scale = q, scale*(k-j)
		}
		sum := 0
		for i, c := range p {
			sum += common / (i + 1) * c
		}
		out[j] = float64(sum) / float64(common*scale)
	}
	return out
}
