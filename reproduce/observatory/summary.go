package main

import (
	"math"
	"slices"
	"sort"
)

// Summaries over cells, in which each cell has the same weight.

// A standing is the result of a rule over all cells in which it was judged.
type standing struct {
	rule           string
	cells, failed  int
	geometric      float64 // means over cells of the mean squared standardised error
	arithmetic     float64
	median         float64
	coverage       [4]float64
	within         [2]float64
	near, nearEach float64 // shares of cells, and of their components, with a root mean square within a factor of 3
	wide           float64 // share of points too wide
	crps, energy   float64 // medians over cells of the ratio to the score of the classical solution
	drift          float64 // median of the largest α* divided by the smallest, over the sizes of a method on a problem
	se             float64 // median over cells of both relative standard errors of α* together
}

// standings returns a standing for each rule. If common is set, it uses the cells in which
// all rules have a verdict, otherwise all cells of each rule.
func standings(rows []row, names []string, common bool) []standing {
	judged := map[[3]string]int{}
	for _, r := range rows {
		if r.judged() {
			judged[[3]string{r.problem, r.method, r.size}]++
		}
	}
	all := 0
	for _, n := range judged {
		all = max(all, n)
	}
	var out []standing
	for _, name := range names {
		s := standing{rule: name}
		var components float64
		var squares, scores, energies, errors []float64
		alphas := map[[2]string][2]float64{} // smallest and largest
		for _, r := range rows {
			if r.rule != name {
				continue
			}
			if !r.judged() {
				if r.rule == name && r.status != "ok" {
					s.failed++
				}
				continue
			}
			if common && judged[[3]string{r.problem, r.method, r.size}] < all {
				continue
			}
			s.cells++
			m := bounded(r.meanSquare)
			s.geometric += math.Log(m)
			s.arithmetic += m
			squares = append(squares, m)
			for k, c := range r.inside {
				s.coverage[k] += c
			}
			for k, c := range r.within {
				s.within[k] += c
			}
			if m > 1./9 && m < 9 {
				s.near++
			}
			for _, c := range r.components() {
				components++
				if c > 1./9 && c < 9 {
					s.nearEach++
				}
			}
			s.wide += r.wide
			if e := math.Hypot(r.se, r.seTime) / r.alpha; !math.IsNaN(e) {
				errors = append(errors, e)
			}
			key := [2]string{r.problem, r.method}
			if a, ok := alphas[key]; ok {
				alphas[key] = [2]float64{min(a[0], r.alpha), max(a[1], r.alpha)}
			} else {
				alphas[key] = [2]float64{r.alpha, r.alpha}
			}
			if r.crps > 0 && r.plain > 0 {
				scores = append(scores, r.crps/r.plain)
			}
			if r.energy > 0 && r.energy0 > 0 {
				energies = append(energies, r.energy/r.energy0)
			}
		}
		n := float64(s.cells)
		s.geometric, s.arithmetic = math.Exp(s.geometric/n), s.arithmetic/n
		for k := range s.coverage {
			s.coverage[k] /= n
		}
		for k := range s.within {
			s.within[k] /= n
		}
		s.near, s.nearEach, s.wide = s.near/n, s.nearEach/components, s.wide/n
		s.median, s.crps, s.energy, s.se = median(squares), median(scores), median(energies), median(errors)
		var drifts []float64
		for _, a := range alphas {
			if a[1] > a[0] { // more than one size
				drifts = append(drifts, a[1]/a[0])
			}
		}
		s.drift = median(drifts)
		out = append(out, s)
	}
	return out
}

func median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	slices.Sort(x)
	return x[len(x)/2]
}

// bounded limits a mean square, so that a mean over cells exists: a stated sd of zero, for
// example where a local error vanishes, makes it infinite.
func bounded(square float64) float64 { return min(max(square, 1e-3), 1e3) }

// A choice is the result of a method on problems of one kind, at one accuracy.
type choice struct {
	method  string
	reached int     // number of problems with a cell that reaches the error
	of      int     // problems of the kind
	slower  float64 // geometric mean of its time divided by that of the fastest method
	square  float64 // geometric mean over cells of the mean squared standardised error with one rule
}

// choices ranks the methods for a kind of problem and a relative error, first by the number
// of problems on which they reach it, then by time.
func choices(rows []row, kind string, target float64, rule string) []choice {
	fastest := map[[2]string]float64{} // by problem and method
	problems, methods := []string{}, []string{}
	for _, r := range rows {
		if r.kind != kind || r.rule != "none" {
			continue
		}
		if !slices.Contains(problems, r.problem) {
			problems = append(problems, r.problem)
		}
		if !slices.Contains(methods, r.method) {
			methods = append(methods, r.method)
		}
		if key := [2]string{r.problem, r.method}; r.status == "ok" && r.error <= target {
			if v, ok := fastest[key]; !ok || r.seconds < v {
				fastest[key] = r.seconds
			}
		}
	}
	var out []choice
	for _, m := range methods {
		c := choice{method: m, of: len(problems)}
		for _, p := range problems {
			best := math.Inf(1)
			for _, other := range methods {
				if v, ok := fastest[[2]string{p, other}]; ok {
					best = min(best, v)
				}
			}
			if v, ok := fastest[[2]string{p, m}]; ok {
				c.reached++
				c.slower += math.Log(v / best)
			}
		}
		if c.reached == 0 {
			continue
		}
		c.slower = math.Exp(c.slower / float64(c.reached))
		n := 0.
		for _, r := range rows {
			if r.kind == kind && r.method == m && r.rule == rule && r.judged() {
				c.square += math.Log(bounded(r.meanSquare))
				n++
			}
		}
		c.square = math.Exp(c.square / n)
		out = append(out, c)
	}
	sort.SliceStable(out, func(i, j int) bool {
		if out[i].reached != out[j].reached {
			return out[i].reached > out[j].reached
		}
		return out[i].slower < out[j].slower
	})
	return out
}
