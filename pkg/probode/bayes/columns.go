package bayes

import "slices"

// This file links each column of the data to its likelihood. Each quantity on which a
// likelihood depends is a known number, a parameter, or the expected value of another
// column.

// columnErrors has the likelihood of a column and, in `own`, the current numbers of its
// Own.
type columnErrors struct {
	Likelihood
	values []Value // its Own
	param  []int   // index in θ of each number of Own, −1 if it is not a parameter
	column []int   // column of the data for each number of Own, −1 if it is not a column
	own    []float64
	zeros  []float64        // see scratch
	score  []float64        // see Part.scores
	exact  SlopedLikelihood // the Likelihood if it has derivatives in closed form, else nil

	informer Informer // the Likelihood if its Fisher information has a closed form, else nil
}

// at returns the numbers of Own at time t, where the expected values are `row`.
func (l *columnErrors) at(t float64, row []float64) []float64 {
	for i, k := range l.column {
		switch {
		case k >= 0:
			l.own[i] = row[k]
		case l.values[i].At != nil:
			l.own[i] = l.values[i].at(t)
		}
	}
	return l.own
}

// open reports whether number i of Own is not constant.
func (l *columnErrors) open(i int) bool { return l.param[i] >= 0 || l.column[i] >= 0 }

// location counts m as 0, and element i of Own as i+1 (see Part.Locations).
func (l *columnErrors) location(i int) bool { return i == 0 || l.open(i-1) }

// scratch returns zeros with a row for m and each number of Own, until the next call.
func (l *columnErrors) scratch() []float64 {
	clear(l.zeros)
	return l.zeros
}

// columnOf returns −1 for a known number or a parameter.
func (p *Posterior) columnOf(x *Experiment, v Value) int {
	if v.Name == "" || p.index(v.Name) >= 0 {
		return -1
	}
	return slices.Index(x.Data.Names, v.Name)
}

// Spreads finds the parameters that determine the size of the measurement errors, because
// these parameters can absorb the solver's error. The map contains 1 for a parameter if a
// larger value means larger measurement errors, and −1 if a larger value means smaller
// errors. Spreads ignores a likelihood that is not a Describer.
func (p *Posterior) Spreads() map[string]float64 {
	out := map[string]float64{}
	for i := range p.Experiments {
		x := &p.Experiments[i]
		for k := range x.Data.columns() {
			l := x.errors(k)
			about, ok := description(l)
			if !ok {
				continue
			}
			for n, v := range l.Own() {
				if s := about.Own[n].Spread; v.Name != "" && p.columnOf(x, v) < 0 && s != 0 {
					out[v.Name] = s
				}
			}
		}
	}
	return out
}
