package main

import (
	"math"
	"slices"
)

// A brief has the classical method, in Spread the rule of shown, and in Paper that of the
// paper.
type brief struct {
	solved
	Spread spread `csv:""`
	Paper  spread `csv:"paper_"`
}

func summary(rows []row) []brief {
	var out []brief
	at := map[string]int{}
	for i := range rows {
		r := &rows[i]
		s := unknown[spread]()
		if r.judged() {
			s = r.spread
		}
		if r.Rule == "none" {
			at[r.cell()] = len(out)
			b := brief{solved: r.solved, Spread: s, Paper: s}
			if r.Status != "ok" { // an error that is not finite
				b.Seconds, b.Error = math.NaN(), math.NaN()
			}
			out = append(out, b)
			continue
		}
		k, ok := at[r.cell()]
		if !ok {
			continue
		}
		switch b := &out[k]; r.Rule {
		case shown(r.Method):
			b.Alpha, b.Spread, b.Status = r.Alpha, s, r.Status
		case asInPaper:
			b.Paper = s
		}
	}
	return out
}

// A standing gives all cells the same weight.
type standing struct {
	rule           string
	cells, failed  float64
	geometric      float64 // means over cells of the mean squared standardised error
	arithmetic     float64
	squares        []float64 // the mean squared standardised error of each cell, sorted
	coverage       [4]float64
	within         [2]float64
	near, nearEach float64 // shares of cells, and of their components, with a root mean square within a factor of 3
	wide           float64 // share of points too wide
	crps           float64 // median over cells of the ratio to the score of the classical solution
	drift          float64 // median of the largest α* divided by the smallest, over the sizes of a method on a problem
	se             float64 // median over cells of both relative standard errors of α* together
}

// stand leaves out methods that cannot use every rule, so that all have the same cells.
func stand(rows []row, rule string) standing {
	s := standing{rule: rule}
	var components float64
	var scores, errors, drifts []float64
	alphas := map[string][]float64{} // by problem and method
	for i := range rows {
		r := &rows[i]
		if r.Rule != rule || shown(r.Method) != recommended {
			continue
		}
		if !r.judged() {
			s.failed++
			continue
		}
		s.cells++
		m := bounded(r.Square)
		s.squares = append(s.squares, m)
		s.geometric += math.Log(m)
		s.arithmetic += m
		s.near += near(m)
		for _, c := range r.components() {
			components++
			s.nearEach += near(c)
		}
		for k, c := range r.Coverage {
			s.coverage[k] += c
		}
		for k, c := range r.Within {
			s.within[k] += c
		}
		s.wide += r.Wide
		if e := math.Hypot(r.SE, r.SETime) / r.Alpha; !math.IsNaN(e) {
			errors = append(errors, e)
		}
		if r.CRPS > 0 && r.Plain > 0 {
			scores = append(scores, r.CRPS/r.Plain)
		}
		key := r.Problem + " " + r.Method
		alphas[key] = append(alphas[key], r.Alpha)
	}
	s.geometric, s.arithmetic = math.Exp(s.geometric/s.cells), s.arithmetic/s.cells
	for k := range s.coverage {
		s.coverage[k] /= s.cells
	}
	for k := range s.within {
		s.within[k] /= s.cells
	}
	s.near, s.nearEach, s.wide = s.near/s.cells, s.nearEach/components, s.wide/s.cells
	for _, a := range alphas {
		if lo, hi := slices.Min(a), slices.Max(a); hi > lo { // more than one size
			drifts = append(drifts, hi/lo)
		}
	}
	slices.Sort(s.squares)
	s.crps, s.se, s.drift = median(scores), median(errors), median(drifts)
	return s
}

// near is whether the root is between 1/3 and 3, as a number.
func near(square float64) float64 {
	if square > 1./9 && square < 9 {
		return 1
	}
	return 0
}

func median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	slices.Sort(x)
	return x[len(x)/2]
}

// bounded keeps means over cells finite: a standard deviation, like an estimate of a
// local error, can be zero.
func bounded(square float64) float64 { return min(max(square, 1e-3), 1e3) }
