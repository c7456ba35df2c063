package calibrate

import (
	"fmt"
	"math"
)

// A Criterion is the score that α* maximises: a sum over grid points and components. Each
// term is largest if the ensemble variance v equals the squared error E² at its grid
// point.
type Criterion int

const (
	// LogScore, the default, is the logarithmic score of the error under N(0, v),
	//
	//	−½ (log v + E²/v),
	//
	// up to a constant, so that α* is a maximum likelihood estimate. With v = α s² this
	// estimate is
	//
	//	α* = mean of E²/s²,
	//
	// so that the mean of E²/v is one, as long as the noise is small [Gneiting & Raftery
	// 2007, §4]. The spread of the ensemble at α* is as large as the error. With
	// ScaleLocal, the spread of each component is about as large as the error of that
	// component: see the measurements in docs/calibration.md. If a few points with little
	// noise determine α*, NoiseScale.SETime is large. If the error is large, the noise
	// must also be large. Large noise may move paths to states from which the solver
	// cannot continue; NoiseScale.Warnings reports such failures.
	LogScore Criterion = iota

	// Bhattacharyya is the criterion of [T18], which follows [C16, §3.1]. The criterion
	// is −B, where B is the Bhattacharyya distance between N(m, v) and N(m, E²),
	//
	//	B = ¼ log ¼(v/E² + E²/v + 2).
	//
	// The distance is symmetric in v and E². Large errors have little weight, because the
	// distance grows only logarithmically with the error. At the α* of this criterion,
	// most ensembles are too narrow.
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

// match returns the score, and as `width` the mean of (v − E²)/(v + E²), from −1 (too
// narrow) to 1. With v/E² = e^y, the Bhattacharyya distance ½ log cosh(y/2), which cannot
// overflow, and the log score −½(y + e^(−y) − 1).
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
