package calibrate

import (
	"fmt"
	"math"
)

// A Criterion is the score that α* maximises: a sum over grid points and components of
// a function of the ensemble variance v and the squared error E², which is largest if
// the two are equal.
type Criterion int

const (
	// LogScore, the default, is the logarithmic score of the error under N(0, v),
	//
	//	−½ (log v + E²/v),
	//
	// up to a constant: maximum likelihood. With v = α s² its optimum is
	//
	//	α* = mean of E²/s²,
	//
	// so that the mean squared standardised error at the points in the score is one, as
	// long as the noise is small [Gneiting & Raftery 2007, §4]. The spread then has the
	// size of the error, with ScaleLocal in every component: see docs/calibration.md for
	// the measurement. A few points with little noise can decide on α*, which
	// Result.SETime shows. If the error is large, noise of its size may move paths to
	// states from which they cannot be solved; then there is a warning.
	LogScore Criterion = iota

	// Bhattacharyya is the criterion of the paper, after [C16, §3.1]: minus the
	// distance between N(m, v) and N(m, E²),
	//
	//	B = ¼ log ¼(v/E² + E²/v + 2).
	//
	// It is symmetric in v and E², and grows only slowly with an error that is larger than
	// the spread, so at the optimum most ensembles are too narrow.
	Bhattacharyya
)

func (c Criterion) String() string {
	switch c {
	case LogScore:
		return "log score"
	case Bhattacharyya:
		return "Bhattacharyya"
	}
	return fmt.Sprintf("Criterion(%d)", int(c))
}

// match returns the score of an ensemble from the logarithms of its variances and of
// the squared errors. width, the mean of (v − E²)/(v + E²), says whether the ensemble
// is too narrow (−1) or too wide (1) on the whole. With v/E² = e^y Bhattacharyya's
// distance is ½ log cosh(y/2), in a form that loses no digits and does not overflow
// where v and E² differ by many orders of magnitude, and the log score is −½(y + e^(−y)
// − 1).
func (c Criterion) match(logv, loge2 []float64) (score, width float64) {
	for k, l := range logv {
		y := l - loge2[k]
		a := math.Abs(y)
		e := math.Exp(-a)
		if c == LogScore {
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

// A Fit says how well the stated spread fits the errors from which it was chosen. For a
// Gaussian error with that spread 68 % of the points are within one standard deviation,
// 95 % within two, and the mean square is one. An error that keeps its sign and grows
// is not Gaussian, so that no α gives all three values.
type Fit struct {
	// Component is the number of the component of the state, −1 for all of them.
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
	out := make([]Fit, c.d+1)
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
		add(&out[1+c.used[k]%c.d], z2)
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
