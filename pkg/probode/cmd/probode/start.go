package main

import (
	"errors"
	"os"

	modelfile "github.com/probode/probode/pkg/probode/model"
)

// mostEnds is the number of ends of a fit, the best first, at which searches begin.
const mostEnds = 8

// starts returns the parameters at which the search for modes begins: the ends of a fit,
// if start is the name of its file, or the nominal parameters. The result is nil if start
// is "" or prior.
func (m *model) starts(start string) (from [][]float64, err error) {
	if start == "" || start == "prior" {
		return nil, nil
	}
	if m.loaded == nil {
		return nil, errors.New("want it with -model, because a case has neither a fit nor nominal parameters")
	}
	all := []modelfile.End{{}} // nominal
	if start != "nominal" {
		in, err := os.Open(start)
		if err != nil {
			return nil, reason(err)
		}
		defer in.Close()
		if all, err = modelfile.ReadEnds(in); err != nil {
			return nil, err
		}
	}
	for _, end := range all[:min(len(all), mostEnds)] {
		values := end.Parameters
		if start == "nominal" {
			values = map[string]float64{}
			for _, q := range m.loaded.Params {
				values[q.ID] = q.Nominal
			}
		}
		theta, err := m.loaded.Theta(values)
		if err == nil {
			theta, err = m.loaded.Point(theta)
		}
		if err != nil {
			return nil, err
		}
		from = append(from, theta)
	}
	return from, nil
}
