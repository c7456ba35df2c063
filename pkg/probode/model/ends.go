package model

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/probode/probode/pkg/internal/text"
)

// An End is the end point of a search, in the form that fit -json writes: see
// docs/json.md.
type End struct {
	LogLikelihood float64            `json:"log_likelihood"`
	Parameters    map[string]float64 `json:"parameters"` // values on the linear scale
	Optimum       bool               `json:"optimum"`
	Slope         float64            `json:"slope"`
}

// ReadEnds reads the end points of the searches from a file that fit -json has written,
// and returns them in order from the best to the worst. It is an error if the file
// contains no end point of a search.
func ReadEnds(r io.Reader) ([]End, error) {
	var file struct {
		Format string `json:"format"`
		Ends   []struct {
			End
			LogLikelihood *float64            `json:"log_likelihood"` // nil for null, which must not be read as 0
			Parameters    map[string]*float64 `json:"parameters"`
		} `json:"ends"`
	}
	data, err := io.ReadAll(r)
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		return nil, fmt.Errorf("the file was not written by fit -json: %s", text.Clip(err.Error()))
	}
	if file.Format != "probode fit" {
		return nil, fmt.Errorf("the format of the file is %q: want a file written by fit -json", text.Clip(file.Format))
	}
	if len(file.Ends) == 0 {
		return nil, errors.New("the file contains no result of a search: want the file of a fit in which at least one search succeeded")
	}
	ends := make([]End, len(file.Ends))
	for i, e := range file.Ends {
		if e.LogLikelihood == nil {
			return nil, fmt.Errorf("end %d in the file has no log-likelihood: want a number", i+1)
		}
		ends[i] = e.End
		ends[i].LogLikelihood, ends[i].Parameters = *e.LogLikelihood, map[string]float64{}
		for name, v := range e.Parameters {
			if v == nil {
				return nil, fmt.Errorf("end %d in the file has no value for %s: want a number", i+1, text.Clip(name))
			}
			ends[i].Parameters[name] = *v
		}
	}
	slices.SortStableFunc(ends, func(a, b End) int { return cmp.Compare(b.LogLikelihood, a.LogLikelihood) })
	return ends, nil
}

// Theta returns the values of all parameters on the linear scale, in the form that
// LogLikelihood.At expects. The keys of `values` are the names of parameters. If `values`
// lacks a parameter that is not estimated, Theta uses the nominal value of this
// parameter. It is an error if the value of an estimated parameter is missing, or if a
// key of `values` is not the name of a parameter.
func (p *File) Theta(values map[string]float64) ([]float64, error) {
	theta := make([]float64, len(p.Params))
	for i, q := range p.Params {
		v, given := values[q.ID]
		if !given && q.Estimate {
			return nil, fmt.Errorf("there is no value for the parameter %s: want a value for each estimated parameter", text.Clip(q.ID))
		}
		if theta[i] = q.Nominal; given {
			theta[i] = v
		}
	}
	for name := range values {
		if !slices.ContainsFunc(p.Params, func(q Parameter) bool { return q.ID == name }) {
			return nil, fmt.Errorf("found a value for %s, which is not a parameter of the model", text.Clip(name))
		}
	}
	return theta, nil
}
