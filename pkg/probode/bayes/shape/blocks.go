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
// A block of Informed has weights instead, a unit vector: its value is v = Σ weights[i] ξ[From+i].
type Block struct {
	From, To, by int       // elements of ξ: From, From+By, … below To
	Scale        float64   // 1/√n_b
	weights      []float64 // nil for a sum
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
				blocks = append(blocks, Block{From: at + from*d + k, To: at + to*d, by: d, Scale: 1 / math.Sqrt(float64(to-from))})
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
	if b.weights != nil {
		return floats.Dot(b.weights, xi)
	}
	var even, odd float64
	k, by := 0, b.by
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
	if b.weights != nil {
		floats.AddScaled(xi, dv, b.weights)
		return
	}
	dv *= b.Scale
	for k := 0; k < len(xi); k += b.by {
		xi[k] += dv
	}
}
