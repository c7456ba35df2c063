package main

import (
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/catalog"
	"github.com/probode/probode/pkg/probode/problems"
)

// This file lists the methods, problems and rules of the study. The tables and figures
// cover every method, problem and rule in these lists.

type entrant struct {
	name  string // a name for catalog.Parse
	tols  []float64
	blind bool // the method does not estimate local errors, so no rule can use them
}

// entrants on uniform grids have three step sizes for each problem, and others frozen
// grids with a tolerance relative to each component.
var entrants = []entrant{
	{name: "ab1"}, {name: "ab2"}, {name: "ab4"},
	{name: "am0"}, {name: "am1"}, {name: "am2"},
	{name: "midpoint"}, {name: "rk4"},
	{name: "dp5", tols: []float64{1e-2, 1e-4, 1e-6}},
	{name: "radau5", tols: []float64{1e-2, 1e-4, 1e-6}},
	{name: "bdf", tols: []float64{1e-2, 1e-4, 1e-6}},
	{name: "ek0"}, {name: "ek1"}, {name: "ckf"},
	{name: "ek1,5", tols: []float64{1e-2, 1e-4, 1e-6}},
	{name: "interrogation", blind: true}, {name: "block", blind: true},
}

func (e *entrant) method() probode.Method {
	m, err := catalog.Parse(e.name)
	if err != nil {
		panic("observatory: " + err.Error())
	}
	return m
}

type subject struct {
	kind string
	name string // "" for the name of the problem
	make func() *probode.Problem
	end  float64 // end of the span, 0 for that of the problem
}

// The kinds of problems are described in words that readers may use for their own
// problems.
const (
	smooth  = "smooth, not stiff"
	decays  = "components that decay or saturate"
	swings  = "oscillation with fast and slow stretches"
	keeps   = "conserves energy"
	chaotic = "chaotic, over a few Lyapunov times"
	grids   = "diffusion on a coarse grid"
	stiff   = "stiff"
)

var kinds = []string{smooth, decays, swings, keeps, chaotic, grids, stiff}

// subjects end with those that take longest.
var subjects = []subject{
	{kind: smooth, make: problems.Logistic},
	{kind: smooth, make: problems.LotkaVolterra},
	{kind: smooth, make: problems.LotkaVolterra20},
	{kind: smooth, make: problems.RigidBody},
	{kind: decays, make: problems.SIR},
	{kind: decays, make: problems.Influenza},
	{kind: decays, make: problems.ProteinActivation},
	{kind: swings, make: problems.FitzHughNagumo},
	{kind: swings, make: problems.Goodwin},
	{kind: swings, make: func() *probode.Problem { return problems.VanDerPol(1) }},
	{kind: stiff, name: "van der Pol, μ = 20", make: func() *probode.Problem { return problems.VanDerPol(20) }, end: 2},
	{kind: grids, make: func() *probode.Problem { return problems.Brusselator(5) }},
	{kind: grids, make: func() *probode.Problem { return problems.Burgers(10) }},
	{kind: keeps, make: func() *probode.Problem { return problems.Kepler(0.3) }, end: 13},
	{kind: keeps, make: problems.HenonHeiles, end: 50},
	{kind: chaotic, make: problems.Lorenz63, end: 4},
	{kind: chaotic, make: func() *probode.Problem { return problems.Lorenz96(6) }, end: 3},
	{kind: stiff, make: problems.HIRES},
	{kind: stiff, make: problems.Oregonator},
	{kind: stiff, make: problems.Robertson, end: 40},
}

func (s *subject) problem() *probode.Problem {
	p := s.make()
	if s.name != "" {
		p.Name = s.name
	}
	if s.end > 0 {
		p.Span[1] = s.end
	}
	return p
}

type rule struct {
	name    string
	rule    calibrate.Criterion
	scaling probode.Scaling
}

const recommended, asInPaper = "log, local", "paper"

var rules = []rule{
	{name: asInPaper, rule: calibrate.Bhattacharyya, scaling: probode.ScaleStep},
	{name: "paper, local", rule: calibrate.Bhattacharyya, scaling: probode.ScaleLocal},
	{name: "log", rule: calibrate.LogScore, scaling: probode.ScaleStep},
	{name: recommended, rule: calibrate.LogScore, scaling: probode.ScaleLocal},
}

// shown is the recommended rule, or "log" for a method without local errors.
func shown(method string) string {
	i := slices.IndexFunc(entrants, func(e entrant) bool { return e.name == method })
	if i >= 0 && entrants[i].blind {
		return "log"
	}
	return recommended
}

func ruleNamed(name string) *rule {
	return &rules[slices.IndexFunc(rules, func(r rule) bool { return r.name == name })]
}

func quickly() ([]subject, []entrant) {
	var es []entrant
	for _, e := range entrants {
		if slices.Contains([]string{"ab2", "am0", "dp5", "interrogation"}, e.name) {
			e.tols = e.tols[:min(len(e.tols), 1)]
			es = append(es, e)
		}
	}
	return []subject{subjects[0], subjects[4]}, es
}
