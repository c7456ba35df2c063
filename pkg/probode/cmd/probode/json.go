package main

import (
	"encoding/json"
	"io"
	"math"
)

// writeJSON writes the table of solve for programs, as docs/json.md describes.
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
			if math.IsNaN(v) || math.IsInf(v, 0) {
				line = append(line, nil) // a standard deviation of one path, say
			} else {
				line = append(line, &v)
			}
		}
		out.Rows = append(out.Rows, line)
	}
	return json.NewEncoder(w).Encode(out)
}
