package bayes

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Likelihood is the law of one observation y given the value m that the model
// expects for it. Observations are independent given the path and θ.
type Likelihood interface {
	// Own returns the numbers that the law has beside m, such as a standard
	// deviation: known ones and parameters of the model. Always the same.
	Own() []Value
	// LogProb returns the log density, or for counts the log probability, of
	// y given m, constants included; own holds the values of Own. It is −Inf
	// where y cannot be, and where m or own make no law.
	LogProb(y, m float64, own []float64) float64
	// Rand returns a draw of y given m, NaN where m makes no law.
	Rand(m float64, own []float64, rng *rand.Rand) float64
}

// checked is a Likelihood of this package, which can say what it wants.
type checked interface {
	check() error
	support() string
}

var (
	_ Likelihood = Gaussian{}
	_ Likelihood = LogNormal{}
	_ Likelihood = StudentT{}
	_ Likelihood = Poisson{}
	_ Likelihood = NegativeBinomial{}
)

// Gaussian is the Likelihood y ~ N(m, σ²).
type Gaussian struct {
	Sigma Value // standard deviation σ > 0, not the variance
}

const logSqrt2Pi = 0.91893853320467274178032973640561763986139747363778

// Own returns σ.
func (g Gaussian) Own() []Value { return []Value{g.Sigma} }

// LogProb returns log N(y; m, σ²).
func (Gaussian) LogProb(y, m float64, own []float64) float64 {
	if !(own[0] > 0) {
		return math.Inf(-1)
	}
	r := (y - m) / own[0]
	return -0.5*r*r - math.Log(own[0]) - logSqrt2Pi
}

// Rand returns a draw of N(m, σ²).
func (Gaussian) Rand(m float64, own []float64, rng *rand.Rand) float64 {
	return m + own[0]*rng.NormFloat64()
}

func (g Gaussian) check() error  { return positive("Gaussian: Sigma", g.Sigma) }
func (Gaussian) support() string { return "a finite number" }

// LogNormal is the Likelihood log y ~ N(log m, σ²): m is the median, and the
// errors are relative to it.
type LogNormal struct {
	Sigma Value // standard deviation σ > 0 of log y
}

// Own returns σ.
func (g LogNormal) Own() []Value { return []Value{g.Sigma} }

// LogProb returns the log density of y, which is −Inf for m ≤ 0.
func (LogNormal) LogProb(y, m float64, own []float64) float64 {
	if !(y > 0 && m > 0 && own[0] > 0) {
		return math.Inf(-1)
	}
	r := math.Log(y/m) / own[0]
	return -0.5*r*r - math.Log(own[0]*y) - logSqrt2Pi
}

// Rand returns a draw of y.
func (LogNormal) Rand(m float64, own []float64, rng *rand.Rand) float64 {
	if !(m > 0) {
		return math.NaN()
	}
	return m * math.Exp(own[0]*rng.NormFloat64())
}

func (g LogNormal) check() error  { return positive("LogNormal: Sigma", g.Sigma) }
func (LogNormal) support() string { return "a number > 0" }

// StudentT is the Likelihood (y − m)/σ ~ t_ν, for data with outliers.
type StudentT struct {
	Nu    Value // degrees of freedom ν > 0
	Sigma Value // scale σ > 0
}

// Own returns ν and σ.
func (s StudentT) Own() []Value { return []Value{s.Nu, s.Sigma} }

// LogProb returns the log density of y.
func (StudentT) LogProb(y, m float64, own []float64) float64 {
	if !(own[0] > 0 && own[1] > 0) {
		return math.Inf(-1)
	}
	return distuv.StudentsT{Mu: m, Sigma: own[1], Nu: own[0]}.LogProb(y)
}

// Rand returns a draw of y.
func (StudentT) Rand(m float64, own []float64, rng *rand.Rand) float64 {
	return distuv.StudentsT{Mu: m, Sigma: own[1], Nu: own[0], Src: rng}.Rand()
}

func (s StudentT) check() error {
	if err := positive("StudentT: Nu", s.Nu); err != nil {
		return err
	}
	return positive("StudentT: Sigma", s.Sigma)
}
func (StudentT) support() string { return "a finite number" }

// Poisson is the Likelihood of counts with mean and variance m.
type Poisson struct{}

// Own returns nothing.
func (Poisson) Own() []Value { return nil }

// LogProb returns the log probability of the count y, which is −Inf for m < 0.
func (Poisson) LogProb(y, m float64, _ []float64) float64 {
	switch {
	case !(y >= 0) || y != math.Trunc(y) || !(m >= 0):
		return math.Inf(-1)
	case m == 0 && y == 0:
		return 0
	case m == 0:
		return math.Inf(-1)
	}
	return distuv.Poisson{Lambda: m}.LogProb(y)
}

// Rand returns a draw of y.
func (Poisson) Rand(m float64, _ []float64, rng *rand.Rand) float64 {
	switch {
	case !(m >= 0):
		return math.NaN()
	case m == 0:
		return 0
	}
	return distuv.Poisson{Lambda: m, Src: rng}.Rand()
}

func (Poisson) check() error    { return nil }
func (Poisson) support() string { return "a count: 0, 1, 2, …" }

// NegativeBinomial is the Likelihood of counts with mean m that scatter more
// than Poisson's,
//
//	var y = m + m²/φ,
//
// in the parametrisation that Stan calls neg_binomial_2.
type NegativeBinomial struct {
	Phi Value // φ > 0; Poisson's law is the limit of large φ
}

// Own returns φ.
func (n NegativeBinomial) Own() []Value { return []Value{n.Phi} }

// LogProb returns the log probability of the count y, which is −Inf for m < 0:
//
//	log Γ(y+φ) − log Γ(φ) − log y! + φ log(φ/(φ+m)) + y log(m/(φ+m))
func (NegativeBinomial) LogProb(y, m float64, own []float64) float64 {
	phi := own[0]
	switch {
	case !(y >= 0) || y != math.Trunc(y) || !(m >= 0) || !(phi > 0):
		return math.Inf(-1)
	case m == 0 && y == 0:
		return 0
	case m == 0:
		return math.Inf(-1)
	}
	a, _ := math.Lgamma(y + phi)
	b, _ := math.Lgamma(phi)
	c, _ := math.Lgamma(y + 1)
	return a - b - c - phi*math.Log1p(m/phi) - y*math.Log1p(phi/m)
}

// Rand returns a draw of y: Poisson's of a mean that is gamma distributed.
func (NegativeBinomial) Rand(m float64, own []float64, rng *rand.Rand) float64 {
	switch {
	case !(m >= 0):
		return math.NaN()
	case m == 0:
		return 0
	}
	return Poisson{}.Rand(distuv.Gamma{Alpha: own[0], Beta: own[0] / m, Src: rng}.Rand(), nil, rng)
}

func (n NegativeBinomial) check() error  { return positive("NegativeBinomial: Phi", n.Phi) }
func (NegativeBinomial) support() string { return "a count: 0, 1, 2, …" }

// positive checks a value that is known; of a parameter LogProb sees to it.
func positive(what string, v Value) error {
	if v.Name == "" && (!(v.Value > 0) || math.IsInf(v.Value, 1)) {
		return fmt.Errorf("%s is %g: want a finite number > 0", what, v.Value)
	}
	return nil
}
