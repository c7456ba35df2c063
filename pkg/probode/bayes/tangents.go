package bayes

import (
	"slices"

	"github.com/probode/probode/pkg/probode"
)

// Tangents returns the derivatives of the locations of each experiment at θ (see
// Part.Locations). The paths are computed without noise. The argument `dtheta` contains M
// directions in θ, as a row-major M×p matrix, and
//
//	Tangents(...)[i][l*M+m] = d/ds of location l of experiment i at θ + s·dtheta[m], s = 0.
//
// Tangents combines the derivatives of the path (see probode.Tangential) with those of
// Observe. The derivatives of Observe come from Experiment.ObserveSlopes or, if it is
// nil, from central differences, which are accurate to about 10⁻⁷. The result is nil if
// the density is not Differentiable.
func (e *Density) Tangents(theta, dtheta []float64) [][]float64 {
	if !e.Differentiable() {
		return nil
	}
	m := len(dtheta) / len(theta)
	expected := make([]float64, len(e.fit)*m)
	if e.err = e.fault; e.err == nil {
		e.tangents(expected, theta, dtheta, m)
	}
	if e.err != nil {
		return nil
	}
	var out [][]float64
	for _, r := range e.parts {
		out = append(out, r.ofLocations(expected, dtheta, m))
		expected = expected[len(r.fit)*m:]
	}
	return out
}

// Differentiable reports whether all paths have derivatives. An accurate solver computes
// no derivatives of its paths. If the steps of a path are chosen separately for every θ,
// the path can be differentiated only while Density.Hold keeps the steps fixed.
func (e *Density) Differentiable() bool {
	for _, r := range e.parts {
		if _, ok := r.now().(probode.Tangential); !ok {
			return false
		}
	}
	return true
}

func (r *Part) ofLocations(expected, dtheta []float64, m int) (out []float64) {
	p := len(dtheta) / m
	for range r.x.Data.T {
		for k, l := range r.errors {
			out = append(out, expected[k*m:(k+1)*m]...)
			for n, of := range l.param {
				switch column := l.column[n]; {
				case of >= 0:
					for i := range m {
						out = append(out, dtheta[i*p+of])
					}
				case column >= 0:
					out = append(out, expected[column*m:(column+1)*m]...)
				}
			}
		}
		expected = expected[len(r.errors)*m:]
	}
	return out
}

// tangents writes that of expected value i in direction k to dst[i*m+k]. A direction in
// which θ of a problem changes counts as a solution in Work.
func (e *Density) tangents(dst, theta, dtheta []float64, m int) {
	e.at = e.parts[0]
	defer e.recovered(theta)
	p := len(theta)
	for _, r := range e.parts {
		e.at = r
		e.bind(r, theta)
		q, c := len(r.theta), len(r.errors)
		var along []float64
		var moved []int // the directions in which the θ of the problem moves
		for n := range m {
			row := make([]float64, q)
			for k, i := range r.param {
				if i >= 0 {
					row[k] = dtheta[n*p+i]
				}
			}
			if slices.ContainsFunc(row, func(v float64) bool { return v != 0 }) {
				along, moved = append(along, row...), append(moved, n)
			}
		}
		path, states := r.now().(probode.Tangential), make([]float64, len(moved)*len(r.state))
		err := path.Tangents(e.ctx, r.state, states, r.theta, along, nil)
		e.work += (1 + len(moved)) * path.Work()
		if e.err = e.note(err); e.err != nil {
			return
		}
		r.expected(dst, theta, dtheta, m, moved, states)
		dst = dst[m*c*len(r.x.Data.T):]
	}
}

// Tangents does the same as [Density.Tangents] for one experiment, in directions that
// leave the θ of its problem unchanged. The path is that of the last solve. The result is
// nil if Observe or ObserveSlopes panics.
func (r *Part) Tangents(theta, dtheta []float64) (rows []float64) {
	r.e.at = r
	defer r.e.recovered(theta)
	m := len(dtheta) / len(theta)
	expected := make([]float64, len(r.fit)*m)
	r.expected(expected, theta, dtheta, m, nil, nil)
	return r.ofLocations(expected, dtheta, m)
}

// expected writes to dst[i*m+k]. The states change only in the directions `moved`, by
// `states`.
func (r *Part) expected(dst, theta, dtheta []float64, m int, moved []int, states []float64) {
	p, d, c := len(theta), r.dim, len(r.errors)
	still, slopes, used := make([]float64, d), make([]float64, c*(d+p)), make([][]int, c)
	for row := range r.x.Data.T {
		r.row0 = row
		r.observeSlopes(slopes, row, theta)
		// An observable usually depends on few states and parameters.
		for k := range used {
			used[k] = used[k][:0]
			for i, v := range slopes[k*(d+p):][:d+p] {
				if v != 0 {
					used[k] = append(used[k], i)
				}
			}
		}
		moves := moved
		for n := range m {
			dx := still
			if len(moves) > 0 && moves[0] == n {
				k := len(moved) - len(moves)
				dx, moves = states[k*len(r.state)+row*d:][:d], moves[1:]
			}
			for k := range c {
				var sum float64
				for _, i := range used[k] {
					if v := slopes[k*(d+p)+i]; i < d {
						sum += v * dx[i]
					} else {
						sum += v * dtheta[n*p+i-d]
					}
				}
				dst[(row*c+k)*m+n] = sum
			}
		}
	}
}
