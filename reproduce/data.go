package main

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/cases"
)

// The built-in data are the FitzHugh–Nagumo solution for θ = (0.2, 0.2, 3) at t = 1, …,
// 20, with Gaussian errors of variance 0.01 in both components. The paper's data have not
// been published. A test computes the solution again and compares it with the file
// data.csv.
//
//go:embed data.csv
var builtInData string

const sigma = 0.1

func (s *study) loadData() (err error) {
	if s.neuron, err = cases.Named("fitzhugh-nagumo"); err != nil {
		return err
	}
	if s.dataFile == "" {
		s.data, err = bayes.ReadCSV(strings.NewReader(builtInData), s.neuron.Time, s.neuron.Columns...)
		return err
	}
	if s.data, err = bayes.ReadFile(s.dataFile, s.neuron.Time, s.neuron.Columns...); err != nil {
		return fmt.Errorf("-data %s: %w", s.dataFile, err)
	}
	return nil
}
