package modes_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/modes"
)

// lines is x₁′ = a, x₂′ = a + b from (0, 0), which every method solves without
// an error: the posterior of a and b with normal priors is Gaussian.
func lines() *bayes.Posterior {
	p := &probode.Problem{Name: "lines", Params: []string{"a", "b"}, X0: []float64{0, 0}, Theta: []float64{1, 1}, Span: [2]float64{0, 2},
		F: func(f []float64, _ float64, _, th []float64) { f[0], f[1] = th[0], th[0]+th[1] }}
	return &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "a", Prior: distuv.Normal{Mu: 1, Sigma: 2}}, {Name: "b", Prior: distuv.Normal{Mu: -1, Sigma: 0.5}}},
			Experiments: []bayes.Experiment{{Problem: p,
				Data:   &bayes.Data{T: []float64{0.5, 1.2, 2}, Y: [][]float64{{0.4, math.NaN()}, {1.5, 0.9}, {2.2, 1.3}}},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.2)}, bayes.Gaussian{Sigma: bayes.Known(0.4)}}}},
		},
		Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(0.5)},
	}
}

// linesLaw returns mean and covariance of the posterior of lines: precisions of
// prior and data add up, and so do precision-weighted means.
func linesLaw() ([]float64, *mat.SymDense) {
	precision := mat.NewSymDense(2, []float64{1. / 4, 0, 0, 1 / 0.25})
	v := mat.NewVecDense(2, []float64{1. / 4, -1 / 0.25})
	p := lines()
	x := p.Experiments[0]
	for n, t := range x.Data.T {
		for k, design := range [][]float64{{t, 0}, {t, t}} {
			y, s := x.Data.Y[n][k], []float64{0.2, 0.4}[k]
			if math.IsNaN(y) {
				continue
			}
			d := mat.NewVecDense(2, design)
			precision.SymRankOne(precision, 1/(s*s), d)
			v.AddScaledVec(v, y/(s*s), d)
		}
	}
	var chol mat.Cholesky
	chol.Factorize(precision)
	var mean mat.VecDense
	cov := mat.NewSymDense(2, nil)
	if chol.SolveVecTo(&mean, v) != nil || chol.InverseTo(cov) != nil {
		panic("precision is singular")
	}
	return mean.RawVector().Data, cov
}

// The mode is the mean and the covariance that of the posterior. BFGS stops when
// the log density changes by less than 1e-6, which is 1.4e-3 standard deviations
// off the mode at most; the density is quadratic, so that differences of second
// order are exact up to rounding, 1e-16·50/1e-6 of it.
func TestFindModeOfAGaussian(t *testing.T) {
	mean, cov := linesLaw()
	found, err := modes.Find(context.Background(), lines(), modes.Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	m := found.Highest()
	for i := range 2 {
		if off := math.Abs(m.Theta[i]-mean[i]) / math.Sqrt(cov.At(i, i)); off > 2e-3 {
			t.Errorf("mode %v, want %v: %g standard deviations off", m.Theta, mean, off)
		}
		for j := range 2 {
			if got, want := m.Cov.At(i, j), cov.At(i, j); math.Abs(got-want) > 1e-6*math.Sqrt(cov.At(i, i)*cov.At(j, j)) {
				t.Errorf("covariance (%d, %d) = %g, want %g", i, j, got, want)
			}
		}
	}
	if found.Solved != found.Tried {
		t.Errorf("solved at %d of %d", found.Solved, found.Tried)
	}
	// The density at the mode, with constants.
	p := lines()
	want := p.Params[0].Prior.LogProb(m.Theta[0]) + p.Params[1].Prior.LogProb(m.Theta[1])
	for n, at := range p.Experiments[0].Data.T {
		for k, mu := range []float64{m.Theta[0] * at, (m.Theta[0] + m.Theta[1]) * at} {
			if y := p.Experiments[0].Data.Y[n][k]; !math.IsNaN(y) {
				want += distuv.Normal{Mu: mu, Sigma: []float64{0.2, 0.4}[k]}.LogProb(y)
			}
		}
	}
	if math.Abs(m.LogP-want) > 1e-12*math.Abs(want)*10 {
		t.Errorf("log density %v, want %v", m.LogP, want)
	}
}

// Where data are impossible, the density is zero and the equations are solved. The mean
// a + b of the second log-normal observation is positive with probability 0.5.
func TestSolvedWhereTheDensityIsZero(t *testing.T) {
	p := lines()
	for k := range p.Experiments[0].Errors {
		p.Experiments[0].Errors[k] = bayes.LogNormal{Sigma: bayes.Known(0.4)}
	}
	found, err := modes.Find(context.Background(), p, modes.Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if found.Tried == 0 || found.Solved != found.Tried || strings.Contains(found.Missed(), "could not be solved") {
		t.Errorf("solved at %d of %d: %s", found.Solved, found.Tried, found.Missed())
	}
}

// Without data the mode is that of the prior on the unconstrained scale: of
// log θ at μ for a log-normal distribution, of log θ at log(α/β) for a gamma distribution, and of
// the logit at the mean α/(α+β) for a beta distribution.
func TestFindModeIsOnTheUnconstrainedScale(t *testing.T) {
	p := lines()
	p.Params[0].Prior = distuv.Gamma{Alpha: 3, Beta: 2}
	p.Params[1].Prior = distuv.Beta{Alpha: 2, Beta: 3}
	p.Experiments[0].Data.Y = [][]float64{{math.NaN(), math.NaN()}, {math.NaN(), math.NaN()}, {math.NaN(), math.NaN()}}
	m, err := findMode(context.Background(), p, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{1.5, 0.4} {
		if math.Abs(m.Theta[i]-want) > 2e-3 {
			t.Errorf("mode %v, want %g", m.Theta[i], want)
		}
	}
}

// A search under a watched context tells what it is at, and in the end that it is over,
// also if it fails.
func TestFindModesShowsItself(t *testing.T) {
	for _, fails := range []bool{false, true} {
		p := lines()
		if fails {
			p.Experiments[0].Problem.F = func(f []float64, _ float64, _, _ []float64) { f[0], f[1] = math.NaN(), 0 }
		}
		var label string
		var last [2]int
		said := map[string]bool{}
		ctx := progress.With(context.Background(), func(l string) progress.Hook {
			label = l
			return func(done, total int, doing string) {
				last = [2]int{done, total}
				what, _, _ := strings.Cut(doing, ",")
				said[what] = true
			}
		})
		_, err := modes.Find(ctx, p, modes.Settings{})
		if (err != nil) != fails || label != "modes" || last[0] != last[1] || !said["draws of the prior"] || said["searches"] == fails || said["masses"] == fails {
			t.Errorf("error %v, label %q, last %v, said %v", err, label, last, said)
		}
	}
}

func TestFindModeErrors(t *testing.T) {
	p := lines()
	p.Experiments[0].Problem.F = func(f []float64, _ float64, _, _ []float64) { f[0], f[1] = math.NaN(), 0 }
	if _, err := findMode(context.Background(), p, 1); err == nil || !strings.Contains(err.Error(), "zero at all 400 draws from the prior") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := findMode(ctx, lines(), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// ridge is a model in which the product ab² is known to 1e-4 of itself and the
// ratio a/b to 0.4: x₁ = ab² and x₂ = a/b at t = 1, solved without an error. On
// the scale of log a and log b the one is exp(u + 2v), with third derivatives of
// the size of its second ones.
func ridge() *bayes.Posterior {
	p := &probode.Problem{Name: "ridge", Params: []string{"a", "b"}, X0: []float64{0, 0}, Theta: []float64{1, 1}, Span: [2]float64{0, 1},
		F: func(f []float64, _ float64, _, th []float64) { f[0], f[1] = th[0]*th[1]*th[1], th[0]/th[1] }}
	wide := distuv.LogNormal{Mu: 0, Sigma: 1}
	return &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "a", Prior: wide}, {Name: "b", Prior: wide}},
			Experiments: []bayes.Experiment{{Problem: p,
				Data:   &bayes.Data{T: []float64{1}, Y: [][]float64{{2, 0.7}}},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(2e-4)}, bayes.Gaussian{Sigma: bayes.Known(0.4)}}}},
		},
		Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(0.5)},
	}
}

// The covariance at a mode on a ridge, with curvatures of about 10 and 5e8, against the
// inverse of the Hessian in closed form: with g = exp(q·u), ½((y − g)/σ)² has the
// second derivative (2g² − yg)/σ² along q. Differences of a hundredth of a
// standard deviation s are wrong by s²·1e-4/12 of a fourth derivative, of the
// order of 1e-5 of the second along the ridge; the rounding is 1e-15/1e-4.
// Differences with steps of 1e-3 along the parameters, one-sided or central, find a
// negative curvature here.
func TestCovarianceOnARidge(t *testing.T) {
	m, err := findMode(context.Background(), ridge(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if m.Cov == nil {
		t.Fatal("no covariance")
	}
	hess := mat.NewSymDense(2, []float64{1, 0, 0, 1}) // of the prior
	for k, q := range [][]float64{{1, 2}, {1, -1}} {
		g := math.Exp(q[0]*m.U[0] + q[1]*m.U[1])
		y, s := []float64{2, 0.7}[k], []float64{2e-4, 0.4}[k]
		hess.SymRankOne(hess, (2*g*g-y*g)/(s*s), mat.NewVecDense(2, q))
	}
	if math.Abs(m.U[0]+2*m.U[1]-math.Log(2)) > 1e-6 {
		t.Errorf("mode %g is not on the ridge", m.Theta)
	}
	// H·Cov = I, on the scale of the axes: Lᵀ Cov L = I for H = LLᵀ.
	var chol mat.Cholesky
	if !chol.Factorize(hess) {
		t.Fatal("the Hessian is not positive definite")
	}
	var l mat.TriDense
	chol.LTo(&l)
	var unit mat.Dense
	unit.Product(l.T(), m.Cov, &l)
	for i := range 2 {
		for j := range 2 {
			want := 0.0
			if i == j {
				want = 1
			}
			if got := unit.At(i, j); math.Abs(got-want) > 1e-3 {
				t.Errorf("Lᵀ Cov L (%d, %d) = %g, want %g", i, j, got, want)
			}
		}
	}
}

// There is no covariance where a standard deviation is beyond ten, here 1e4.
func TestNoCovarianceWithoutCurvature(t *testing.T) {
	p := lines()
	p.Params[1].Prior = distuv.Normal{Mu: 0, Sigma: 1e4}
	p.Experiments[0].Data.Y = [][]float64{{0.4, math.NaN()}, {1.5, math.NaN()}, {2.2, math.NaN()}} // nothing on b
	m, err := findMode(context.Background(), p, 1)
	if err != nil {
		t.Fatal(err)
	}
	if m.Cov != nil {
		t.Errorf("covariance %g of a parameter that nothing determines", mat.Formatted(m.Cov))
	}
}

// What is wrong is said of the first draw, in one line.
func TestFindModeSaysWhy(t *testing.T) {
	for want, change := range map[string]func(p *bayes.Posterior){
		"in column 1 has the log probability -Inf; the model expects the value NaN": func(p *bayes.Posterior) {
			p.Experiments[0].Observe = func(dst []float64, _ float64, _, _ []float64) { dst[0], dst[1] = math.NaN(), 1 }
		},
		"the value 0.9 at t = 1.2 in column 2 has the log probability -Inf; the model expects the value -1": func(p *bayes.Posterior) {
			p.Experiments[0].Observe = func(dst []float64, _ float64, x, _ []float64) { dst[0], dst[1] = x[0], -1 }
			p.Experiments[0].Errors[1] = bayes.LogNormal{Sigma: bayes.Known(1)}
		},
		"lines, AB1, h = 0.5: step 0 at t = 0": func(p *bayes.Posterior) {
			p.Experiments[0].Problem.F = func(f []float64, _ float64, _, _ []float64) { f[0], f[1] = math.NaN(), 0 }
		},
		"experiment 1: lines": func(p *bayes.Posterior) {
			p.Experiments[0].Problem.Start = func(x0, _ []float64) { x0[0], x0[1] = 0, math.NaN() }
		},
	} {
		p := lines()
		change(p)
		_, err := findMode(context.Background(), p, 1)
		if err == nil || !strings.Contains(err.Error(), "the posterior density is zero at all 400 draws from the prior: at the first, a = ") ||
			!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one line with %q", err, want)
		}
	}
}

// findMode returns the highest mode.
func findMode(ctx context.Context, p *bayes.Posterior, seed uint64, from ...[]float64) (*bayes.Mode, error) {
	m, err := modes.Find(ctx, p, modes.Settings{Seed: seed, From: from})
	if err != nil {
		return nil, err
	}
	return m.Highest(), nil
}

func TestFindFromAWrongLength(t *testing.T) {
	defer func() {
		if r, ok := recover().(string); !ok || !strings.HasPrefix(r, "modes: Find: a point in Settings.From has 1 numbers: want 2") {
			t.Errorf("panic %q", r)
		}
	}()
	_, _ = findMode(context.Background(), lines(), 1, []float64{1})
}

// Searches that begin at known modes say nothing about unknown ones. Two hundred of them do
// not change which modes may have been missed.
func TestGivenPointsAreNoEvidence(t *testing.T) {
	p := lines()
	plain, err := modes.Find(context.Background(), p, modes.Settings{Seed: 1, Starts: 20})
	if err != nil {
		t.Fatal(err)
	}
	from := slices.Repeat(plain.Thetas(-1), 200)
	given, err := modes.Find(context.Background(), p, modes.Settings{Seed: 1, Starts: 20, From: from})
	if err != nil {
		t.Fatal(err)
	}
	if given.Searches != plain.Searches+len(from) || given.Unnoticed() != plain.Unnoticed() || !strings.Contains(plain.Unnoticed(), "fewer than 1 search in 5 ends") {
		t.Errorf("%d searches: %s; with %d more from the mode, %d: %s", plain.Searches, plain.Unnoticed(), len(from), given.Searches, given.Unnoticed())
	}
	if only, err := modes.Find(context.Background(), p, modes.Settings{Points: -1, From: from}); err != nil || !strings.Contains(only.Unnoticed(), "there were few searches") {
		t.Errorf("error %v, or searches from given points only: %s", err, only.Unnoticed())
	}
}
