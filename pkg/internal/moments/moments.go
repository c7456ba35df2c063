// Package moments computes means and variances of vectors that arrive one by one,
// without storing them.
package moments

import (
	"math"
	"slices"
)

// Vector holds the running mean of vectors of equal length and, for each element, the sum
// of the squared deviations from the mean [Welford 1962]. Two Vectors can be merged
// without loss of accuracy [Chan, Golub & LeVeque 1983].
type Vector struct {
	N        int       // vectors added
	Mean, M2 []float64 // by element
}

// NewVector returns an empty Vector, to which data vectors of the given length can be
// added.
func NewVector(size int) Vector {
	return Vector{Mean: make([]float64, size), M2: make([]float64, size)}
}

// Add includes x.
func (m *Vector) Add(x []float64) {
	m.N++
	inv := 1 / float64(m.N)
	for k, v := range x {
		delta := v - m.Mean[k]
		m.Mean[k] += delta * inv
		m.M2[k] += delta * (v - m.Mean[k])
	}
}

// Clone returns a copy.
func (m *Vector) Clone() Vector {
	return Vector{m.N, slices.Clone(m.Mean), slices.Clone(m.M2)}
}

// Merge updates m as if the vectors in o had been added to it; o does not change.
func (m *Vector) Merge(o *Vector) {
	if o.N == 0 {
		return
	}
	n := m.N + o.N
	share := float64(o.N) / float64(n)
	cross := float64(m.N) * share
	for k, v := range o.Mean {
		delta := v - m.Mean[k]
		m.Mean[k] += delta * share
		m.M2[k] += o.M2[k] + delta*delta*cross
	}
	m.N = n
}

// SD returns the sample standard deviations, which are NaN for fewer than two vectors.
func (m *Vector) SD() []float64 {
	out := make([]float64, len(m.M2))
	for k, v := range m.M2 {
		out[k] = math.NaN()
		if m.N > 1 {
			out[k] = math.Sqrt(v / float64(m.N-1))
		}
	}
	return out
}

// Matrix holds the running mean of vectors of dimension d, and the sum of the outer
// products of the deviations from this mean.
type Matrix struct {
	N       float64
	Mean    []float64
	Scatter []float64 // d×d, row-major, both triangles
	dev     []float64
}

// NewMatrix returns an empty Matrix, to which data vectors of dimension d can be added.
func NewMatrix(d int) Matrix {
	return Matrix{Mean: make([]float64, d), Scatter: make([]float64, d*d), dev: make([]float64, d)}
}

// Add adds x to the moments: with δ = x − mean before the update,
//
//	mean += δ/n,  scatter += (n−1)/n δ δᵀ.
func (m *Matrix) Add(x []float64) {
	m.N++
	for i, v := range x {
		m.dev[i] = v - m.Mean[i]
		m.Mean[i] += m.dev[i] / m.N
	}
	f := (m.N - 1) / m.N
	for i, a := range m.dev {
		row := m.Scatter[i*len(x) : (i+1)*len(x)]
		for j, b := range m.dev {
			row[j] += f * a * b
		}
	}
}

// Clear removes all vectors.
func (m *Matrix) Clear() {
	m.N = 0
	clear(m.Mean)
	clear(m.Scatter)
}
