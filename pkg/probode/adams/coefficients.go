package adams

import "math/big"

// The coefficients of the Adams methods come from integrating, over one step, the
// polynomial that interpolates past values of f. They are computed in exact rational
// arithmetic and rounded once, not copied from a table.

// BashforthCoefficients returns β₀, …, β_{s−1} of the s-step
// Adams–Bashforth method
//
//	z_{i+1} = zᵢ + h Σ_{j=0}^{s−1} β_j f_{i−j},
//
// each correctly rounded. It panics if s < 1. [HNW93, §III.1]
func BashforthCoefficients(s int) []float64 {
	if s < 1 {
		panic("adams: the number of steps of Adams–Bashforth is less than 1")
	}
	return roundAll(adams(s, 0))
}

// MoultonCoefficients returns β₋₁ and β₀, …, β_{s−1} of the s-step
// Adams–Moulton method
//
//	z_{i+1} = zᵢ + h (β₋₁ f_{i+1} + Σ_{j=0}^{s−1} β_j f_{i−j}),
//
// each correctly rounded; s = 0 is backward Euler. It panics if s < 0.
// [HNW93, §III.1; T18, equation 7]
func MoultonCoefficients(s int) (next float64, past []float64) {
	if s < 0 {
		panic("adams: negative number of steps")
	}
	b := roundAll(adams(s+1, 1))
	return b[0], b[1:]
}

// adams returns ∫₀¹ ℓ_j(τ) dτ, j = 0, …, n−1, for the Lagrange polynomials ℓ_j of the n
// nodes that begin with first and decrease by 1. The nodes are in units of the step, and
// the current time is 0: first is 0 for an explicit method and 1 for an implicit one.
func adams(n, first int) []*big.Rat {
	out := make([]*big.Rat, n)
	for j := range out {
		// p holds the coefficients of Π_{k≠j} (τ − τ_k)/(τ_j − τ_k).
		p := []*big.Rat{big.NewRat(1, 1)}
		for k := range n {
			if k == j {
				continue
			}
			root := big.NewRat(int64(first-k), 1)
			scale := big.NewRat(1, int64(k-j)) // τ_j − τ_k = k − j
			q := make([]*big.Rat, len(p)+1)
			for i := range q {
				q[i] = new(big.Rat)
			}
			for i, c := range p {
				q[i+1].Add(q[i+1], c)
				q[i].Sub(q[i], new(big.Rat).Mul(root, c))
			}
			for _, c := range q {
				c.Mul(c, scale)
			}
			p = q
		}
		sum := new(big.Rat)
		for i, c := range p {
			sum.Add(sum, new(big.Rat).Mul(c, big.NewRat(1, int64(i+1))))
		}
		out[j] = sum
	}
	return out
}

func roundAll(r []*big.Rat) []float64 {
	out := make([]float64, len(r))
	for i, v := range r {
		out[i], _ = v.Float64()
	}
	return out
}
