package shape

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/probode/probode/pkg/probode/bayes"
)

// A Block is a set of elements of ξ: the values of one component in consecutive steps.
// The data say little about a single element of ξ, but more about a sum of many elements.
// The value of a block is the scaled sum of its elements:
//
//	v_b = Σ_{i∈b} ξᵢ/√n_b,   n_b the number of steps,
//
// Under the prior, the sums of different blocks are independent N(0, 1) variables.
//
// If Weights is not nil, the value of the block is the linear combination v = Σ
// Weights[i] ξ[From+i], where Weights is a unit vector (see Informed).
type Block struct {
	From, To, By int       // elements of ξ: From, From+By, … below To
	Scale        float64   // 1/√n_b
	Weights      []float64 // nil for a sum
}

// For each experiment, Blocks divides the steps that use ξ into `count` intervals. If
// there are fewer than `count` steps, each step is an interval. For each interval, Blocks
// returns one block for each component of ξ.
func Blocks(e *bayes.Density, count int) []Block {
	var blocks []Block
	at := 0
	for i := range e.Posterior().Experiments {
		r := e.Part(i)
		if r.Grid() == nil {
			at += r.NoiseLen()
			continue
		}
		solver := r.Grid().Solver()
		d := solver.Normals()
		first := solver.Startup()
		n := solver.Steps() - first
		c := min(count, n)
		for b := range c {
			from, to := first+b*n/c, first+(b+1)*n/c
			for k := range d {
				blocks = append(blocks, Block{From: at + from*d + k, To: at + to*d, By: d, Scale: 1 / math.Sqrt(float64(to-from))})
			}
		}
		at += r.NoiseLen()
	}
	return blocks
}

// Sum returns v_b. Sum uses two running sums, because the processor can add to both at
// the same time.
func (b *Block) Sum(xi []float64) float64 {
	xi = xi[b.From:b.To]
	if b.Weights != nil {
		return floats.Dot(b.Weights, xi)
	}
	var even, odd float64
	k, by := 0, b.By
	for ; k+by < len(xi); k += 2 * by {
		even += xi[k]
		odd += xi[k+by]
	}
	if k < len(xi) {
		even += xi[k]
	}
	return (even + odd) * b.Scale
}

// Add adds dv to v_b.
func (b *Block) Add(xi []float64, dv float64) {
	xi = xi[b.From:b.To]
	if b.Weights != nil {
		floats.AddScaled(xi, dv, b.Weights)
		return
	}
	dv *= b.Scale
	for k := 0; k < len(xi); k += b.By {
		xi[k] += dv
	}
}
