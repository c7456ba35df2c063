package calibrate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/internal/moments"
)

// The functions in this file find α*. First, a coarse scan over many orders of magnitude
// finds the neighbourhood of α*. This scan uses few paths for each α. Then all paths are
// computed at three values of α near α*, and the variances at other values of α are
// interpolated. As long as the noise is small, the logarithms of the variances are nearly
// linear in log α, with slope one. The interpolated variances suffice to find the maximum
// of the score: no further paths are computed.

// A scan has few paths at equally spaced log α. Point 0 has the least α that it begins with.
type scan struct {
	points      map[int]evaluation // score −Inf where a path failed
	best        int
	least, most int     // the first and the last point
	width       float64 // spacing in log α
}

const leastAlpha, mostAlpha, perDecade = 1e-6, 1e6, 3

func (s *scan) log(i int) float64 { return math.Log(leastAlpha) + s.width*float64(i) }

// scan goes from 1e-6 to 1e6, and on while the ensemble is too wide below or too narrow
// above: a change of units can change α* by many orders of magnitude. It takes one point in
// a decade, with a quarter of the paths, and climbs from the best to a point that is better
// than both of its neighbours.
func (c *calibrator) scan(ctx context.Context) (*scan, error) {
	const decades, later = 12, 10
	const n, farthest = decades * perDecade, 94 * perDecade // to 1e100, and 1e-100
	c.total = decades + 1 + later
	s := &scan{width: (math.Log(mostAlpha) - math.Log(leastAlpha)) / n}
	paths := max(4, min(100, c.s.Paths/10))
	few := max(4, paths/4)
	at := func(i, paths int) (err error) {
		s.points[i], err = c.evaluate(ctx, math.Exp(s.log(i)), paths)
		if s.points[i].score > s.points[s.best].score {
			s.best = i
		}
		return err
	}
	// The sign of `width` shows whether the maximum lies below or above the current α. The
	// score alone is not enough: it is −Inf both for an α so small that the noise is lost
	// in rounding errors, and for an α so large that some path cannot be computed.
	s.points = map[int]evaluation{}
	for i := 0; i <= n || i <= n+farthest && (s.points[s.most].width < 0 || s.best == s.most); i += perDecade {
		if s.most = i; i > n {
			c.total++
		}
		if err := at(i, few); err != nil {
			return nil, err
		}
	}
	for i := -perDecade; i >= -farthest && (s.points[s.least].width > 0 || s.best == s.least); i -= perDecade {
		s.least = i
		c.total++
		if err := at(i, few); err != nil {
			return nil, err
		}
	}
	if s.best == s.least || s.best == s.most {
		return s, nil
	}
	s.points = map[int]evaluation{}
	if err := at(s.best, paths); err != nil {
		return nil, err
	}
	for {
		i := s.best
		for _, j := range [2]int{i - 1, i + 1} {
			if _, known := s.points[j]; !known {
				if err := at(j, paths); err != nil {
					return nil, err
				}
			}
		}
		if s.best == i {
			if i == s.least || !math.IsInf(s.points[i].score, -1) {
				return s, nil
			}
			s.best-- // among more paths, some cannot be computed
		}
	}
}

type optimum struct {
	x        float64   // log α*
	se, time float64   // standard errors of x, over paths and over time; NaN if a path cannot be computed near x
	logv     []float64 // logarithms of the variances at x
}

// A parabola interpolates log variances over log α through −δ, 0 and δ. Outside it is
// continued by the straight lines through two of the values.
type parabola struct {
	delta            float64
	left, mid, right []float64
}

func (p *parabola) at(x float64, logv []float64) {
	u := x / p.delta
	for k, m := range p.mid {
		switch l, r := p.left[k], p.right[k]; {
		case u < -1:
			logv[k] = l + (u+1)*(m-l)
		case u > 1:
			logv[k] = r + (u-1)*(r-m)
		default:
			logv[k] = m + u*(r-l)/2 + u*u*(r-2*m+l)/2
		}
	}
}

func (c *calibrator) refine(ctx context.Context, s *scan) (*optimum, error) {
	const delta = 0.2 // in log α: small compared with the width of the maximum
	x := s.log(s.best)
	x += vertex(s.width, s.points[s.best-1].score, s.points[s.best].score, s.points[s.best+1].score)
	mid, err := c.evaluate(ctx, math.Exp(x), c.s.Paths)
	if err != nil {
		return nil, err
	}
	if mid.ok { // move as if the variances were proportional to α
		shift := c.maximum(1.5, 1e-5, func(at float64, v []float64) {
			for k, l := range mid.logv {
				v[k] = l + at
			}
		}, c.loge2)
		const rounds = 5
		for round := range rounds {
			if round > 0 || math.Abs(shift) > delta/2 {
				x += shift
				if mid, err = c.evaluate(ctx, math.Exp(x), c.s.Paths); err != nil {
					return nil, err
				}
			}
			var side [2]evaluation
			for j := range side {
				if side[j], err = c.evaluate(ctx, math.Exp(x+delta*float64(2*j-1)), c.s.Paths); err != nil {
					return nil, err
				}
			}
			if !mid.ok || !side[0].ok || !side[1].ok {
				break
			}
			near := parabola{delta, side[0].logv, mid.logv, side[1].logv}
			shift = c.maximum(4*delta, 1e-5, near.at, c.loge2)
			if math.Abs(shift) <= delta || round == rounds-1 {
				top := &optimum{x: x + shift, logv: make([]float64, len(c.used))}
				near.at(shift, top.logv)
				top.se, top.time = c.errors(delta, side[0], mid, side[1])
				return top, nil
			}
		}
	}
	return c.cutOff(ctx, s)
}

// cutOff finds the best α at which all paths can be computed.
func (c *calibrator) cutOff(ctx context.Context, s *scan) (*optimum, error) {
	var failed error
	top := &optimum{se: math.NaN(), time: math.NaN()}
	best := math.Inf(-1)
	f := func(x float64) float64 {
		e, err := c.evaluate(ctx, math.Exp(x), c.s.Paths)
		if err != nil {
			failed = err
		}
		if e.score > best {
			best, top.x, top.logv = e.score, x, e.logv
		}
		return -e.score
	}
	for i := s.best; i >= s.least && failed == nil; i-- {
		if at := s.log(i); !math.IsInf(f(at), 1) {
			minimize(f, at-s.width, at, at+s.width, 1e-2, 8)
			return top, failed
		}
	}
	if failed == nil {
		failed = fmt.Errorf("%s, %v, %v: no alpha ≥ %.3g gives an ensemble in which all paths can be computed", c.solver.Problem().Title(), c.solver.Method(), c.solver.Grid(), math.Exp(s.log(s.least)))
	}
	return nil, failed
}

// maximum is in [−reach, reach]; `set` writes the log variances at a point.
func (c *calibrator) maximum(reach, tol float64, set func(at float64, logv []float64), loge2 []float64) float64 {
	v := make([]float64, len(loge2))
	return minimize(func(at float64) float64 {
		set(at, v)
		score, _ := c.s.Criterion.match(v, loge2)
		return -score
	}, -reach, 0, reach, tol, 60)
}

// errors jackknifes over groups of paths and over ten blocks of time, with the variances
// at three log α, `delta` apart. Each time the optimum is searched again: the vertex of a
// parabola may be anywhere if the score is flat, or has kinks because a few paths are far
// from the others. Over paths from half to twice the middle α, and over time much
// farther, because α* can change by orders of magnitude without one block.
func (c *calibrator) errors(delta float64, left, mid, right evaluation) (paths, time float64) {
	const reach, far, tol = 0.8, 12, 1e-3
	thin := c.thin()
	loge2 := make([]float64, len(mid.without[0]))
	for k := range loge2 {
		loge2[k] = c.loge2[k*thin]
	}
	var x []float64
	for g := range mid.without {
		p := parabola{delta, left.without[g], mid.without[g], right.without[g]}
		x = append(x, c.maximum(reach, tol, p.at, loge2))
	}
	paths = jackknife(x)
	const blocks = 10
	n := len(loge2)
	if n < 2*blocks {
		return paths, math.NaN()
	}
	thinned := func(v []float64) []float64 {
		out := make([]float64, n)
		for k := range out {
			out[k] = v[k*thin]
		}
		return out
	}
	p := parabola{delta, thinned(left.logv), thinned(mid.logv), thinned(right.logv)}
	x = x[:0]
	e := make([]float64, n)
	for b := range blocks {
		from, to := b*n/blocks, (b+1)*n/blocks
		x = append(x, c.maximum(far, tol, func(at float64, v []float64) {
			p.at(at, e)
			copy(v, e[:from])
			copy(v[from:], e[to:])
		}, slices.Concat(loge2[:from], loge2[to:])))
	}
	return paths, jackknife(x)
}

func jackknife(x []float64) float64 {
	m := moments.NewVector(1)
	for _, v := range x {
		m.Add([]float64{v})
	}
	n := float64(len(x))
	return math.Sqrt((n - 1) / n * m.M2[0])
}

// vertex returns 0 if it is not finite.
func vertex(h, l, m, r float64) float64 {
	if v := h / 2 * (l - r) / (l - 2*m + r); !math.IsNaN(v) && !math.IsInf(v, 0) {
		return v
	}
	return 0
}

// minimize is Brent's method between a and c from b, where f should be smaller than at
// both [Brent 1973, §5.8]. Package gonum/optimize does not have it.
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

// fit returns the mean of E²/v, and the shares of |E| < √v and |E| < 2√v.
func (c *calibrator) fit(logv []float64) (meanSquare float64, within [2]float64) {
	n := float64(len(logv))
	for k, l := range logv {
		z2 := math.Exp(c.loge2[k] - l)
		meanSquare += z2 / n
		for m := range within {
			if z2 < float64((m+1)*(m+1)) {
				within[m] += 1 / n
			}
		}
	}
	return meanSquare, within
}
