package assess

import (
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/internal/estimate"
)

// The posterior of a parameter is judged by its centre and its spread. The main measures
// are the median and half the width of the central 68 % interval. A mode with so little
// mass that it contains no draws hardly changes the median or the central interval. The
// secondary measures are the mean and the standard deviation, which most papers report.
// For a normal distribution, the mean is equal to the median, and the standard deviation
// is equal to the half-width of the interval. But a distant mode with a thousandth of the
// mass can change the mean and the standard deviation.

const (
	byQuantiles = estimate.Quantiles
	byMoments   = estimate.Moments
	measures    = estimate.Measures
)

// A quantity is a parameter in the whole posterior or in the part of one mode. The spread
// of several modes is about their distance, in units of which a shift of a mode by many
// times its width may look negligible. Parts with at least judgedPart of the mass are
// therefore judged in units of their own spread, too.
type quantity struct {
	param int // index among all parameters
	part  int // index of a mode of the reference posterior; −1 for the whole posterior
}

func quantities(assessed []int, reference *bayes.Modes) (out []quantity) {
	parts := []int{-1}
	if reference != nil {
		for i, m := range reference.Modes {
			if m.Mass >= judgedPart {
				parts = append(parts, i)
			}
		}
	}
	if len(parts) < 3 {
		parts = parts[:1]
	}
	for _, i := range parts {
		for _, k := range assessed {
			out = append(out, quantity{k, i})
		}
	}
	return out
}

// belong returns 1 for the draws of a part and 0 for others, or nil for the whole
// posterior.
func belong(in [][]int, part int) [][]float64 {
	if part < 0 {
		return nil
	}
	out := make([][]float64, len(in))
	for i, c := range in {
		out[i] = make([]float64, len(c))
		for k, m := range c {
			if m == part {
				out[i][k] = 1
			}
		}
	}
	return out
}
