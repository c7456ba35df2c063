package assess

import (
	"github.com/probode/probode/pkg/probode/bayes"
)

// The standard deviation of a posterior with several modes is the distance between them.
// In such units a mode may move by many times its own width without a sign. So whatever
// is said of the whole posterior is said of each of its parts, too: of the draws that
// belong to one mode, in units of the standard deviation there.

// judgedPart is the share of the posterior from which a part is judged by itself. A
// smaller part has too few draws; the certificate checks its mode.
const judgedPart = 0.05

// A quantity is what is compared: a parameter in the whole posterior, or in the part that
// belongs to a mode.
type quantity struct {
	param int // among all parameters
	part  int // a mode of the reference posterior, −1 for the whole
}

// quantities lists what is compared, the whole posterior first.
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

// moments are the centre and spread of a quantity with their errors: mean and standard
// deviation or, where quantiles judge, median and half the width of the central 68 %
// interval.
type moments struct {
	mean, sd      float64
	meanSE, logSE float64 // standard errors of mean and log sd
	sound         bool    // whether these can be believed
}

// whole returns the moments of the quantity's parameter in all draws of a run.
func (q quantity) whole(inf *Inference) moments {
	m := inf.Summary[q.param]
	return moments{m.Mean, m.SD, m.MCSE, m.MCSESD / m.SD, sound(m)}
}

// belong returns 1 for the draws of a part and 0 for others, nil for the whole.
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
