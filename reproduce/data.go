package main

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/probode/probode/pkg/probode/bayes"
)

// The built-in data are the FitzHugh–Nagumo solution for θ = (0.2, 0.2, 3) at t = 1, …,
// 20, with Gaussian errors of variance 0.01 in both components. The data of the paper are
// not published. A test checks the file against a new solution.
//
//go:embed data.csv
var builtInData string

// sigma is the standard deviation of the errors, which the experiments take as known.
const sigma = 0.1

func (s *study) loadData() (err error) {
	if s.dataFile == "" {
		s.data, err = bayes.ReadCSV(strings.NewReader(builtInData), "t", "V_obs", "R_obs")
		return err
	}
	if s.data, err = bayes.ReadFile(s.dataFile, "t", "V_obs", "R_obs"); err != nil {
		return fmt.Errorf("-data %s: %w", s.dataFile, err)
	}
	return nil
}
