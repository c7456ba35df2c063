package main

import (
	"encoding/json"
	"io"
	"math"

	modelfile "github.com/probode/probode/pkg/probode/model"
)

// The output of -json, as docs/json.md describes it. Numbers read back exactly.

// number returns nil, which is written as null, if v is not finite.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// writeJSON writes the table of solve.
func (s *solution) writeJSON(w io.Writer, header []string, rows [][]float64) error {
	out := struct {
		Format  string       `json:"format"`
		Version int          `json:"version"`
		Problem string       `json:"problem"`
		Method  string       `json:"method"`
		Columns []string     `json:"columns"`
		Rows    [][]*float64 `json:"rows"`
	}{"probode solve", 1, s.problem, s.method, header, [][]*float64{}}
	for _, row := range rows {
		line := []*float64{}
		for _, v := range row {
			line = append(line, number(v)) // for example the standard deviation of a single path
		}
		out.Rows = append(out.Rows, line)
	}
	return json.NewEncoder(w).Encode(out)
}

// likelihoodJSON is the result of likelihood.
func likelihoodJSON(p *modelfile.File, l *modelfile.LogLikelihood, theta []float64, v *modelfile.Evaluation) any {
	type observable struct {
		Observable    string   `json:"observable"`
		Points        int      `json:"points"`
		LogLikelihood *float64 `json:"log_likelihood"`
	}
	type condition struct {
		Model            string       `json:"model"`
		Condition        string       `json:"condition"`
		Preequilibration *string      `json:"preequilibration"`
		LogLikelihood    *float64     `json:"log_likelihood"`
		Rtol             *float64     `json:"rtol"`
		Observables      []observable `json:"observables"`
	}
	result := struct {
		Format         string              `json:"format"`
		Version        int                 `json:"version"`
		LogLikelihood  *float64            `json:"log_likelihood"`
		Error          *float64            `json:"error"`
		Parameters     map[string]*float64 `json:"parameters"`
		Gradient       map[string]*float64 `json:"gradient"`
		GradientScaled map[string]*float64 `json:"gradient_on_scale"`
		Conditions     []condition         `json:"conditions"`
	}{Format: "probode likelihood", Version: 1, LogLikelihood: number(v.LogLikelihood), Error: number(v.Error), Parameters: map[string]*float64{}}
	for i, q := range p.Params {
		result.Parameters[q.ID] = number(theta[i])
	}
	if v.Gradient != nil {
		result.Gradient, result.GradientScaled = map[string]*float64{}, map[string]*float64{}
		for i, q := range l.Estimated() {
			result.Gradient[q.ID], result.GradientScaled[q.ID] = number(v.Gradient[i]), number(v.ScaleGradient[i])
		}
	}
	for _, e := range v.Instances {
		c := condition{Model: e.Model, Condition: e.Condition, LogLikelihood: number(e.LogLikelihood), Observables: []observable{}}
		if e.Preequilibration != "" {
			c.Preequilibration = &e.Preequilibration
		}
		if e.Tolerance.Relative > 0 {
			c.Rtol = &e.Tolerance.Relative
		}
		for _, o := range e.Observables {
			c.Observables = append(c.Observables, observable{o.Observable, o.Points, number(o.LogLikelihood)})
		}
		result.Conditions = append(result.Conditions, c)
	}
	return result
}
