package shape

import (
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
)

// A Datum describes how the distribution of one observation depends on one element of
// Density.Expected. This element is the expected value of the observation, or a parameter
// of its likelihood that depends on the state, such as a standard deviation. A missing
// observation has no Datum.
type Datum struct {
	At          int       // index in Density.Expected
	Jacobian    []float64 // derivatives of the expected value with respect to the coordinates
	Score       float64   // derivative of the log probability; at a kink the mean of those on both sides
	Information float64   // Fisher information on the expected value
	Certain     bool      // the observation has probability 1 here

	// If Kinked is true, the log probability contains the term −|U + Slope × dm|, where
	// dm is the change in the expected value.
	Kinked   bool
	U, Slope float64
}

// Discrepancy returns the discrepancy D between two vectors of expected data in units of
// the measurement errors: D² = Σ Iᵢ (expectedᵢ − finerᵢ)². Here Iᵢ is Information of
// Datum i, computed at the expected value in `finer`. Relative differences up to
// `rounding` are ignored. An observation may have probability 1 at the expected value in
// `finer`: for example, a count of 0 if the expected count is 0. For an observation with
// probability 1, the term in D² is |Score × difference|, the absolute change in the log
// probability. D is infinite if an observation with probability 1 has two different
// expected values but a Score of zero.
func Discrepancy(data []Datum, expected, finer []float64, rounding float64) float64 {
	var d float64
	for _, o := range data {
		if delta := expected[o.At] - finer[o.At]; math.Abs(delta) > rounding*math.Abs(finer[o.At]) {
			switch {
			case !o.Certain:
				d += o.Information * delta * delta
			case o.Score != 0:
				d += math.Abs(o.Score * delta)
			default:
				d = math.Inf(1)
			}
		}
	}
	return math.Sqrt(d)
}

// Data returns the data at the point of the last call to Expand, ordered by experiment,
// row and column.
func (s *Surface) Data() []Datum {
	var out []Datum
	for i := range s.parts {
		out = s.data(out, i, s.parts[i].cells, s.parts[i].jac)
	}
	return out
}

// DataAt returns the data for the given expected values, without Jacobians. The unknown
// parameters of the likelihoods are taken from the argument `theta`.
func (s *Surface) DataAt(expected, theta []float64) []Datum {
	fit := s.e.Expected()
	was := slices.Clone(fit)
	defer copy(fit, was)
	copy(fit, expected)
	rng := probode.Stream(0x73636f7265)
	var out []Datum
	for i := range s.parts {
		r := s.e.Part(i)
		r.Theta(theta) // sets the numbers of the likelihoods
		cells := r.Cells()
		r.Score(cells, s.Draws, rng)
		out = s.data(out, i, cells, nil)
	}
	return out
}

func (s *Surface) data(out []Datum, i int, cells []bayes.Cell, jac []float64) []Datum {
	cols := s.parts[i].cols
	first := 0 // first expected value of the row
	for before := range i {
		first += len(s.e.Part(before).Expected())
	}
	for n, row := range s.e.Posterior().Experiments[i].Data.Y {
		for k, y := range row {
			if math.IsNaN(y) {
				continue
			}
			c := &cells[n*len(row)+k]
			for m, column := range c.Columns {
				if column < 0 {
					continue
				}
				o := Datum{At: first + column, Score: c.Score[m], Information: c.Information[m*len(c.Score)+m], Certain: c.Certain}
				if jac != nil {
					o.Jacobian = make([]float64, len(s.Steps))
					for j, to := range cols {
						o.Jacobian[to] = jac[(c.At+m)*len(cols)+j]
					}
				}
				if c.Kinked && m == 0 {
					o.Kinked, o.U, o.Slope = true, c.U, c.Slope
					if c.U != 0 {
						o.Score -= math.Copysign(1, c.U) * c.Slope
					}
				}
				out = append(out, o)
			}
		}
		first += len(row)
	}
	return out
}
