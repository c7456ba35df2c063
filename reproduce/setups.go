package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/problems"
	"github.com/probode/probode/pkg/probode/reference"
)

type setup struct {
	method    probode.Method
	name, lin string
	alpha     float64 // α* of the paper, 0 if it gives none
}

func (u setup) String() string {
	if u.lin == "none" {
		return u.name
	}
	return u.name + " " + u.lin
}

var linearisations = []adams.Linearization{adams.Current, adams.Predictor, adams.Newton}

// setups has each AM method once for each linearisation.
func setups(ab, am []int) []setup {
	var out []setup
	paper := map[string]float64{"AB1": .2, "AB2": .1, "AB3": .2, "AM0": .2, "AM1": .05, "AM2": .05}
	add := func(m probode.Method, lin string) {
		name, _, _ := strings.Cut(m.String(), " ")
		out = append(out, setup{method: m, name: name, lin: lin, alpha: paper[name]})
	}
	for _, s := range ab {
		add(adams.Bashforth{Steps: s}, "none")
	}
	for _, s := range am {
		for _, l := range linearisations {
			add(adams.Moulton{Steps: s, Linearize: l}, l.String())
		}
	}
	return out
}

func (s *study) eachStep(all []setup, do func(u setup, h float64) error) error {
	steps := []float64{.005, .01, .02, .05, .1}
	if s.quick {
		steps = []float64{.05, .1}
	}
	for _, u := range all {
		for _, h := range steps {
			if err := do(u, h); err != nil {
				return err
			}
		}
	}
	return nil
}

// The first-order methods of the paper are called forward-euler and backward-euler in
// fig2.csv.
var (
	forwardEuler  = adams.Bashforth{Steps: 1}
	backwardEuler = adams.Moulton{Steps: 0, Linearize: adams.Current}
)

func newSolver(p *probode.Problem, m probode.Method, h, alpha float64) (*probode.Solver, error) {
	return probode.Setup{Method: m, Mesh: probode.Uniform(h), Alpha: alpha}.Solver(context.Background(), p, nil, nil)
}

func fhn() *probode.Problem { return problems.FitzHughNagumo() }

// halvings has step 0.1 × 2⁻ⁿ, with all points of the coarser grids.
func halvings(ctx context.Context, p *probode.Problem, n int) ([]float64, error) {
	g, err := probode.UniformGrid(p, nil, 0.1/math.Exp2(float64(n)))
	if err != nil {
		return nil, err
	}
	return accurate(ctx, p, g.Times())
}

// accurate returns an error if the estimated global error is above 1e-10.
func accurate(ctx context.Context, p *probode.Problem, times []float64) ([]float64, error) {
	const most = 1e-10
	r, err := reference.Solve(ctx, p, times, reference.Settings{})
	if err != nil {
		return nil, err
	}
	for _, e := range r.Error {
		if !(e <= most) {
			return nil, fmt.Errorf("reference solution of %s: the estimated global error is %.1e: want at most %.0e", p.Name, e, most)
		}
	}
	return r.X, nil
}
