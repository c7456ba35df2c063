package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// A quadrature computes quantiles of a posterior. The scores y of the parameters, which are
// Gaussian under the prior, are y = m + Cz with z = tan(π(v − ½)), and v lies in the unit
// cube, which is divided into cells. The division goes from the prior to the posterior through
// powers β of the density, each twice the one before, and halves each cell that holds
// more than 1/cells of the mass. So it finds a narrow mode of which a cell has seen only the
// slope. Then independent sets of points, stratified by the cells, give the quantiles and
// their errors. It begins with m = 0 and C = I; twice as many cells follow, with the mean and
// the covariance that were found, until the errors are small and two divisions agree.
type quadrature struct {
	quantiles []func(u float64) float64 // of the priors
	logL      func(theta []float64) float64
	cells     int
	goal      float64 // error of a quantile in standard deviations
	most      int     // evaluations
	seed      uint64

	rng   *rand.Rand
	mean  []float64
	chol  mat.TriDense // C
	list  []*cell
	calls int
}

const (
	inCell     = 8 // least number of points
	replicates = 8
)

type cell struct {
	lo, hi []float64
	points []*point
}

// A margin describes the distribution of a parameter.
type margin struct {
	at     [3]float64 // the quantiles of the probabilities tails
	below  [3]float64 // the computed probabilities below them
	errors [3]float64 // standard errors of these probabilities
	shift  float64    // largest standard error of a quantile, in sd
	sd     float64    // of the Gaussian distribution with the same outer quantiles
}

var tails = [3]float64{0.05, 0.5, 0.95}

// A point is a point in the cube with its scores, parameters and log density.
type point struct {
	v, y, theta []float64
	log         float64
}

func (q *quadrature) draw(c *cell) *point {
	q.calls++
	d := len(c.lo)
	p := &point{v: make([]float64, d), y: slices.Clone(q.mean), theta: make([]float64, d)}
	for j := range d {
		p.v[j] = c.lo[j] + (c.hi[j]-c.lo[j])*q.rng.Float64()
		z := math.Tan(math.Pi * (p.v[j] - 0.5))
		p.log += math.Log1p(z * z)
		for i := j; i < d; i++ {
			p.y[i] += q.chol.At(i, j) * z
		}
	}
	for i, y := range p.y {
		p.log -= y * y / 2
		p.theta[i] = q.quantiles[i](math.Erfc(-y/math.Sqrt2) / 2)
	}
	if p.log += q.logL(p.theta); math.IsNaN(p.log) {
		p.log = math.Inf(-1)
	}
	return p
}

// fill draws points until c has enough of them.
func (q *quadrature) fill(c *cell) *cell {
	for len(c.points) < inCell {
		c.points = append(c.points, q.draw(c))
	}
	return c
}

// size returns the logarithm of the volume times the root of the mean square of the density to
// the power β.
func (c *cell) size(beta float64) float64 {
	return c.logVolume() + logMean(c.points, 2*beta)/2
}

func (c *cell) logVolume() (v float64) {
	for i := range c.lo {
		v += math.Log(c.hi[i] - c.lo[i])
	}
	return v
}

// logMean returns the logarithm of the mean of the density to the power β.
func logMean(points []*point, beta float64) float64 {
	if beta == 0 {
		return 0
	}
	most, sum := math.Inf(-1), 0.0
	for _, p := range points {
		most = max(most, p.log)
	}
	if math.IsInf(most, -1) {
		return most
	}
	for _, p := range points {
		sum += math.Exp(beta * (p.log - most))
	}
	return beta*most + math.Log(sum/float64(len(points)))
}

// halves cuts c where the density to the power β changes most between the halves, or, if
// it changes little, across the longest edge. It returns nil if c is too small for that.
func (q *quadrature) halves(c *cell, beta float64) []*cell {
	var best []*cell
	most := math.Inf(-1)
	for i := range c.lo {
		if !(c.hi[i]-c.lo[i] > 1e-14) {
			continue
		}
		middle := (c.lo[i] + c.hi[i]) / 2
		a, b := &cell{lo: c.lo, hi: slices.Clone(c.hi)}, &cell{lo: slices.Clone(c.lo), hi: c.hi}
		a.hi[i], b.lo[i] = middle, middle
		for _, p := range c.points {
			if p.v[i] < middle {
				a.points = append(a.points, p)
			} else {
				b.points = append(b.points, p)
			}
		}
		change := 0.0
		if a.points != nil && b.points != nil {
			if change = math.Abs(logMean(a.points, beta) - logMean(b.points, beta)); !(change < 3) {
				change = 3 // also where one is −∞
			}
		}
		if v := change + math.Log2(c.hi[i]-c.lo[i])/2 + q.rng.Float64()/10; v > most {
			most, best = v, []*cell{a, b}
		}
	}
	for _, c := range best {
		q.fill(c)
	}
	return best
}

// refine halves cells until each is smaller than 1/cells of the sum, and reports whether it
// has halved one.
func (q *quadrature) refine(beta float64) bool {
	all := q.total(beta)
	n := len(q.list)
	var small []*cell
	for len(q.list) > 0 && q.calls < q.most {
		last := len(q.list) - 1
		c := q.list[last]
		q.list = q.list[:last]
		if c.size(beta)-all > -math.Log(float64(q.cells)) {
			if two := q.halves(c, beta); two != nil {
				q.list = append(q.list, two...)
				continue
			}
		}
		small = append(small, c)
	}
	q.list = append(small, q.list...)
	return len(q.list) > n
}

// total returns the logarithm of the sum of the sizes.
func (q *quadrature) total(beta float64) float64 {
	sizes := make([]*point, len(q.list))
	for i, c := range q.list {
		sizes[i] = &point{log: c.size(beta)}
	}
	return logMean(sizes, 1) + math.Log(float64(len(sizes)))
}

// run returns the margins. Either the error of a quantile is at most the goal, or that of
// its probability a quarter of it, which counts where the density is zero around a median.
func (q *quadrature) run() ([]margin, error) {
	d := len(q.quantiles)
	q.rng, q.calls, q.mean, q.chol = rand.New(rand.NewPCG(q.seed, 0)), 0, make([]float64, d), *mat.NewTriDense(d, mat.Lower, nil)
	for i := range d {
		q.chol.SetTri(i, i, 1)
	}
	var last []margin
	for ; ; q.cells *= 2 {
		if err := q.divide(); err != nil {
			return nil, err
		}
		list := q.margins()
		worst := 0.0
		for k, m := range list {
			worst = max(worst, min(m.shift, 4*slices.Max(m.errors[:])))
			for j := range tails {
				// Replicates share what the cells have missed, so the last cells must agree.
				if last == nil || math.Abs(m.at[j]-last[k].at[j]) > 4*q.goal*m.sd {
					worst = max(worst, 2*q.goal)
				}
			}
		}
		last = list
		switch {
		case worst < q.goal:
			return list, nil
		case q.calls > q.most:
			return list, fmt.Errorf("the error is %.3f sd after %d evaluations", worst, q.calls)
		}
	}
}

// divide makes the cells.
func (q *quadrature) divide() error {
	d := len(q.quantiles)
	whole := &cell{lo: make([]float64, d), hi: make([]float64, d)}
	for i := range whole.hi {
		whole.hi[i] = 1
	}
	q.list = []*cell{q.fill(whole)}
	q.refine(0)
	var finite []float64
	for _, c := range q.list {
		for _, p := range c.points {
			if !math.IsInf(p.log, -1) {
				finite = append(finite, p.log)
			}
		}
	}
	if finite == nil {
		return errors.New("the likelihood is zero everywhere")
	}
	slices.Sort(finite)
	for beta := min(1, 1/(finite[len(finite)-1]-finite[len(finite)/10])); beta < 1; beta *= 2 {
		q.refine(beta)
	}
	for q.refine(1) && q.calls < q.most {
	}
	return nil
}

type weighted struct{ x, w float64 }

// margins draws about six points for each cell in each replicate, and computes their mean and covariance.
func (q *quadrature) margins() []margin {
	d, all := len(q.quantiles), q.total(1)
	most := math.Inf(-1)
	for _, c := range q.list {
		for _, p := range c.points {
			most = max(most, p.log)
		}
	}
	sets := make([][replicates][]weighted, d)
	pooled := make([][]weighted, d)
	var scores, weights []float64
	for r := range replicates {
		for _, c := range q.list {
			// Small cells have a point in some replicates only.
			expected := 6*float64(q.cells)*math.Exp(c.size(1)-all) + 0.1
			for range int(expected + q.rng.Float64()) {
				p := q.draw(c)
				w := math.Exp(c.logVolume()+p.log-most) / expected
				if w == 0 {
					continue
				}
				scores, weights = append(scores, p.y...), append(weights, w)
				for i, x := range p.theta {
					sets[i][r] = append(sets[i][r], weighted{x, w})
				}
			}
		}
		for i := range d {
			pooled[i] = append(pooled[i], sets[i][r]...)
		}
	}
	floats.Scale(float64(len(weights))/floats.Sum(weights), weights)
	y := mat.NewDense(len(weights), d, scores)
	var cov mat.SymDense
	stat.CovarianceMatrix(&cov, y, weights)
	for i := range d {
		q.mean[i] = stat.Mean(mat.Col(nil, i, y), weights)
	}
	var chol mat.Cholesky
	if chol.Factorize(&cov) {
		chol.LTo(&q.chol)
	}
	list := make([]margin, d)
	for i := range list {
		m := &list[i]
		var at [3][replicates]float64
		for j, p := range tails {
			m.at[j] = quantileOf(pooled[i], p)
			var below [replicates]float64
			for r, set := range sets[i] {
				at[j][r] = quantileOf(set, p)
				below[r] = shareBelow(set, m.at[j])
			}
			m.below[j], m.errors[j] = meanAndError(below[:])
		}
		m.sd = (m.at[2] - m.at[0]) / (2 * 1.6448536)
		for j := range tails {
			_, e := meanAndError(at[j][:])
			m.shift = max(m.shift, e/m.sd)
		}
	}
	return list
}

// quantileOf sorts the set, and returns a quantile of it.
func quantileOf(set []weighted, p float64) float64 {
	slices.SortFunc(set, func(a, b weighted) int { return cmp.Compare(a.x, b.x) })
	all, sum := 0.0, 0.0
	for _, v := range set {
		all += v.w
	}
	for _, v := range set {
		if sum += v.w; sum >= p*all {
			return v.x
		}
	}
	return math.NaN()
}

func shareBelow(set []weighted, x float64) float64 {
	all, sum := 0.0, 0.0
	for _, v := range set {
		if all += v.w; v.x <= x {
			sum += v.w
		}
	}
	return sum / all
}

// meanAndError returns the mean of independent values and its standard error.
func meanAndError(x []float64) (mean, err float64) {
	n := float64(len(x))
	for _, v := range x {
		mean += v / n
	}
	for _, v := range x {
		err += (v - mean) * (v - mean) / (n * (n - 1))
	}
	return mean, math.Sqrt(err)
}

// A narrow ridge in four dimensions, and two peaks that are 10⁻⁶ wide and hold 30 and 70 % of
// the mass. The closed form gives the quantiles of the first parameter. Each probability below
// them lies within six standard errors by eight replicates: a false alarm in 3e-3.
func TestQuadrature(t *testing.T) {
	normal := func(x, m, s float64) float64 { return -(x-m)*(x-m)/(2*s*s) - math.Log(s) }
	for name, test := range map[string]struct {
		logL func(x []float64) float64
		d    int
		at   [3]float64
	}{
		"peaks": {func(x []float64) float64 {
			a, b := math.Log(0.3)+normal(x[0], 0.123456, 1e-6), math.Log(0.7)+normal(x[0], 0.87, 1e-6)
			return max(a, b) + math.Log1p(math.Exp(-math.Abs(a-b)))
		}, 1, [3]float64{0.123456 - 0.9674216e-6, 0.87 - 0.5659488e-6, 0.87 + 1.4652338e-6}},
		"ridge": {func(x []float64) float64 {
			return normal(x[0], 0.5, 0.05) + normal(x[0]+x[1], 1, 1e-3) + normal(x[2]-x[3], 0, 1e-2)
		}, 4, [3]float64{0.5 - 0.08224268, 0.5, 0.5 + 0.08224268}},
	} {
		q := quadrature{logL: test.logL, cells: 512, goal: 0.01, most: 1e7, seed: 1}
		for range test.d {
			q.quantiles = append(q.quantiles, func(u float64) float64 { return u })
		}
		list, err := q.run()
		if err != nil {
			t.Fatal(name, err)
		}
		for j, at := range test.at {
			if m := list[0]; !(math.Abs(m.at[j]-at) < 6*m.shift*m.sd) {
				t.Errorf("%s: the %g-quantile is %.9g, want %.9g; %+v", name, tails[j], m.at[j], at, m)
			}
		}
	}
}
