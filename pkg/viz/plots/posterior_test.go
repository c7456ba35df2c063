package plots

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/viz"
)

// normals are chains of draws from N(mean, 1).
func normals(mean float64) *mcmc.Chains {
	rng := rand.New(rand.NewPCG(1, 2))
	c := &mcmc.Chains{Names: []string{"x"}, Draws: make([][][]float64, 4)}
	for j := range c.Draws {
		for range 500 {
			c.Draws[j] = append(c.Draws[j], []float64{mean + rng.NormFloat64()})
		}
	}
	return c
}

// The prior is drawn where the draws are, by its density, and the title says how much
// of it that is: with a prior of standard deviation 10 around the draws, some 30 % lie
// within the ±4 that the draws with their density estimate cover.
func TestPriorPosterior(t *testing.T) {
	p := &bayes.Posterior{Model: bayes.Model{Params: []bayes.Param{{Name: "x", Prior: distuv.Normal{Mu: 3, Sigma: 10}}}}}
	f, err := PriorPosterior(p, normals(3))
	if err != nil {
		t.Fatal(err)
	}
	prior := f.Panels[0].Layers[0].(viz.Line)
	n := len(prior.X) - 1
	for i, x := range prior.X {
		if want := (distuv.Normal{Mu: 3, Sigma: 10}).Prob(x); math.Abs(prior.Y[i]-want) > 1e-12 {
			t.Fatalf("prior density %g at %g, want %g", prior.Y[i], x, want)
		}
	}
	if prior.X[0] > 0.5 || prior.X[n] < 5.5 {
		t.Errorf("the axis goes from %g to %g, the draws nearly from 0 to 6", prior.X[0], prior.X[n])
	}
	if s := f.Panels[0].Title; s < "20 %" || s > "40 %" {
		t.Errorf("title %q", s)
	}
	other := normals(0)
	other.Names = []string{"y"}
	if _, err := PriorPosterior(p, other); err == nil {
		t.Error("a run of another model: no error")
	}
}

// Bands hold the data; where a value is missing the bands go on and there is no point.
func TestPredictive(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	q := &bayes.Prediction{T: []float64{0, 1, 2}, Names: []string{"u", "v"}}
	for range 4000 {
		var fit, y [][]float64
		for n := range 3 {
			m := []float64{float64(n), -float64(n)}
			fit, y = append(fit, m), append(y, []float64{m[0] + rng.NormFloat64(), m[1] + rng.NormFloat64()})
		}
		q.Fit, q.Y = append(q.Fit, fit), append(q.Y, y)
	}
	data := &bayes.Data{T: q.T, Names: q.Names, Time: "day", Y: [][]float64{{0, 0}, {math.NaN(), 5}, {2, -2}}}
	f := Predictive(q, data)
	if len(f.Panels) != 2 || f.Panels[1].Y.Label != "v" || f.Panels[1].X.Label != "day" || Observations(data).Panels[0].X.Label != "day" {
		t.Fatalf("panels %+v", f.Panels)
	}
	if x := Predictive(q, nil).Panels[0].X.Label; x != "t" {
		t.Errorf("times without a name are called %q", x)
	}
	// Nothing was predicted between the data, so nothing is drawn there: a bar for each time.
	bar := f.Panels[0].Layers[0].(viz.Line)
	if len(bar.X) != 9 || !math.IsNaN(bar.Y[2]) || bar.X[0] != bar.X[1] {
		t.Errorf("bars %v, %v", bar.X, bar.Y)
	}
	for _, l := range f.Panels[0].Layers {
		if _, ok := l.(viz.Band); ok {
			t.Error("a band between times of the data without a prediction there")
		}
	}
	few := &bayes.Data{T: []float64{0, 2}, Y: [][]float64{{0, 0}, {2, -2}}}
	b := Predictive(q, few).Panels[0].Layers[0].(viz.Band)
	if inside, of := Inside(q, few, 0.9); inside != 4 || of != 4 {
		t.Errorf("%d of %d inside, want 4 of 4: the row of a time is not that of its number", inside, of)
	}
	// The 95 % quantile of N(1, 1) is 2.645; of 4000 draws it has a standard error
	// of √(.05·.95/4000)/.103 = .033: six of them are never passed.
	if math.Abs(b.Hi[1]-2.645) > 0.2 || math.Abs(b.Lo[1]+0.645) > 0.2 {
		t.Errorf("90 %% of N(1, 1) are drawn from %g to %g", b.Lo[1], b.Hi[1])
	}
	if inside, of := Inside(q, data, 0.9); inside != 4 || of != 5 {
		t.Errorf("%d of %d inside, want 4 of 5", inside, of)
	}
	if _, err := viz.PNG(f); err != nil {
		t.Error(err)
	}
}
