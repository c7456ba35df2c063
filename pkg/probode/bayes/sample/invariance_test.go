package sample

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// The kernels are run on a posterior with 4 values of θ and 3 of ξ, through all
// branches that their decisions can take: a proposal says where to go, and a
// chance whether, what the code under test asks of them. The probabilities of
// the branches add up to the transition matrix P of the kernel, and an invariant
// distribution π is one with πP = π to rounding. There is no Monte Carlo error in it.

// toy is x′ = 0 from 0, solved by one step of Euler's method with h = α = 1, so
// that x(1) = ξ. What is expected of the one observation is the number of the
// state, 3θ + ξ + 1, and the likelihood is looked up there.
func toy(t *testing.T, like *[12]float64) *bayes.Density {
	t.Helper()
	p := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "theta", Prior: table(toyPrior), Natural: true}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{Name: "toy", X0: []float64{0}, Theta: []float64{0}, Span: [2]float64{0, 1}, Autonomous: true,
					F: func(f []float64, _ float64, _, _ []float64) { f[0] = 0 }},
				Data:    &bayes.Data{T: []float64{1}, Y: [][]float64{{0}}},
				Observe: func(dst []float64, _ float64, x, theta []float64) { dst[0] = 3*theta[0] + x[0] + 1 },
				Errors:  []bayes.Likelihood{lookup{like}},
			}},
		},
		Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(1), Alpha: 1},
	}
	e, err := bayes.NewDensity(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

var (
	toyPrior = []float64{0.1, 0.4, 0.2, 0.3}
	toyNoise = []float64{0.2, 0.5, 0.3} // p(ξ) of −1, 0, 1
	toyLike  = [12]float64{0.9, 0.2, 0.05, 0.3, 0.6, 0.1, 0.02, 0.5, 1.1, 0.7, 0.15, 0.4}
)

// toyMove is a proposal q(θ′ | θ), far from symmetric.
var toyMove = [][]float64{
	{0.1, 0.5, 0.3, 0.1},
	{0.2, 0.2, 0.2, 0.4},
	{0.05, 0.15, 0.1, 0.7},
	{0.6, 0.1, 0.25, 0.05},
}

// toyTurn moves ξ reversibly for toyNoise: a symmetric flow over p(ξ).
var toyTurn = [][]float64{
	{0.45, 0.40, 0.15},
	{0.16, 0.64, 0.20},
	{0.10, 0.10 / 0.3, 1 - 0.10 - 0.10/0.3},
}

// table is a prior on 0, 1, ….
type table []float64

func (p table) LogProb(x float64) float64 { return math.Log(p[int(x)]) }
func (p table) Quantile(q float64) float64 {
	return distuv.UnitNormal.Quantile(q) // for its support
}

// lookup is a likelihood given by a table.
type lookup struct{ like *[12]float64 }

func (lookup) Own() []bayes.Value                              { return nil }
func (l lookup) LogProb(_, m float64, _ []float64) float64     { return math.Log(l.like[(int(m)+24)%12]) }
func (lookup) Rand(float64, []float64, *rand.Rand) (y float64) { return 0 }

// branches enumerates what can happen. Each run of the code under test makes
// the decisions that path lists, and beyond them the first that is possible.
type branches struct {
	path    []int
	options [][]float64
	at      int
	p       float64
}

// all calls run once for every sequence of decisions, with its probability.
func (b *branches) all(run func(), found func(p float64)) {
	b.path, b.options = b.path[:0], b.options[:0]
	for {
		b.at, b.p = 0, 1
		run()
		found(b.p)
		for {
			n := len(b.path) - 1
			if n < 0 {
				return
			}
			i := b.path[n] + 1
			for i < len(b.options[n]) && b.options[n][i] == 0 {
				i++
			}
			if i < len(b.options[n]) {
				b.path[n] = i
				break
			}
			b.path, b.options = b.path[:n], b.options[:n]
		}
	}
}

func (b *branches) choose(p ...float64) int {
	if b.at == len(b.path) {
		i := 0
		for p[i] == 0 {
			i++
		}
		b.path, b.options = append(b.path, i), append(b.options, p)
	}
	i := b.path[b.at]
	b.at++
	b.p *= p[i]
	return i
}

// The chance of the kernels.

func (b *branches) accept(logRatio float64, _ *rand.Rand) bool {
	if math.IsNaN(logRatio) {
		return false
	}
	p := math.Exp(min(0, logRatio))
	return b.choose(p, 1-p) == 0
}

func (b *branches) draw(dst []float64, _ *rand.Rand) {
	for k := range dst {
		dst[k] = float64(b.choose(toyNoise...) - 1)
	}
}

func (b *branches) perturb(dst, xi []float64, _ float64, _ *rand.Rand) {
	for k, x := range xi {
		dst[k] = float64(b.choose(toyTurn[int(x)+1]...) - 1)
	}
}

// A scripted proposal takes its moves from the branches too. One that forgets
// is the control: it leaves out log q(x|y) − log q(y|x).
type scripted struct {
	b      *branches
	q      [][]float64
	forget bool
}

func (s scripted) Observe([]float64, float64)     {}
func (s scripted) State(*mcmc.Archive)            {}
func (s scripted) ratio(from, to int) (l float64) { return math.Log(s.q[to][from] / s.q[from][to]) }
func (s scripted) Propose(dst, x []float64, _ *rand.Rand) float64 {
	from := int(x[0])
	to := s.b.choose(s.q[from]...)
	dst[0] = float64(to)
	if s.forget {
		return 0
	}
	return s.ratio(from, to)
}

// propose is a joint move of θ and ξ: to any of the twelve states, with weights
// that have nothing to do with the target.
func (s scripted) propose(uNew, u, next, xi []float64, _ float64, _ chance, _ *rand.Rand) float64 {
	q := func(from, to int) float64 { return float64(1+(5*from+7*to)%11) / weights[from] }
	from := 3*int(u[0]) + int(xi[0]) + 1
	var row [12]float64
	for to := range row {
		row[to] = q(from, to)
	}
	to := s.b.choose(row[:]...)
	uNew[0], next[0] = float64(to/3), float64(to%3-1)
	if s.forget {
		return math.Log(toyNoise[to%3] / toyNoise[from%3])
	}
	return math.Log(toyNoise[to%3] / toyNoise[from%3] * q(to, from) / q(from, to))
}

var weights = func() (w [12]float64) {
	for from := range w {
		for to := range w {
			w[from] += float64(1 + (5*from+7*to)%11)
		}
	}
	return w
}()

// transitions returns the matrix of step. place puts the kernel into a state,
// and where tells in which it is.
func transitions(b *branches, states int, place func(i int), step func(), where func() int) *mat.Dense {
	p := mat.NewDense(states, states, nil)
	for i := range states {
		b.all(func() { place(i); step() }, func(prob float64) {
			j := where()
			p.Set(i, j, p.At(i, j)+prob)
		})
	}
	return p
}

// defect returns max |πP − π|, with π normalised.
func defect(pi []float64, p *mat.Dense) float64 {
	var sum float64
	for _, v := range pi {
		sum += v
	}
	row := mat.NewDense(1, len(pi), nil)
	row.Mul(mat.NewDense(1, len(pi), pi), p)
	var worst float64
	for j, v := range pi {
		worst = max(worst, math.Abs(row.At(0, j)-v)/sum)
	}
	return worst
}

// rounding is some tens of operations on numbers of order one; what a mistake
// makes is of the order 1e-2.
const (
	rounding = 1e-12
	mistake  = 1e-3
)

// at places a state at (θ, ξ) as Init does.
func (s *state) at(theta, xi int) {
	s.u[0] = float64(theta)
	if s.xi != nil {
		s.xi[0] = float64(xi - 1)
	}
	s.logPrior = s.e.Constrain(s.theta, s.u)
	s.ll, _ = s.e.LogLikelihood(s.theta, s.xi)
}

// joined is p(θ, ξ | Y) up to a factor.
func joined() []float64 {
	pi := make([]float64, 12)
	for i := range pi {
		pi[i] = toyPrior[i/3] * toyNoise[i%3] * toyLike[i]
	}
	return pi
}

func TestInvariance(t *testing.T) {
	b := &branches{}
	e := toy(t, &toyLike)
	rule := scripted{b: b, q: toyMove}
	wrong := scripted{b: b, q: toyMove, forget: true}

	check := func(name string, pi []float64, p *mat.Dense, sound bool) {
		t.Helper()
		for i := range pi {
			if s := mat.Sum(p.RowView(i)); math.Abs(s-1) > rounding {
				t.Errorf("%s: the probabilities of row %d add up to %v", name, i, s)
			}
		}
		switch d := defect(pi, p); {
		case sound && d > rounding:
			t.Errorf("%s: πP differs from π by %.2g", name, d)
		case !sound && d < mistake:
			t.Errorf("%s: πP differs from π by only %.2g: the test sees nothing", name, d)
		}
	}
	// noise runs one of the kernels over (θ, ξ).
	noise := func(s *state, step func()) *mat.Dense {
		s.chance = b
		return transitions(b, 12, func(i int) { s.at(i/3, i%3) }, step,
			func() int { return 3*int(s.theta[0]) + int(s.xi[0]) + 1 })
	}
	for _, c := range []struct {
		name  string
		rule  scripted
		sound bool
	}{{"", rule, true}, {", forgetful", wrong, false}} {
		det := Deterministic{}.Algorithm().Kernel(e, mcmc.AdaptiveMetropolis{}, 0).(*deterministic)
		det.chance, det.walk = b, c.rule
		zero := make([]float64, 4) // ξ = 0
		for i := range zero {
			zero[i] = toyPrior[i] * toyLike[3*i+1]
		}
		check("deterministic"+c.name, zero, transitions(b, 4, func(i int) { det.at(i, 1) },
			func() { det.Step(nil) }, func() int { return int(det.theta[0]) }), c.sound)

		k := newPCN(e, mcmc.AdaptiveMetropolis{}, 0)
		k.walk = c.rule
		check("θ | ξ"+c.name, joined(), noise(k.state, func() { k.moveTheta(nil) }), c.sound)
		check("pcn"+c.name, joined(), noise(k.state, func() { k.Step(nil) }), c.sound)
		check("ξ | θ", joined(), noise(k.state, k.moveXi), true)
		k.joint = c.rule
		check("joint"+c.name, joined(), noise(k.state, func() { k.turn = 1; k.moveXi() }), c.sound)
		for turn := range 2 {
			check("pcn with joint"+c.name, joined(), noise(k.state, func() { k.turn = turn; k.Step(nil) }), c.sound)
		}

		// The state of the pseudo-marginal kernel is θ with the noises
		// u = (ξ₁, ξ₂) of its two paths, and its distribution p(θ) p(u) p̂(Y | θ, u).
		estimate := func(i int) float64 {
			th, u1, u2 := i/9, i/3%3, i%3
			return (toyLike[3*th+u1] + toyLike[3*th+u2]) / 2
		}
		pi := make([]float64, 36)
		for i := range pi {
			pi[i] = toyPrior[i/9] * toyNoise[i/3%3] * toyNoise[i%3] * estimate(i)
		}
		cor := PseudoMarginal{Particles: 2, Correlation: 0.5}.Algorithm().Kernel(e, mcmc.AdaptiveMetropolis{}, 0).(*pseudoMarginal)
		cor.chance, cor.walk = b, c.rule
		p := transitions(b, 36, func(i int) {
			cor.at(i/9, 1)
			cor.kept[0], cor.kept[1], cor.kept[2] = float64(i/3%3-1), float64(i%3-1), 0 // the last is not used
			cor.ll = math.Log(estimate(i))
		}, func() { cor.Step(nil) }, func() int {
			return 9*int(cor.theta[0]) + 3*int(cor.kept[0]+1) + int(cor.kept[1]+1)
		})
		check("correlated pseudo-marginal"+c.name, pi, p, c.sound)

		// Without correlation the kernel remembers of u what p̂ it made: the
		// states are the pairs of θ and p̂, six for each θ.
		var states [][2]float64
		index := func(theta int, like float64) int {
			for i, s := range states {
				if int(s[0]) == theta && math.Abs(s[1]-like) < 1e-9 {
					return i
				}
			}
			states = append(states, [2]float64{float64(theta), like})
			return len(states) - 1
		}
		merged := make([]float64, 36)
		for i := range pi {
			merged[index(i/9, estimate(i))] += pi[i]
		}
		merged = merged[:len(states)]
		pm := PseudoMarginal{Particles: 2}.Algorithm().Kernel(e, mcmc.AdaptiveMetropolis{}, 0).(*pseudoMarginal)
		pm.chance, pm.walk = b, c.rule
		p = transitions(b, len(states), func(i int) {
			pm.at(int(states[i][0]), 1)
			pm.ll = math.Log(states[i][1])
		}, func() { pm.Step(nil) }, func() int { return index(int(pm.theta[0]), math.Exp(pm.ll)) })
		check("pseudo-marginal"+c.name, merged, p, c.sound)
	}
}

// The paper's sampler does not leave p(θ, ξ | Y) invariant, but the density
// ν(θ) p(ξ) / A_q(θ, ξ) that its doc comment names, A_q being the probability of
// acceptance and ν the invariant distribution of θ at the times of acceptance; and that
// depends on the proposal.
func TestInvarianceOfRedrawOnAccept(t *testing.T) {
	lazy := make([][]float64, 4) // the same proposal, a tenth as often
	for i, row := range toyMove {
		for j, v := range row {
			lazy[i] = append(lazy[i], v/10)
			if i == j {
				lazy[i][j] += 0.9
			}
		}
	}
	local := [][]float64{{0.2, 0.8, 0, 0}, {0.4, 0.2, 0.4, 0}, {0, 0.4, 0.2, 0.4}, {0, 0, 0.8, 0.2}}
	var dists [][]float64
	for _, q := range [][][]float64{toyMove, lazy, local} {
		b := &branches{}
		e := toy(t, &toyLike)
		k := RedrawOnAccept{}.Algorithm().Kernel(e, mcmc.AdaptiveMetropolis{}, 0).(*redraw)
		k.chance, k.walk = b, scripted{b: b, q: q}
		p := transitions(b, 12, func(i int) { k.at(i/3, i%3) }, func() { k.Step(nil) },
			func() int { return 3*int(k.theta[0]) + int(k.xi[0]) + 1 })

		// A_q, and the chain of θ at the times of acceptance, from the tables.
		rate := make([]float64, 12)
		jump := mat.NewDense(4, 4, nil)
		for i := range rate {
			th, xi := i/3, i%3
			var to [4]float64
			for j := range to {
				if q[th][j] == 0 {
					continue
				}
				ratio := toyPrior[j] * toyLike[3*j+xi] * q[j][th] / (toyPrior[th] * toyLike[i] * q[th][j])
				to[j] = q[th][j] * min(1, ratio)
				rate[i] += to[j]
			}
			for j, v := range to {
				jump.Set(th, j, jump.At(th, j)+toyNoise[xi]*v/rate[i])
			}
		}
		nu := invariantLaw(t, jump)
		pi := make([]float64, 12)
		var sum float64
		for i := range pi {
			pi[i] = nu[i/3] * toyNoise[i%3] / rate[i]
			sum += pi[i]
		}
		if d := defect(pi, p); d > rounding {
			t.Errorf("ν(θ) p(ξ)/A(θ, ξ) is not invariant: πP differs from π by %.2g", d)
		}
		if d := defect(joined(), p); d < mistake {
			t.Errorf("p(θ, ξ | Y) is invariant to %.2g", d)
		}
		for i := range pi {
			pi[i] /= sum
		}
		dists = append(dists, pi)
	}
	for _, other := range dists[1:] {
		var worst float64
		for i, v := range other {
			worst = max(worst, math.Abs(v-dists[0][i]))
		}
		if worst < 10*mistake {
			t.Errorf("the distributions under two proposals differ by only %.2g", worst)
		}
	}
}

// invariantLaw solves νT = ν, Σν = 1.
func invariantLaw(t *testing.T, p *mat.Dense) []float64 {
	t.Helper()
	n, _ := p.Dims()
	a := mat.NewDense(n, n, nil)
	rhs := mat.NewVecDense(n, nil)
	for i := range n {
		for j := range n {
			a.Set(j, i, p.At(i, j))
		}
	}
	for i := range n {
		a.Set(i, i, a.At(i, i)-1)
	}
	for j := range n {
		a.Set(n-1, j, 1)
	}
	rhs.SetVec(n-1, 1)
	var nu mat.VecDense
	if err := nu.SolveVec(a, rhs); err != nil {
		t.Fatal(err)
	}
	return nu.RawVector().Data
}

// linear has two experiments of a model linear in ξ, with times off the grid, a
// missing value and a second-order method, which has a step without noise.
func linear() *bayes.Posterior {
	p := &probode.Problem{
		Name: "spiral", X0: []float64{1, 0}, Theta: []float64{0.5, 2}, Span: [2]float64{0, 2}, Autonomous: true,
		States: []string{"x", "y"}, Params: []string{"damping", "frequency"},
		F: func(f []float64, _ float64, x, th []float64) {
			f[0] = -th[0]*x[0] - th[1]*x[1]
			f[1] = th[1]*x[0] - th[0]*x[1]
		},
	}
	nan := math.NaN()
	return &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "damping", Prior: bayes.Positive(0.5, 0.3)}, {Name: "frequency", Prior: bayes.Positive(2, 0.5)}},
			Experiments: []bayes.Experiment{
				{Problem: p, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.2)}}, Data: &bayes.Data{
					T: []float64{0, 0.31, 0.9, 0.99, 1.5, 1.97}, Names: []string{"x", "y"},
					Y: [][]float64{{1.1, nan}, {0.6, 0.7}, {nan, nan}, {-0.4, 0.4}, {-0.5, 0}, {-0.2, nan}}}},
				{Problem: p, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.3)}}, Data: &bayes.Data{
					T: []float64{1}, Names: []string{"y"}, Y: [][]float64{{0.3}}}},
			},
		},
		Setup: probode.Setup{Method: adams.Bashforth{Steps: 2}, Mesh: probode.Uniform(0.1), Alpha: 3000},
	}
}

// marginal returns log p(Y | θ) of a model that is linear in ξ with Gaussian
// errors, and the mean of what paths expect of the data given Y. With m and H
// such that m + Hξ is expected, Y ~ N(m, HHᵀ + Σ), in the rows of values that
// are not missing.
func marginal(t *testing.T, e *bayes.Density, theta []float64) (logp float64, mean []float64) {
	t.Helper()
	var y, sd []float64
	var cells []int
	at := 0
	for _, x := range e.Posterior().Experiments {
		for _, row := range x.Data.Y {
			for _, v := range row {
				if !math.IsNaN(v) {
					y, sd, cells = append(y, v), append(sd, x.Errors[0].(bayes.Gaussian).Sigma.Value), append(cells, at)
				}
				at++
			}
		}
	}
	expect := func(xi []float64) []float64 {
		if _, err := e.LogLikelihood(theta, xi); err != nil {
			t.Fatal(err)
		}
		return append([]float64(nil), e.Expected()...)
	}
	xi := make([]float64, e.NoiseLen())
	mean = expect(xi)
	all := mat.NewDense(at, len(xi), nil)
	for k := range xi {
		xi[k] = 1
		for i, v := range expect(xi) {
			all.Set(i, k, v-mean[i])
		}
		xi[k] = 0
	}
	h := mat.NewDense(len(y), len(xi), nil)
	dev := mat.NewVecDense(len(y), nil)
	for i, c := range cells {
		h.SetRow(i, all.RawRowView(c))
		dev.SetVec(i, y[i]-mean[c])
	}
	cov := mat.NewSymDense(len(y), nil)
	cov.SymOuterK(1, h)
	for i := range y {
		cov.SetSym(i, i, cov.At(i, i)+sd[i]*sd[i])
	}
	var chol mat.Cholesky
	if !chol.Factorize(cov) {
		t.Fatal("covariance is not positive definite")
	}
	var w, shift, given mat.VecDense
	if err := chol.SolveVecTo(&w, dev); err != nil {
		t.Fatal(err)
	}
	shift.MulVec(h.T(), &w)
	given.MulVec(all, &shift)
	for i := range mean {
		mean[i] += given.AtVec(i)
	}
	return -0.5 * (mat.Dot(dev, &w) + chol.LogDet() + float64(len(y))*math.Log(2*math.Pi)), mean
}

// The mean of p̂(Y | θ)/p(Y | θ) is one, and with these weights the mean of what
// the chosen path expects is that given Y: of an early value, of a missing one,
// and of one in the other experiment. The weights have a variance of 0.3 to 8, so
// that means of n = 5000 are normal for practical purposes; |z| < 4.5 in 12
// checks: false alarms 12·7e-6 = 1e-4.
func TestEstimatesAreUnbiased(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const n = 5000
	for _, s := range []PseudoMarginal{
		{Particles: 4}, {Particles: 4, Correlation: 0.9}, {Particles: 30},
	} {
		e, err := bayes.NewDensity(context.Background(), linear())
		if err != nil {
			t.Fatal(err)
		}
		theta := []float64{0.6, 1.8}
		exact, mean := marginal(t, e, theta)
		k := s.Algorithm().Kernel(e, mcmc.AdaptiveMetropolis{}, 0).(*pseudoMarginal)
		k.source.Seed(1, 2)
		var sum, squares [4]float64
		for range n {
			k.begin() // U again, so that the estimates are independent
			ll, err := k.like(theta, nil)
			if err != nil {
				t.Fatal(err)
			}
			r := math.Exp(ll - exact)
			for i, x := range []float64{r - 1, r * (e.Expected()[2] - mean[2]), r * (e.Expected()[5] - mean[5]), r * (e.Expected()[12] - mean[12])} {
				sum[i] += x / n
				squares[i] += x * x / n
			}
		}
		for i, what := range []string{"p̂/p − 1", "x(0.31)", "y(0.9)", "y(1) of the second experiment"} {
			se := math.Sqrt((squares[i] - sum[i]*sum[i]) / n)
			if z := sum[i] / se; math.Abs(z) > 4.5 {
				t.Errorf("%+v: the error in %s is %.4f, %.1f standard errors", s, what, sum[i], z)
			}
		}
		t.Logf("%v, %d paths: variance of p̂/p %.3g", s, s.Particles, squares[0])
	}
}

// What resampling is for: with as many paths the filter's log p̂ varies less.
func TestFilterBeatsWholePaths(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	e, err := bayes.NewDensity(context.Background(), linear())
	if err != nil {
		t.Fatal(err)
	}
	variance := func(k *state) float64 {
		k.source.Seed(1, 2)
		var sum, squares float64
		const n = 2000
		for range n {
			ll, err := k.like([]float64{0.6, 1.8}, nil)
			if err != nil {
				t.Fatal(err)
			}
			sum += ll / n
			squares += ll * ll / n
		}
		return squares - sum*sum
	}
	// The variances are known to 2√(2/2000) = 6 % or so, and differ fourfold.
	f := variance(PseudoMarginal{Particles: 50}.Algorithm().Kernel(e, mcmc.AdaptiveMetropolis{}, 0).(*pseudoMarginal).state)
	i := variance(PseudoMarginal{Particles: 50, Expected: true}.Algorithm().Kernel(e, mcmc.AdaptiveMetropolis{}, 0).(*pseudoMarginal).state)
	t.Logf("variance of log p̂: %.3g by the filter, %.3g by whole paths", f, i)
	if f > i/1.5 {
		t.Errorf("variance of log p̂ is %.3g by the filter and %.3g by whole paths", f, i)
	}
}

// A kernel that takes up another's state goes on as that does, to the bit, from
// within the burn-in and beyond it; and no kernel allocates. What adapts and
// allocates in doing so is given half a burn-in of its own.
func TestKernelsResumeAndDoNotAllocate(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	rule := mcmc.AdaptiveMetropolis{Scale: []float64{0.2, 0.2}, AdaptAfter: 50, StopAfter: 200}
	for _, s := range []Sampler{
		Deterministic{}, RedrawOnAccept{}, PCNWithinGibbs{}, PCNWithinGibbs{Blocks: -1}, Hamiltonian{}, PseudoMarginal{Expected: true},
		PseudoMarginal{}, PseudoMarginal{Correlation: 0.9}, PseudoMarginal{Particles: 5},
	} {
		job, err := prepare(context.Background(), linear(), s, mcmc.Settings{Seed: 1, BurnIn: 200,
			Start: func(int, *rand.Rand) []float64 { return []float64{0.5, 2} }})
		if err != nil {
			t.Fatal(err)
		}
		job.algorithm.Walk = &rule
		source := rand.NewPCG(1, 1)
		rng := rand.New(source)
		a := job.kernel(0)
		if err := a.Init([]float64{0.5, 2}, rng); err != nil {
			t.Fatal(err)
		}
		steps := func(k mcmc.Kernel, rng *rand.Rand, n int) {
			for range n {
				k.Step(rng)
			}
		}
		for _, n := range []int{60, 100, 100} {
			steps(a, rng, n)
			out := mcmc.NewArchive(nil)
			a.State(out)
			b := job.kernel(0)
			if err := b.Init([]float64{0.5, 2}, rand.New(rand.NewPCG(2, 2))); err != nil {
				t.Fatal(err)
			}
			in := mcmc.NewArchive(out.Bytes())
			b.State(in)
			if err := in.Err(); err != nil {
				t.Fatalf("%v: %v", s, err)
			}
			other := *source
			steps(a, rng, 90)
			steps(b, rand.New(&other), 90)
			x, y := mcmc.NewArchive(nil), mcmc.NewArchive(nil)
			a.State(x)
			b.State(y)
			if string(x.Bytes()) != string(y.Bytes()) {
				t.Errorf("%v: another chain after a restart", s)
			}
		}
		if n := testing.AllocsPerRun(50, func() { a.Step(rng) }); n > 0 {
			t.Errorf("%v: %v allocations in an iteration", s, n)
		}
	}
}

// On linear equations one linearisation is Newton's method, so that a filter gives
// the same estimates with either, up to rounding, however far back a step reads.
// AM4 with one linearisation has order 2 and reads f at three points before the
// present one: particles that lost these at resampling gave other estimates.
func TestFilterKeepsThePast(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	estimates := func(steps int, l adams.Linearization) []float64 {
		p := linear()
		// All data are at grid points: interpolation would go by the order.
		p.Method, p.Mesh = adams.Moulton{Steps: steps, Linearize: l}, probode.Uniform(0.01)
		p.Alpha = 6 * math.Pow(p.StepSize(), -float64(2*steps+1)) // noise as large as the errors of the data
		e, err := bayes.NewDensity(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		k := PseudoMarginal{Particles: 20}.Algorithm().Kernel(e, mcmc.AdaptiveMetropolis{}, 0).(*pseudoMarginal)
		k.source.Seed(1, 2)
		var out []float64
		for range 10 {
			ll, err := k.like([]float64{0.6, 1.8}, nil)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, ll)
		}
		return out
	}
	for _, steps := range []int{2, 3, 4} {
		want := estimates(steps, adams.Newton)
		for i, got := range estimates(steps, adams.Current) {
			if math.Abs(got-want[i]) > 1e-6*(1+math.Abs(want[i])) { // Newton's tolerance is 1e-9 a step
				t.Errorf("AM%d: log p̂ = %.6f, by Newton %.6f", steps, got, want[i])
			}
		}
	}
}
