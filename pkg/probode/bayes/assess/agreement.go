package assess

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/internal/pieces"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// An agreement compares the log posterior densities that another program wrote with those of
// a Posterior. If the two programs have the same model, the difference is the same at all
// draws.
type agreement struct {
	draws int // draws that were compared

	// spread is the standard deviation of the difference over the draws, and rest is what
	// remains of it after the terms were subtracted.
	spread, rest float64

	// The terms explain the difference, the most important first. A Jacobian or a prior is
	// found even if it hardly varies over the draws. If the terms do not explain the whole
	// difference, there are none, and the difference depends on the parameters in by: their
	// quadratic functions and logarithms explain most of it.
	terms []agreementTerm
	by    []string
}

// An agreementTerm is a factor times a function of one parameter.
type agreementTerm struct {
	param    string
	function agreementFunction
	factor   float64
}

// An agreementFunction is a function of one parameter θ.
type agreementFunction int

const (
	// logJacobian is log |dθ/du|, where u is the unconstrained parameter. Its factor is −1 if
	// the other density is one of θ and not of u, and 1 if the Jacobian was added twice.
	logJacobian agreementFunction = iota
	// logPrior is the log prior density of θ. Its factor is −1 if the other program lacks the
	// prior, and 1 if it has the prior twice.
	logPrior
	// logarithm is log |θ|. In a scale of measurement errors it is a normalising constant
	// that is missing, or that is there twice.
	logarithm
	// linear is θ, and square is θ².
	linear
	square
)

const (
	agrees   = 0.05 // standard deviation of a difference that changes no weight by much
	rounded  = 1e-4 // that of numbers with six digits, at least
	compared = 200  // draws
)

// same reports whether the two models seem to be the same: whether the spread is at most 0.05,
// and nothing explains it. Most programs write six digits, so the difference need not be zero.
func (a *agreement) same() bool { return a.spread <= agrees && a.terms == nil }

func (a *agreement) String() string {
	if a.same() {
		return fmt.Sprintf("the models agree: the difference of the log posteriors is constant up to %.2g (sd at %d draws)", a.spread, a.draws)
	}
	var words []string
	for _, t := range a.terms {
		words = append(words, t.String())
	}
	s := fmt.Sprintf("the models differ: the difference of the log posteriors varies by %.2g (sd at %d draws)", a.spread, a.draws)
	switch {
	case words != nil:
		return s + ", because lp__ " + strings.Join(words, ", and ")
	case a.by == nil:
		return s + ", and no function of one parameter explains it"
	}
	return fmt.Sprintf("%s: functions of %s explain %.0f %% of the variance; compare the priors and bounds",
		s, strings.Join(a.by, ", "), math.Floor(100*(1-a.rest*a.rest/(a.spread*a.spread))))
}

func (t agreementTerm) String() string {
	if t.function <= logPrior {
		what := [...]string{"Jacobian", "prior"}[t.function]
		if t.factor < 0 {
			return fmt.Sprintf("lacks the %s of %s", what, t.param)
		}
		return fmt.Sprintf("has the %s of %s twice", what, t.param)
	}
	of := [...]string{logarithm: "log %s", linear: "%s", square: "%s²"}[t.function]
	return fmt.Sprintf("has %.3g "+of+" more", t.factor, t.param)
}

// CompareDensities says whether the quantity lp__ of the draws is the log posterior density of
// p, solved by setup, at up to 200 draws that are spread over the chains. Like Stan's lp__, the
// density is that of the unconstrained parameters.
func CompareDensities(ctx context.Context, p *bayes.Posterior, draws *mcmc.Chains, setup probode.Setup, workers int) (string, error) {
	lp := slices.Index(draws.Quantities, "lp__")
	if lp < 0 {
		return "", errors.New("assess: the draws have no lp__")
	}
	bound, err := bayes.NewDensity(ctx, p.SolvedBy(setup))
	if err != nil {
		return "", err
	}
	all, theirs := draws.Pooled(), slices.Concat(draws.Generated...)
	n := min(compared, len(all))
	own, candidates := make([]float64, n), make([][]float64, n)
	if _, err := pieces.Each(ctx, workers, n, nil, func() func(int) error {
		e := bound.Clone()
		e.Bind(ctx)
		u, slopes := make([]float64, e.Dim()), make([]float64, e.Dim())
		return func(i int) error {
			theta := all[i*len(all)/n]
			own[i] = math.NaN()
			if e.Unconstrain(u, theta) != nil {
				return nil
			}
			v, err := e.LogPosterior(u, nil)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				return nil
			}
			own[i] = v
			e.Slopes(slopes, u)
			for k, x := range theta {
				candidates[i] = append(candidates[i], math.Log(math.Abs(slopes[k])), p.Params[k].Prior.LogProb(x), math.Log(math.Abs(x)), x, x*x)
			}
			return nil
		}
	}); err != nil {
		return "", err
	}
	var difference []float64
	var rows [][]float64
	for i, c := range candidates {
		if d := theirs[i*len(all)/n][lp] - own[i]; !math.IsNaN(d) && !math.IsInf(d, 0) {
			difference, rows = append(difference, d), append(rows, c)
		}
	}
	if len(difference) < 2 {
		return "", errors.New("assess: lp__ and the log posterior are finite at fewer than two draws")
	}
	return explain(difference, rows, p.Names()).String(), nil
}

// explain finds, one after another, the functions of one parameter that explain most of the
// difference. candidates[i] holds five functions of each parameter at draw i. A Jacobian or a
// prior is lacking or there twice, so its factor is −1 or 1. A function whose factor is free
// must explain clearly more than those.
func explain(difference []float64, candidates [][]float64, names []string) *agreement {
	const clearly = 0.8 // times the standard deviation that a Jacobian or a prior leaves
	n, kinds := len(difference), int(square)+1
	a := &agreement{draws: n, spread: stat.PopStdDev(difference, nil)}
	a.rest = a.spread
	left := slices.Clone(difference) // without the terms with fixed factors
	var fixed, free []agreementTerm
	var columns []int // of the terms in free
	for a.rest > rounded && len(a.terms) < min(2*len(names), n/10) {
		rest, add := a.rest/math.Sqrt2, func() {}
		for c := range len(names) * kinds {
			term := agreementTerm{param: names[c/kinds], function: agreementFunction(c % kinds)}
			if term.function > logPrior {
				if a.rest <= agrees {
					continue // the errors of two solvers may differ by such a function
				}
				if with := append(slices.Clone(columns), c); !slices.Contains(columns, c) {
					if r, ok := regress(left, candidates, with, nil); ok && r < clearly*rest {
						rest, add = r/clearly, func() { free, columns = append(free, term), with }
					}
				}
				continue
			}
			for _, factor := range []float64{-1, 1} {
				term := agreementTerm{term.param, term.function, factor}
				y := slices.Clone(left)
				for i := range y {
					y[i] -= factor * candidates[i][c]
				}
				if r, ok := regress(y, candidates, columns, nil); ok && r < rest {
					rest, add = r, func() { fixed, left = append(fixed, term), y }
				}
			}
		}
		terms := len(fixed) + len(free)
		if add(); len(fixed)+len(free) == terms {
			break
		}
		factors := make([]float64, len(columns))
		a.rest, _ = regress(left, candidates, columns, factors)
		for i, f := range factors {
			free[i].factor = f
		}
		a.terms = slices.Concat(fixed, free)
	}
	if a.rest > agrees {
		a.terms, a.rest = nil, a.spread
		a.blame(difference, candidates, names)
		return a
	}
	// The Jacobian of a positive parameter is its logarithm, which may have been found first.
	for i, t := range a.terms {
		sign := math.Copysign(1, t.factor)
		if t.function != logarithm || math.Abs(t.factor-sign) > 0.02 {
			continue
		}
		k := kinds * slices.Index(names, t.param)
		constant := candidates[0][k] - candidates[0][k+int(logarithm)]
		if !slices.ContainsFunc(candidates, func(c []float64) bool {
			return math.Abs(c[k]-c[k+int(logarithm)]-constant) > 1e-9*(1+math.Abs(constant))
		}) {
			a.terms[i] = agreementTerm{t.param, logJacobian, sign}
		}
	}
	return a
}

// blame finds, one after another, the parameters of which functions (log |θ|, θ and θ²) explain
// most of the difference.
func (a *agreement) blame(difference []float64, candidates [][]float64, names []string) {
	kinds := int(square) + 1
	var columns []int
	for a.rest > agrees && len(columns) < len(difference)/10 {
		rest, best := a.rest/math.Sqrt2, -1
		with := func(k int) []int {
			return append(slices.Clone(columns), kinds*k+int(logarithm), kinds*k+int(linear), kinds*k+int(square))
		}
		for k, name := range names {
			if slices.Contains(a.by, name) {
				continue
			}
			if r, ok := regress(difference, candidates, with(k), nil); ok && r < rest {
				rest, best = r, k
			}
		}
		if best < 0 {
			return
		}
		a.by, a.rest, columns = append(a.by, names[best]), rest, with(best)
	}
}

// regress fits a constant and the chosen columns to y by least squares, and returns the
// standard deviation of the residuals. If factors is not nil, it receives the factors.
func regress(y []float64, columns [][]float64, chosen []int, factors []float64) (rest float64, ok bool) {
	a := mat.NewDense(len(y), len(chosen)+1, nil)
	for i, row := range columns {
		a.Set(i, 0, 1)
		for j, c := range chosen {
			a.Set(i, j+1, row[c])
		}
	}
	if floats.HasNaN(y) || floats.HasNaN(a.RawMatrix().Data) || math.IsInf(mat.Norm(a, 1), 0) {
		return 0, false // log |θ| of a draw of 0, for example
	}
	var x, fit mat.VecDense
	if err := x.SolveVec(a, mat.NewVecDense(len(y), y)); err != nil {
		return 0, false
	}
	fit.MulVec(a, &x)
	copy(factors, x.RawVector().Data[1:])
	return stat.PopStdDev(floats.SubTo(make([]float64, len(y)), y, fit.RawVector().Data), nil), true
}
