package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/reference"
	"github.com/probode/probode/pkg/viz"
)

// alpha is section 3.1: α* of each method at several step sizes.
var alpha = experiment{
	name: "alpha", title: "Calibration: α* of each method", tables: []string{"alpha"},
	compute: computeAlpha, section: alphaSection,
}

func computeAlpha(ctx context.Context, s *study) error {
	t := &table{name: "alpha", header: []string{"method", "linearisation", "h", "alpha_star", "alpha_star_se", "alpha_paper"}}
	err := s.eachStep(setups([]int{1, 2, 3}, []int{0, 1, 2}), func(u setup, h float64) error {
		c, err := calibrate.Run(ctx, fhn(), u.method, calibrate.Settings{
			Indicator: reference.TrueError(reference.Settings{}),
			Criterion: calibrate.Bhattacharyya, StepSize: h, Seed: s.seed, Paths: s.paths(1500, 200), Workers: s.workers})
		switch {
		case err == nil:
			t.add(u.name, u.lin, h, c.Alpha, c.SE, u.alpha)
		case errors.Is(err, probode.ErrDiverged):
			t.add(u.name, u.lin, h, math.NaN(), math.NaN(), u.alpha)
		default:
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.save(t)
}

func alphaSection(s *study, sec *section, tables []*table) {
	t := tables[0]
	sec.Text(`α* is where the spread of the ensemble matches the error of the classical method best. It minimises the sum, over grid points and both components, of the Bhattacharyya distances
between N(mean, variance) of the ensemble and N(mean, E²), where E is the true error. The paper refers to section 3.1 of Conrad et al. (2016); this reading of it comes nearest to the paper's values.
The same ξ is used for all α; ± is the Monte Carlo standard error. Points where E is below 10⁻⁴ of its largest value (zero crossings) do not count.`)
	f := viz.Figure{Columns: 2, Height: 760, Title: "α* against the step size"}
	lo, hi := math.Inf(1), 0.
	for _, v := range t.floats("alpha_star") {
		if v > 0 {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	for _, lin := range []string{"none", "current", "predictor", "newton"} {
		p := viz.Panel{Title: "Adams–Moulton, " + lin, X: viz.Axis{Label: "step size h", Log: true}, Y: viz.Axis{Label: "α*", Log: true, Min: lo / 2, Max: hi * 2}}
		if lin == "none" {
			p.Title = "Adams–Bashforth"
		}
		var lines []viz.Line
		for _, m := range t.distinct("method") {
			if g := t.where(m, lin); len(g.rows) > 0 {
				color := viz.Palette[(len(lines)+paletteOffset(lin))%len(viz.Palette)]
				lines = append(lines, viz.Line{Name: m, Color: color, X: g.floats("h"), Y: g.floats("alpha_star")})
			}
		}
		curves := viz.Curves(p.X, p.Y, nil, lines...)
		p.Layers = curves.Layers
		for _, l := range lines {
			g := t.where(l.Name, lin)
			p.Layers = append(p.Layers, viz.Guide{At: g.floats("alpha_paper")[0], Horizontal: true, Color: l.Color, Dash: viz.Dotted, Width: 1})
		}
		f.Panels = append(f.Panels, p)
	}
	sec.Figure(f, "The curve is flat if the noise has the same order as the error, as for AB1, AB2, AM0, and AM1 solved by Newton's method. For AM2 linearised at the current state, α* grows like h⁻², because the error has order 2 and the noise has order 3. Dotted lines: the values from the paper, in the colours of the methods; methods with equal values share a line.")
	header := []string{"method", "linearisation", "paper"}
	hs := t.distinct("h")
	for _, h := range hs {
		header = append(header, "h = "+h)
	}
	var rows [][]string
	for _, m := range t.distinct("method") {
		for _, lin := range t.where(m).distinct("linearisation") {
			row := []string{m, lin, t.where(m, lin).rows[0][5]}
			for _, h := range hs {
				r := t.where(m, lin, h).rows[0]
				if r[3] == "NaN" {
					row = append(row, "NaN")
					continue
				}
				row = append(row, viz.PlusMinus(number(r[3]), number(r[4])))
			}
			rows = append(rows, row)
		}
	}
	sec.Table("class=scroll", header, rows)
	sec.missing(t, "alpha_star", "the classical solution diverges, or there is no best α")
	spread := func(m, lin string) (lo, hi float64) {
		lo, hi = math.Inf(1), math.Inf(-1)
		for _, v := range t.where(m, lin).floats("alpha_star") {
			lo, hi = math.Min(lo, v), math.Max(hi, v)
		}
		return lo, hi
	}
	var flat, not []string
	for _, u := range setups([]int{1, 2, 3}, []int{0, 1, 2}) {
		lo, hi := spread(u.name, u.lin)
		text := fmt.Sprintf("%v (%.2g to %.2g)", u, lo, hi)
		if hi < 1.6*lo {
			flat = append(flat, text)
		} else {
			not = append(not, text)
		}
	}
	sec.claim("α* “was close to constant throughout” (§3.1)", fmt.Sprintf("Across the step sizes, α* varies by less than a factor of 1.6 for %s, and by more for %s.", strings.Join(flat, ", "), strings.Join(not, ", ")), len(not) == 0)
	mid := hs[len(hs)/2]
	at := func(m, lin string) string { return fmt.Sprintf("%.2g", number(t.where(m, lin, mid).rows[0][3])) }
	sec.claim("α* ≈ .2 (AB1), .1 (AB2), .2 (AB3), .2 (AM0), .05 (AM1), .05 (AM2)",
		fmt.Sprintf("At h = %s, α* is %s, %s and %s for AB1, AB2 and AB3. For AM0, AM1 and AM2, α* is %s, %s and %s with linearisation at Zᵢ, and %s, %s and %s with Newton's method. The paper gives one digit. For AB1 and AM0, α* nearly agrees with the paper. For AM1, α* nearly agrees with the paper only with linearisation at Zᵢ. For AB2, α* is %s times the paper's value. Several conventions were tried, but none gives both .1 for AB2 and .05 for AM2.",
			mid, at("AB1", "none"), at("AB2", "none"), at("AB3", "none"), at("AM0", "current"), at("AM1", "current"), at("AM2", "current"),
			at("AM0", "newton"), at("AM1", "newton"), at("AM2", "newton"), fmt.Sprintf("%.1f", number(t.where("AB2", "none", mid).rows[0][3])/.1)), false)
}

// paletteOffset leaves the first three colours to the explicit methods.
func paletteOffset(lin string) int {
	if lin == "none" {
		return 0
	}
	return 3
}

// alphaCurve is the log density as a function of α, a figure that the source of the paper
// has commented out.
var alphaCurve = experiment{
	name: "alphacurve", title: "Log-probability curves of α", tables: []string{"alphacurve"},
	compute: computeAlphaCurve, section: alphaCurveSection,
}

func computeAlphaCurve(ctx context.Context, s *study) error {
	t := &table{name: "alphacurve", header: []string{"method", "linearisation", "h", "alpha", "log_density"}}
	var alphas []float64
	for i := -20; i <= 20; i++ {
		alphas = append(alphas, math.Pow(10, float64(i)/5))
	}
	err := s.eachStep(setups([]int{1, 2, 3}, []int{0, 1, 2}), func(u setup, h float64) error {
		v, err := calibrate.Score(ctx, fhn(), u.method, alphas, calibrate.Settings{
			Indicator: reference.TrueError(reference.Settings{}),
			Criterion: calibrate.Bhattacharyya, StepSize: h, Seed: s.seed, Paths: s.paths(100, 60), Workers: s.workers})
		if err != nil && !errors.Is(err, probode.ErrDiverged) {
			return err
		}
		for i, a := range alphas {
			score := math.NaN()
			if err == nil {
				score = v[i]
			}
			t.add(u.name, u.lin, h, a, score)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.save(t)
}

func alphaCurveSection(s *study, sec *section, tables []*table) {
	t := tables[0]
	sec.Text(`The score of α minus its maximum, from %d paths (the paper used 100). The LaTeX source of the paper contains such a figure, commented out. A curve ends where a path of the ensemble diverges.`, s.paths(100, 60))
	f := viz.Figure{Columns: 3, Height: 1160, Title: "Log density of α minus its maximum"}
	for _, m := range t.distinct("method") {
		for _, lin := range t.where(m).distinct("linearisation") {
			var lines []viz.Line
			for _, h := range t.where(m, lin).distinct("h") {
				g := t.where(m, lin, h)
				y := g.floats("log_density")
				top := math.Inf(-1)
				for _, v := range y {
					if v > top {
						top = v
					}
				}
				// The score is a sum over all grid points. Division by the number of grid
				// points makes the curves for different step sizes comparable.
				n := 20 / number(h)
				for i := range y {
					y[i] = (y[i] - top) / n
				}
				lines = append(lines, viz.Line{Name: "h = " + h, X: g.floats("alpha"), Y: y})
			}
			p := viz.Curves(viz.Axis{Label: "α", Log: true, Min: 1e-4, Max: 1e4}, viz.Axis{Label: "per grid point", Min: -3, Max: 0.15}, nil, lines...)
			p.Title = strings.TrimSuffix(m+" "+lin, " none")
			f.Panels = append(f.Panels, p)
		}
	}
	sec.Figure(f, "The curves show the log probability per grid point, minus its maximum. If all curves have their maxima at the same α, one α suits all step sizes.")
}
