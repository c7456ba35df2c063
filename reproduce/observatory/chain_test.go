package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
)

// relaxation is x′ = θ − x with x(0) = 3, observed four times with an sd of 0.2. The
// solution, and that of the trapezoidal rule, are linear in θ, so with a Gaussian prior both
// posteriors are Gaussian.
func relaxation() question {
	truth := func() *probode.Problem {
		return &probode.Problem{
			Name: "relaxation", States: []string{"x"}, Params: []string{"level"}, Autonomous: true,
			X0: []float64{3}, Theta: []float64{1}, Span: [2]float64{0, 4},
			F: func(f []float64, _ float64, x, theta []float64) { f[0] = theta[0] - x[0] },
			FJ: func(f, jac []float64, _ float64, x, theta []float64) {
				f[0] = theta[0] - x[0]
				jac[0] = -1
			},
		}
	}
	return question{
		name: "relaxation", truth: truth, times: []float64{1, 2, 3, 4}, step: 1,
		observe: func(x []float64, rng *rand.Rand) []float64 { return []float64{x[0] + 0.2*rng.NormFloat64()} },
		make: func(data *bayes.Data) *bayes.Posterior {
			return &bayes.Posterior{Model: bayes.Model{
				Params: []bayes.Param{{Name: "level", Prior: distuv.Normal{Mu: 0, Sigma: 2}}},
				Experiments: []bayes.Experiment{{Problem: truth(), Data: data,
					Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.2)}}}},
			}}
		},
	}
}

// exactly returns the mean and the sd of the posterior whose solver multiplies the distance
// from θ by decay in each unit of time: x(t) = θ + (3 − θ) decayᵗ.
func exactly(data *bayes.Data, decay float64) (mean, sd float64) {
	precision, sum := 1/4., 0.
	for i, at := range data.T {
		r := math.Pow(decay, at)
		slope := 1 - r
		precision += slope * slope / 0.04
		sum += slope * (data.Y[i][0] - 3*r) / 0.04
	}
	return sum / precision, 1 / math.Sqrt(precision)
}

// From the data to the page, the answers of a posterior in closed form: the bias and the
// width that the trapezoidal rule gives it, with which it multiplies the distance by
// ((1 − h/2)/(1 + h/2))^(1/h), and none with weights from the accurate solver.
// With 5 standard errors, false alarms are 6e-7 for each of four biases; a ratio of sds has a
// standard error of about √(2/1000).
func TestAnswersInClosedForm(t *testing.T) {
	dir := t.TempDir()
	q := relaxation()
	o := &observatory{levels: 2, seed: 5, workers: 1, out: dir, draws: 1000,
		questions: []question{q}, remedies: []remedy{remedies[0], remedies[5]}}
	if err := o.run(context.Background(), "answers"); err != nil {
		t.Fatal(err)
	}
	p, err := q.model(context.Background(), o.seed)
	if err != nil {
		t.Fatal(err)
	}
	mean, sd := exactly(p.Experiments[0].Data, math.Exp(-1))
	l, err := open(filepath.Join(dir, "answers.csv"), (*answer).key)
	if err != nil || len(l.rows) != 4 {
		t.Fatalf("%d answers, %v", len(l.rows), err)
	}
	for i, a := range l.rows {
		h := []float64{1, 1, 0.5, 0.5}[i]
		bias, ratio := 0., 1.
		if i%2 == 0 {
			m, s := exactly(p.Experiments[0].Data, math.Pow((1-h/2)/(1+h/2), 1/h))
			bias, ratio = (m-mean)/sd, s/sd
			if h == 1 && math.Abs(bias) < 0.3 {
				t.Fatalf("the trapezoidal rule has a bias of %.2f sd only: the test says nothing", bias)
			}
		}
		if a.Status != "ok" || a.Step != h || a.Remedy != o.remedies[i%2].name || a.Parameter != "level" {
			t.Errorf("answer %d: %+v", i, a)
		}
		if math.Abs(a.Bias-bias) > 5*a.BiasSE || a.BiasSE > 0.1 {
			t.Errorf("%s, h = %g: bias %.3f ± %.3f, want %.3f", a.Remedy, h, a.Bias, a.BiasSE, bias)
		}
		if math.Abs(a.Ratio[0]-ratio) > 0.15 || a.Ratio[0] != a.Ratio[1] {
			t.Errorf("%s, h = %g: sds in the ratio %.3f, want %.3f", a.Remedy, h, a.Ratio, ratio)
		}
		if !(a.Solves > 0.5 && a.Work > 0 && a.Seconds > a.Prepare && a.ESS > 100) || math.IsNaN(a.KHat) != (i%2 != 1) {
			t.Errorf("%s, h = %g: cost or weights: %+v", a.Remedy, h, a)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "observatory.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{fmt.Sprintf("%+.2f ± %.2f", l.rows[0].Bias, l.rows[0].BiasSE), "What does the solver do to my posterior?", "<td>relaxation</td>", "reweighting"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}

// The summary and the standings of rows whose numbers are known: three cells, one without
// a verdict.
func TestSummary(t *testing.T) {
	classical := unknown[row]()
	classical.Problem, classical.Method, classical.Rule, classical.Status, classical.Error = "p", "m", "none", "ok", 0.1
	var rows []row
	for i, square := range []float64{1, 4, 100} {
		base := classical
		base.Size = fmt.Sprintf("h %d", i+1)
		judged := base
		judged.Rule, judged.Points, judged.Alpha, judged.Square, judged.Each = recommended, 10, float64(i+1), square, "1;NaN;100"
		judged.CRPS, judged.Plain, judged.SE, judged.SETime, judged.Within[0] = 1, 2, 0.3*judged.Alpha, 0.4*judged.Alpha, 0.5
		if i == 2 {
			judged.Status = "fails: cut off"
		}
		rows = append(rows, base, judged)
	}
	s := stand(rows, recommended)
	if s.cells != 2 || s.failed != 1 || math.Abs(s.geometric-2) > 1e-12 || s.arithmetic != 2.5 || s.near != 1 || s.nearEach != 0.5 ||
		s.crps != 0.5 || math.Abs(s.se-0.5) > 1e-12 || s.drift != 2 || s.within[0] != 0.5 {
		t.Errorf("standing %+v", s)
	}
	b := summary(rows)
	if len(b) != 3 || b[1].Spread.Square != 4 || b[1].Alpha != 2 || !math.IsNaN(b[1].Paper.Square) {
		t.Errorf("summary %+v", b)
	}
	if b[2].Status != "fails: cut off" || b[2].Alpha != 3 || !math.IsNaN(b[2].Spread.Square) || b[2].Error != 0.1 {
		t.Errorf("summary of the cell without a verdict: %+v", b[2])
	}
	table := unreached(rows)
	if !strings.Contains(table, "α* is only a lower bound") || !strings.Contains(table, "p m h 3") || strings.Contains(table, "h 1") {
		t.Errorf("the table of reasons is %s", table)
	}
	if table := cellsTable(rows); strings.Count(table, "<tr>") != 4 || !strings.Contains(table, "fails: cut off") {
		t.Errorf("the table of cells is %s", table)
	}
	if table := rulesTable([]standing{s}); !strings.Contains(table, `class="n bad">2.00<`) || !strings.Contains(table, `class="n good">100 %<`) {
		t.Errorf("the table of rules is %s", table)
	}
}

// each stops at the first error and returns it.
func TestEach(t *testing.T) {
	o := &observatory{workers: 1}
	done := 0
	err := o.each(10, func(i int) error {
		done++
		if i == 3 {
			return fmt.Errorf("number %d", i)
		}
		return nil
	})
	if err == nil || err.Error() != "number 3" || done != 4 {
		t.Errorf("%v after %d", err, done)
	}
}
