package probode

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/internal/moments"
)

// How α* is found. A scan over many decades with few paths finds its
// neighbourhood. There all paths are solved at three values of log α, and the
// variances in between are interpolated: their logarithms are nearly straight
// lines in log α, of slope one as long as the noise is small. The maximum of
// the score with these variances needs no further paths.

// A scan is the score on a grid of log α, from few paths.
type scan struct {
	curve []ScorePoint
	best  int
	width float64 // of the grid, in log α
}

// pilot is the number of paths of a scan.
func (c *calibrator) pilot() int { return max(4, min(100, c.s.Paths/10)) }

// scan takes the score over the bracket, and beyond it if it may grow.
func (c *calibrator) scan(ctx context.Context, grow bool) (*scan, error) {
	const perDecade, later = 3, 6
	lo, hi := math.Log(c.s.Bracket[0]), math.Log(c.s.Bracket[1])
	n := max(2, int(math.Ceil((hi-lo)/math.Ln10*perDecade)))
	c.total = n + 1 + later
	s := &scan{width: (hi - lo) / float64(n)}
	point := func(i int) (ScorePoint, float64, error) {
		a := math.Exp(lo + (hi-lo)*float64(i)/float64(n))
		if i == 0 || i == n {
			a = c.s.Bracket[min(i, 1)] // not off by a rounding
		}
		e, err := c.evaluate(ctx, a, c.pilot())
		return ScorePoint{a, e.score}, e.width, err
	}
	var low, high float64
	for i := range n + 1 {
		p, width, err := point(i)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			low = width
		}
		high = width
		if s.curve = append(s.curve, p); p.Score > s.curve[s.best].Score {
			s.best = i
		}
	}
	if !grow {
		return s, nil
	}
	// The width tells on which side the maximum lies even where the score
	// does not: where the noise is lost in the rounding of the path, or no
	// path can be solved.
	const most = 94 * perDecade // to 1e100, and 1e-100
	for i := n + 1; i <= n+most && (high < 0 || s.best == len(s.curve)-1); i++ {
		c.total++
		p, width, err := point(i)
		if err != nil {
			return nil, err
		}
		high = width
		if s.curve = append(s.curve, p); p.Score > s.curve[s.best].Score {
			s.best = i
		}
	}
	for i := -1; i >= -most && (low > 0 || s.best == 0); i-- {
		c.total++
		p, width, err := point(i)
		if err != nil {
			return nil, err
		}
		low = width
		s.curve = slices.Insert(s.curve, 0, p)
		if s.best++; p.Score >= s.curve[s.best].Score {
			s.best = 0
		}
	}
	return s, nil
}

// refine returns log α* from all paths and its standard error, which is NaN
// where a path cannot be solved close by.
func (c *calibrator) refine(ctx context.Context, s *scan) (x, se float64, err error) {
	const delta = 0.2 // in log α: small against the width of the maximum
	x = math.Log(s.curve[s.best].Alpha)
	x += vertex(s.width, s.curve[s.best-1].Score, s.curve[s.best].Score, s.curve[s.best+1].Score)
	mid, err := c.evaluate(ctx, math.Exp(x), c.s.Paths)
	if err != nil {
		return 0, 0, err
	}
	if mid.ok { // as if the variances were proportional to α
		shift := c.maximum(1.5, func(v []float64, at float64) {
			for k := range v {
				v[k] = mid.logv[k] + at
			}
		})
		const rounds = 5
		for round := range rounds {
			if round > 0 || math.Abs(shift) > delta/2 {
				x += shift
				if mid, err = c.evaluate(ctx, math.Exp(x), c.s.Paths); err != nil {
					return 0, 0, err
				}
			}
			var side [2]evaluation
			for j := range side {
				if side[j], err = c.evaluate(ctx, math.Exp(x+delta*float64(2*j-1)), c.s.Paths); err != nil {
					return 0, 0, err
				}
			}
			if !mid.ok || !side[0].ok || !side[1].ok {
				break
			}
			shift = c.maximum(4*delta, func(v []float64, at float64) {
				u := at / delta
				for k, m := range mid.logv {
					l, r := side[0].logv[k], side[1].logv[k]
					v[k] = m + u*(r-l)/2 + u*u*(r-2*m+l)/2
				}
			})
			if math.Abs(shift) <= delta || round == rounds-1 {
				return x + shift, jackknife(delta, side[0].without, mid.without, side[1].without), nil
			}
		}
	}
	x, err = c.cutOff(ctx, s)
	return x, math.NaN(), err
}

// cutOff returns the log α of the largest score of all paths where some α close
// by has a path that cannot be solved.
func (c *calibrator) cutOff(ctx context.Context, s *scan) (float64, error) {
	var failed error
	f := func(x float64) float64 {
		e, err := c.evaluate(ctx, math.Exp(x), c.s.Paths)
		if err != nil {
			failed = err
		}
		return -e.score
	}
	for best := s.best; best >= 0 && failed == nil; best-- {
		if at := math.Log(s.curve[best].Alpha); !math.IsInf(f(at), 1) {
			x := minimize(f, at-s.width, at, at+s.width, 1e-2, 8)
			return x, failed
		}
	}
	if failed == nil {
		failed = fmt.Errorf("%s, %v, %v: no alpha from %.3g on has an ensemble in which all paths can be solved", c.solver.p.title(), c.solver.m, c.solver.g, s.curve[0].Alpha)
	}
	return 0, failed
}

// maximum returns where in [−reach, reach] the score is largest, if the
// logarithms of the variances at a place are what set writes.
func (c *calibrator) maximum(reach float64, set func(logv []float64, at float64)) float64 {
	v := make([]float64, len(c.used))
	return minimize(func(at float64) float64 {
		set(v, at)
		score, _ := c.match(v)
		return -score
	}, -reach, 0, reach, 1e-5, 60)
}

// jackknife returns the standard error of log α* from the scores, at three
// places delta apart, of ensembles with one group of paths left out. Each is a
// parabola near α*.
func jackknife(delta float64, left, mid, right []float64) float64 {
	x := moments.NewVector(1)
	for g := range mid {
		x.Add([]float64{vertex(delta, left[g], mid[g], right[g])})
	}
	n := float64(x.N)
	return math.Sqrt((n - 1) / n * x.M2[0])
}

// vertex returns where the parabola with the values l, m, r at −h, 0, h has its
// vertex; it is 0 where they are not finite.
func vertex(h, l, m, r float64) float64 {
	if v := h / 2 * (l - r) / (l - 2*m + r); !math.IsNaN(v) && !math.IsInf(v, 0) {
		return v
	}
	return 0
}

// minimize returns the minimum of f in (a, c) by Brent's method, golden
// section with parabolic steps [Brent 1973, §5.8], to within tol, given a
// point b between whose value is lower than those at a and c. gonum/optimize
// has no scalar method without derivatives.
func minimize(f func(float64) float64, a, b, c, tol float64, most int) float64 {
	const golden = 0.3819660112501051
	x, w, v := b, b, b
	fx := f(b)
	fw, fv := fx, fx
	var step, before float64
	for range most {
		mid := (a + c) / 2
		if math.Abs(x-mid) <= 2*tol-(c-a)/2 {
			break
		}
		parabola := false
		if math.Abs(before) > tol {
			r := (x - w) * (fx - fv)
			q := (x - v) * (fx - fw)
			p := (x-v)*q - (x-w)*r
			q = 2 * (q - r)
			if q > 0 {
				p = -p
			}
			q = math.Abs(q)
			if math.Abs(p) < math.Abs(q*before/2) && p > q*(a-x) && p < q*(c-x) {
				before, step = step, p/q
				parabola = true
				if u := x + step; u-a < 2*tol || c-u < 2*tol {
					step = math.Copysign(tol, mid-x)
				}
			}
		}
		if !parabola {
			before = c - x
			if x >= mid {
				before = a - x
			}
			step = golden * before
		}
		u := x + step
		if math.Abs(step) < tol {
			u = x + math.Copysign(tol, step)
		}
		fu := f(u)
		if fu <= fx {
			if u < x {
				c = x
			} else {
				a = x
			}
			v, fv, w, fw, x, fx = w, fw, x, fx, u, fu
			continue
		}
		if u < x {
			a = u
		} else {
			c = u
		}
		if fu <= fw || w == x {
			v, fv, w, fw = w, fw, u, fu
		} else if fu <= fv || v == x || v == w {
			v, fv = u, fu
		}
	}
	return x
}
