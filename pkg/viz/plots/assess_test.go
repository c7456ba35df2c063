package plots

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
	"github.com/probode/probode/pkg/viz"
)

// assessment is one of two steps and two parameters, of which the second step was
// interrupted before its probabilistic run.
func assessment() *assess.Report {
	effect := func(center, bias, ratio float64) assess.Effect {
		s := assess.Shift{CenterSpread: assess.CenterSpread{Center: center, Spread: ratio}, Bias: bias, BiasSE: 0.02, Ratio: ratio, RatioSE: 0.01}
		return assess.Effect{Median: s, Mean: s}
	}
	inference := func(scheme string, bias float64) *assess.Inference {
		return &assess.Inference{
			Sampler: scheme,
			Summary: diag.Summary{
				{Name: "alpha", Mean: 9, SD: 9}, // not assessed
				{Name: "theta1", Mean: 1 + bias, SD: 1.1},
				{Name: "theta2", Mean: 2 - bias, SD: 0.9},
			},
			Effects: []assess.Effect{effect(1+bias, bias, 1.1), effect(2-bias, -bias, 0.9)},
		}
	}
	return &assess.Report{
		Model: "decay", Threshold: 0.1, Drawn: "draws",
		Params: []assess.Marginal{{Name: "theta1", Median: assess.CenterSpread{Center: 1, Spread: 1}}, {Name: "theta2", Median: assess.CenterSpread{Center: 2, Spread: 1}}},
		Candidates: []*assess.Candidate{
			{Method: "AB1", Mesh: "h = 0.2", Size: 0.2, Inference: inference("tempering", 0.3)},
			{Method: "AB1", Mesh: "h = 0.1", Size: 0.1, Inference: inference("tempering", 0.03)},
			{Method: "AB1", Mesh: "h = 0.1", Size: 0.1, Noisy: true, Inference: inference("pcn", 0.5)},
		},
	}
}

// Bias and spread come first, then a panel for each parameter, in which the points
// are those of the parameter and not of one that is not assessed.
func TestAssessment(t *testing.T) {
	f := Assessment(assessment())
	if len(f.Panels) != 4 || f.Panels[2].Title != "theta1" || f.Panels[3].Title != "theta2" {
		t.Fatalf("panels %+v", f.Panels)
	}
	var y, largest float64
	for _, l := range f.Panels[3].Layers {
		if p, ok := l.(viz.Points); ok && p.Name == "AB1" {
			y = p.Y[1]
		}
	}
	if math.Abs(y-1.97) > 1e-12 {
		t.Errorf("theta2 at the smaller step is drawn at %g, want 1.97", y)
	}
	for _, l := range f.Panels[0].Layers {
		if l, ok := l.(viz.Line); ok {
			largest = max(largest, slices.Max(l.Y))
		}
	}
	if largest != 0.5 {
		t.Errorf("the largest bias drawn is %g, want 0.5", largest)
	}
	picture, err := viz.PNG(f)
	if err != nil || len(picture) == 0 {
		t.Errorf("picture of %d bytes, error %v", len(picture), err)
	}
	if page, err := viz.HTML(f); err != nil || !strings.Contains(page, "threshold") {
		t.Errorf("page error %v", err)
	}
}

// What is not known is left out: without an reference posterior there are no
// bands and no biases, and the figure can still be drawn.
func TestAssessmentWithoutAccurate(t *testing.T) {
	a := assessment()
	nan := math.NaN()
	for i := range a.Params {
		a.Params[i].Median = assess.CenterSpread{Center: nan, Spread: nan}
	}
	for _, c := range a.Candidates {
		for j := range c.Inference.Effects {
			c.Inference.Effects[j] = assess.Effect{Median: assess.Shift{Bias: nan, BiasSE: nan, Ratio: nan, RatioSE: nan}}
		}
	}
	if _, err := viz.PNG(Assessment(a)); err != nil {
		t.Error(err)
	}
}

// The page has the answer and the tables, whose lines may scroll; no sentence is among them.
func TestAssessmentHTML(t *testing.T) {
	body, err := AssessmentHTML(assessment(), "a <model>")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<h1>Does the solver's error matter for the posterior of a &lt;model&gt;?</h1>", "class=answer", "data:image/png", "<pre>"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, table := range strings.Split(body, "<pre>")[1:] {
		table, _, _ = strings.Cut(table, "</pre>")
		if strings.Contains(table, "searches found") {
			t.Errorf("a sentence in a table: %s", table)
		}
	}
}
