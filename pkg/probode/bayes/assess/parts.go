package assess

import (
	"math"

	"github.com/probode/probode/pkg/probode/mcmc"
)

// The standard deviation of a posterior with several modes is the distance between
// them. In such units a mode may move by many times its own width without being
// seen, and so what is said of the whole is said of each of its parts, too: of the
// draws that belong to one mode, in units of the standard deviation there.

// judgedPart is the share from which a part is judged for itself. In one that is
// smaller there are too few draws to tell, and the certificate looks at its mode.
const judgedPart = 0.05

// A quantity is what is compared: a parameter in the whole posterior, or in the
// part that belongs to a mode.
type quantity struct {
	param int // among all parameters
	part  int // a mode of the reference posterior, −1 for the whole
}

// moments are those of the draws of a run or, of what is judged by quantiles, median
// and half the width of the central 68 % interval: see measure.
type moments struct {
	mean, sd      float64
	meanSE, logSE float64 // standard errors of mean and log sd
	sound         bool    // whether these can be believed
}

// setQuantities lists what is compared, the whole posterior first.
func (a *assessor) setQuantities() {
	a.quantities = nil
	for _, k := range a.assessed {
		a.quantities = append(a.quantities, quantity{k, -1})
	}
	if a.reference == nil {
		return
	}
	var parts []int
	for i, m := range a.reference.Modes {
		if m.Mass >= judgedPart {
			parts = append(parts, i)
		}
	}
	if len(parts) < 2 {
		return
	}
	for _, i := range parts {
		for _, k := range a.assessed {
			a.quantities = append(a.quantities, quantity{k, i})
		}
	}
}

// divide finds the modes that the draws of d belong to. They remain nil where there
// is one part only.
func (a *assessor) divide(d *draws) error {
	if len(a.quantities) == len(a.assessed) {
		return nil
	}
	in, err := d.p.Assign(a.reference, d.all)
	if err != nil {
		return err
	}
	d.in = in
	d.fewIn, err = d.p.Assign(a.reference, d.few)
	return err
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

// whole returns the moments of the quantity's parameter in all draws of a run.
func (q quantity) whole(inf *Inference) moments {
	m := inf.Summary[q.param]
	return moments{m.Mean, m.SD, m.MCSE, m.MCSESD / m.SD, sound(m)}
}

// measure returns what quantity j is judged by.
func (a *assessor) measure(j int) measure { return a.out.Params[j%len(a.assessed)].measure() }

// found returns centre and spread of quantity j in the draws of a run, by what it is
// judged by.
func (a *assessor) found(inf *Inference, j int) moments {
	if all := a.estimates[inf][a.measure(j)]; j < len(all) {
		return all[j]
	}
	return a.quantities[j].whole(inf)
}

// accurately returns the accurate moments of quantity j.
func (a *assessor) accurately(j int) moments {
	q := a.quantities[j]
	nan := moments{math.NaN(), math.NaN(), math.NaN(), math.NaN(), false}
	switch {
	case a.source == nil:
		return nan
	case q.part < 0:
		p := a.out.Params[j]
		return moments{p.Mean, p.SD, p.MeanSE, p.SDSE / p.SD, sound(a.source.summed.Summary[q.param])}
	}
	return a.exact[q]
}

// pooled returns all of x in a row, nil for nil.
func pooled(x [][]float64) []float64 {
	var out []float64
	for _, c := range x {
		out = append(out, c...)
	}
	return out
}

// fewer returns every so many of the draws of c, n of each chain.
func fewer(c *mcmc.Chains, n int) *mcmc.Chains {
	out := &mcmc.Chains{Names: c.Names, Quantities: c.Quantities}
	for i, chain := range c.Draws {
		var x, g [][]float64
		for k := range n {
			at := (k+1)*len(chain)/n - 1
			x = append(x, append([]float64(nil), chain[at]...))
			g = append(g, append([]float64(nil), c.Generated[i][at]...))
		}
		out.Draws, out.Generated = append(out.Draws, x), append(out.Generated, g)
	}
	return out
}
