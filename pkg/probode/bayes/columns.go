package bayes

import "slices"

// A column of the data with its likelihood, and where the numbers of that come from:
// they are known, parameters, or what is expected of another column.

// columnErrors are the likelihood of one column with the values of its own parameters.
type columnErrors struct {
	Likelihood
	param  []int // index in θ of each own number, −1 if it is none of θ
	column []int // of the data that it is, −1 if it is none
	own    []float64
	exact  Differentiable // the Likelihood, if it has derivatives in closed form
}

// at returns the own numbers in the row of the data of which row is expected.
func (l *columnErrors) at(row []float64) []float64 {
	for i, k := range l.column {
		if k >= 0 {
			l.own[i] = row[k]
		}
	}
	return l.own
}

// open reports whether own number i is another one elsewhere: a parameter, or a
// column.
func (l *columnErrors) open(i int) bool { return l.param[i] >= 0 || l.column[i] >= 0 }

func (x *Experiment) errors(column int) Likelihood {
	if len(x.Errors) == 1 {
		return x.Errors[0]
	}
	return x.Errors[column]
}

// columnOf returns the column of x that a number of a likelihood is, −1 if it is
// known or a parameter.
func (p *Posterior) columnOf(x *Experiment, v Value) int {
	if v.Name == "" || p.index(v.Name) >= 0 {
		return -1
	}
	return slices.Index(x.Data.Names, v.Name)
}

// Spreads returns the parameters that say how large the errors of observation are,
// which can take the solver's error upon themselves: 1 for one that grows with
// them, −1 for one that falls. What the parameters of a likelihood of the caller's
// own mean is known if it is a Describer.
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
