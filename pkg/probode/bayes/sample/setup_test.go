package sample_test

import (
	"context"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// finer is a sampler of another package that looks at smaller steps before it runs.
type finer struct {
	sample.Deterministic
	look func(ctx context.Context, d *bayes.Density) error
}

func (s finer) Algorithm() sample.Algorithm {
	a := s.Deterministic.Algorithm()
	a.Prepare = func(ctx context.Context, d *bayes.Density, _ func() (*bayes.Modes, error)) (sample.Algorithm, error) {
		return a, s.look(ctx, d)
	}
	return a
}

// A posterior is plain data: a copy with an eighth of the step solves eight times as many
// steps, although the density of the original is bound to its grid. The same holds for the
// density of another setup, whose work counts for the density that it belongs to.
func TestCopyWithOtherStepsInPrepare(t *testing.T) {
	p := decayPosterior(0, decayY)
	span := p.Experiments[0].Problem.Span
	p.Mesh = probode.Uniform((span[1] - span[0]) / 40)
	steps := func(d *bayes.Density) int {
		before := d.Work()
		if _, err := d.LogLikelihood([]float64{1}, nil); err != nil {
			t.Fatal(err)
		}
		return d.Work() - before
	}
	s := finer{Deterministic: sample.Deterministic{Proposal: walk}, look: func(ctx context.Context, d *bayes.Density) error {
		q := *d.Posterior()
		q.Mesh = probode.Uniform(q.StepSize() / 8)
		copied, err := bayes.NewDensity(ctx, &q)
		if err != nil {
			return err
		}
		if coarse, fine := steps(d), steps(copied); coarse != 40 || fine != 320 {
			t.Errorf("%d steps, and %d with an eighth of the step: want 40 and 320", coarse, fine)
		}
		before := d.Work()
		other, err := d.With(q.Setup)
		if err != nil {
			return err
		}
		if n := steps(other); n != 320 || d.Work() != before+320 {
			t.Errorf("%d steps, %d of them counted: want 320", n, d.Work()-before)
		}
		if again, err := d.With(q.Setup); again != other || err != nil {
			t.Errorf("the density of a setup is bound a second time: %v", err)
		}
		return nil
	}}
	_, err := sample.Run(context.Background(), p, s, mcmc.Settings{Draws: 10, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
}
