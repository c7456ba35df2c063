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

// An Agreement compares the log posterior densities that another program wrote with those of
// a Posterior. If the two programs have the same model, the difference is the same at all
// draws.
type Agreement struct {
	Draws int // draws that were compared

	// Spread is the standard deviation of the difference over the draws, and Rest is what
	// remains of it after the terms in Terms were subtracted.
	Spread, Rest float64

	// Terms explain the difference, the most important first. Terms is empty if no function of
	// one parameter explains most of the variance. A Jacobian or a prior is found even if it
	// hardly varies over the draws.
	Terms []AgreementTerm
}

// An AgreementTerm is Factor times a function of one parameter.
type AgreementTerm struct {
	Param    string
	Function AgreementFunction
	Factor   float64
}

// An AgreementFunction is a function of one parameter θ.
type AgreementFunction int

const (
	// LogJacobian is log |dθ/du|, where u is the unconstrained parameter. Its factor is −1 if
	// the other density is one of θ and not of u, and 1 if the Jacobian was added twice.
	LogJacobian AgreementFunction = iota
	// LogPrior is the log prior density of θ. Its factor is −1 if the other program lacks the
	// prior, and 1 if it has the prior twice.
	LogPrior
	// Logarithm is log |θ|. In a scale of measurement errors it is a normalising constant
	// that is missing, or that is there twice.
	Logarithm
	// Linear is θ, and Square is θ².
	Linear
	Square
)

const (
	agrees   = 0.05 // standard deviation of a difference that changes no weight by much
	rounded  = 1e-4 // that of numbers with six digits, at least
	compared = 200  // draws
)

// Same reports whether the two models seem to be the same: whether Spread is at most 0.05, and
// nothing explains it. Most programs write six digits, so the difference need not be zero.
func (a *Agreement) Same() bool { return a.Spread <= agrees && a.Terms == nil }

func (a *Agreement) String() string {
	if a.Same() {
		return fmt.Sprintf("the models agree: the difference of the log posteriors is constant up to %.2g (sd at %d draws)", a.Spread, a.Draws)
	}
	var words []string
	for _, t := range a.Terms {
		words = append(words, t.String())
	}
	s := fmt.Sprintf("the models differ: the difference of the log posteriors varies by %.2g (sd at %d draws)", a.Spread, a.Draws)
	switch {
	case words == nil:
		return s + ", and no function of one parameter explains it"
	case a.Rest <= agrees:
		return s + ", because lp__ " + strings.Join(words, ", and ")
	}
	return fmt.Sprintf("%s: %.0f %% of the variance is explained if lp__ %s", s, 100*(1-a.Rest*a.Rest/(a.Spread*a.Spread)), strings.Join(words, ", and "))
}

func (t AgreementTerm) String() string {
	if t.Function <= LogPrior {
		what := [...]string{"Jacobian", "prior"}[t.Function]
		if t.Factor < 0 {
			return fmt.Sprintf("lacks the %s of %s", what, t.Param)
		}
		return fmt.Sprintf("has the %s of %s twice", what, t.Param)
	}
	of := [...]string{Logarithm: "log %s", Linear: "%s", Square: "%s²"}[t.Function]
	return fmt.Sprintf("has %.3g "+of+" more", t.Factor, t.Param)
}

// CompareDensities compares the quantity lp__ of the draws with the log posterior density of
// p, solved by setup, at up to 200 draws that are spread over the chains. Like Stan's lp__, the
// density is that of the unconstrained parameters.
func CompareDensities(ctx context.Context, p *bayes.Posterior, draws *mcmc.Chains, setup probode.Setup, workers int) (*Agreement, error) {
	lp := slices.Index(draws.Quantities, "lp__")
	if lp < 0 {
		return nil, errors.New("assess: the draws have no lp__")
	}
	bound, err := bayes.NewDensity(ctx, p.SolvedBy(setup))
	if err != nil {
		return nil, err
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
		return nil, err
	}
	var difference []float64
	var rows [][]float64
	for i, c := range candidates {
		if d := theirs[i*len(all)/n][lp] - own[i]; !math.IsNaN(d) && !math.IsInf(d, 0) {
			difference, rows = append(difference, d), append(rows, c)
		}
	}
	if len(difference) < 2 {
		return nil, errors.New("assess: lp__ and the log posterior are finite at fewer than two draws")
	}
	return explain(difference, rows, p.Names()), nil
}

// explain finds, one after another, the functions of one parameter that explain most of the
// difference. candidates[i] holds five functions of each parameter at draw i. A Jacobian or a
// prior is lacking or there twice, so its factor is −1 or 1. A function whose factor is free
// must explain clearly more than those.
func explain(difference []float64, candidates [][]float64, names []string) *Agreement {
	const clearly = 0.8 // times the standard deviation that a Jacobian or a prior leaves
	n, kinds := len(difference), int(Square)+1
	a := &Agreement{Draws: n, Spread: stat.PopStdDev(difference, nil)}
	a.Rest = a.Spread
	left := slices.Clone(difference) // without the terms with fixed factors
	var fixed, free []AgreementTerm
	var columns []int // of the terms in free
	for a.Rest > rounded && len(a.Terms) < min(2*len(names), n/10) {
		rest, add := a.Rest/math.Sqrt2, func() {}
		for c := range len(names) * kinds {
			term := AgreementTerm{Param: names[c/kinds], Function: AgreementFunction(c % kinds)}
			if term.Function > LogPrior {
				if a.Rest <= agrees {
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
				term := AgreementTerm{term.Param, term.Function, factor}
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
		a.Rest, _ = regress(left, candidates, columns, factors)
		for i, f := range factors {
			free[i].Factor = f
		}
		a.Terms = slices.Concat(fixed, free)
	}
	// The Jacobian of a positive parameter is its logarithm, which may have been found first.
	for i, t := range a.Terms {
		sign := math.Copysign(1, t.Factor)
		if t.Function != Logarithm || math.Abs(t.Factor-sign) > 0.02 {
			continue
		}
		k := kinds * slices.Index(names, t.Param)
		constant := candidates[0][k] - candidates[0][k+int(Logarithm)]
		if !slices.ContainsFunc(candidates, func(c []float64) bool {
			return math.Abs(c[k]-c[k+int(Logarithm)]-constant) > 1e-9*(1+math.Abs(constant))
		}) {
			a.Terms[i] = AgreementTerm{t.Param, LogJacobian, sign}
		}
	}
	return a
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
