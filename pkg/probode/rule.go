package probode

import (
	"fmt"
	"math"
)

// A Rule says what makes a noise scale right: a sum over the grid points and
// components that take part, of a function of the ensemble variance v there and
// the squared error E² that is largest where they are equal.
type Rule int

const (
	// LogScore, the default, is the logarithmic score of the error under N(0, v),
	//
	//	−½ (log v + E²/v),
	//
	// up to a constant: maximum likelihood. With v = α s² its optimum is
	//
	//	α* = mean of E²/s²,
	//
	// so that the mean squared standardised error at the points that take part
	// is one, by construction, as far as the noise is small [Gneiting & Raftery
	// 2007, §4]. With ScaleLocal it is the choice for a spread that one means
	// to believe: see docs/calibration.md for the measurement. A few points that
	// the noise hardly reaches can decide, which SETime shows, and where the
	// error is large the noise that matches it may carry paths to where they
	// cannot be solved, which is said.
	LogScore Rule = iota

	// Bhattacharyya is the rule of the paper, after [C16, §3.1]: minus the
	// distance between N(m, v) and N(m, E²),
	//
	//	B = ¼ log ¼(v/E² + E²/v + 2).
	//
	// It is blind to which of the two is the larger, and nearly so to how much
	// larger an error is that the noise misses: at the optimum an ensemble is
	// mostly too narrow.
	Bhattacharyya
)

func (r Rule) String() string {
	switch r {
	case LogScore:
		return "log score"
	case Bhattacharyya:
		return "Bhattacharyya"
	}
	return fmt.Sprintf("Rule(%d)", int(r))
}

// match returns the score of an ensemble whose variances have the given
// logarithms, the errors squared those of loge2, and whether it is on the whole
// too narrow or too wide: the mean of (v − E²)/(v + E²), from −1 to 1. With
// v/E² = e^y Bhattacharyya's distance is ½ log cosh(y/2), which is taken so that
// nothing is lost or overflows where one of the two is far larger, and the log
// score −½(y + e^(−y) − 1).
func (r Rule) match(logv, loge2 []float64) (score, width float64) {
	for k, l := range logv {
		y := l - loge2[k]
		a := math.Abs(y)
		e := math.Exp(-a)
		if r == LogScore {
			score -= (y + math.Exp(-y) - 1) / 2
		} else {
			score -= a/4 + math.Log1p(e)/2 - math.Ln2/2
		}
		width += math.Copysign((1-e)/(1+e), y)
	}
	width /= float64(len(logv))
	if math.IsNaN(score) {
		return math.Inf(-1), width
	}
	return score, width
}

// A Fit says how well the stated spread fits the errors that it was chosen for.
// Of a Gaussian error with that spread 68 and 95 % are within one and two
// standard deviations, and the mean square is one. An error that keeps its sign
// and grows is not Gaussian, so that no α makes all three right.
type Fit struct {
	// Component is that of the state, −1 for all of them.
	Component int
	// Points is the number of points: grid points times components.
	Points int
	// MeanSquare is the mean of E²/v.
	MeanSquare float64
	// Within[k] is the share of points at which |E| is below k+1 standard
	// deviations.
	Within [2]float64
}

func (f Fit) String() string {
	return fmt.Sprintf("mean square %.3g, within 1 sd %.0f %%, within 2 sd %.0f %%", f.MeanSquare, 100*f.Within[0], 100*f.Within[1])
}

// fits returns the Fit of all points and of each component.
func (c *calibrator) fits(logv []float64) []Fit {
	out := make([]Fit, c.solver.d+1)
	add := func(f *Fit, z2 float64) {
		f.Points++
		f.MeanSquare += z2
		for k := range f.Within {
			if z2 < float64((k+1)*(k+1)) {
				f.Within[k]++
			}
		}
	}
	for k, l := range logv {
		z2 := math.Exp(c.loge2[k] - l)
		add(&out[0], z2)
		add(&out[1+c.used[k]%c.solver.d], z2)
	}
	n := 0
	for k, f := range out {
		if f.Points == 0 {
			continue
		}
		f.Component = k - 1
		f.MeanSquare /= float64(f.Points)
		f.Within[0] /= float64(f.Points)
		f.Within[1] /= float64(f.Points)
		out[n] = f
		n++
	}
	return out[:n]
}
