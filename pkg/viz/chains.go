package viz

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/reference"
)

// FromEnsemble returns what [Bands] and [Paths] draw of an ensemble, with the
// names and the unit of time of its problem. The reference may be nil.
func FromEnsemble(e *probode.Ensemble, reference *reference.Solution) Ensemble {
	out := Ensemble{Label: "t", T: e.T}
	if u := e.Problem.TimeUnit; u != "" {
		out.Label = fmt.Sprintf("t (%s)", u)
	}
	d := e.Problem.Dim()
	if reference != nil {
		out.ReferenceT = reference.Times
	}
	for k := range d {
		c := Component{Name: e.Problem.StateName(k), Mean: e.Mean[k], SD: e.SD[k], Deterministic: e.Deterministic[k]}
		for _, path := range e.Paths {
			if path != nil { // nil: the path failed
				c.Paths = append(c.Paths, column(path, k, d))
			}
		}
		if reference != nil {
			c.Reference = column(reference.X, k, d)
		}
		out.Components = append(out.Components, c)
	}
	return out
}

// column returns component k of rows of d components.
func column(rows []float64, k, d int) []float64 {
	out := make([]float64, 0, len(rows)/d)
	for i := k; i < len(rows); i += d {
		out = append(out, rows[i])
	}
	return out
}

// Pairs returns the posterior of every parameter and of every pair of
// parameters of several runs: densities on the diagonal, contours of 50 % and
// 90 % below it. The runs are named, and must have the same parameters. The
// true values may be nil. The errors are those of [Posterior].
func Pairs(names []string, runs []*mcmc.Chains, truth []float64) (Figure, error) {
	if len(names) != len(runs) || len(runs) == 0 {
		panic(fmt.Sprintf("viz: %d names of %d runs", len(names), len(runs)))
	}
	params := runs[0].Names
	n := len(params)
	if truth != nil && len(truth) != n {
		panic(fmt.Sprintf("viz: %d true values of %d parameters", len(truth), n))
	}
	draws := make([][][]float64, len(runs)) // [run][parameter][draw]
	for r, c := range runs {
		if !slices.Equal(c.Names, params) {
			return Figure{}, fmt.Errorf("viz: run %q has the parameters %v: want %v as the first", names[r], c.Names, params)
		}
		for i := range params {
			draws[r] = append(draws[r], slices.Concat(c.Parameter(i)...))
		}
	}
	f := Figure{Title: "Posterior", Columns: n, Height: 80 + 240*n}
	for row := range n {
		for col := range n {
			if col > row {
				f.Panels = append(f.Panels, Panel{})
				continue
			}
			var groups []Draws
			for r, name := range names {
				g := Draws{Name: name, X: draws[r][col]}
				if col < row {
					g.Y = draws[r][row]
				}
				groups = append(groups, g)
			}
			var t []float64
			if truth != nil {
				t = []float64{truth[col]}
				if col < row {
					t = append(t, truth[row])
				}
			}
			var p Panel
			var err error
			if col == row {
				p, err = Marginal(Axis{Label: params[col]}, t, groups...)
			} else {
				p, err = Posterior(Axis{Label: params[col]}, Axis{Label: params[row]}, t, groups...)
			}
			if err != nil {
				return f, err
			}
			f.Panels = append(f.Panels, p)
		}
	}
	return f, nil
}

// Traces returns one panel for each parameter with the draws of every chain in
// their order. Of long chains only every so many draws are shown.
func Traces(c *mcmc.Chains) Figure {
	const most = 500
	f := Figure{Title: "Traces", Columns: 1, Height: 80 + 170*len(c.Names)}
	for i, name := range c.Names {
		p := Panel{X: Axis{Label: "draw"}, Y: Axis{Label: name}}
		for j, chain := range c.Parameter(i) {
			every := (len(chain) + most - 1) / most
			l := Line{Name: fmt.Sprintf("chain %d", j+1), Width: 0.9, Opacity: 0.8}
			for k := 0; k < len(chain); k += max(1, every) {
				l.X, l.Y = append(l.X, float64(k+1)), append(l.Y, chain[k])
			}
			p.Layers = append(p.Layers, l)
		}
		f.Panels = append(f.Panels, p)
	}
	return f
}

// Ranks returns one panel for each parameter and chain: the histogram of the
// ranks of its draws among those of all chains, in 20 bins. Chains that sample
// the same law have flat histograms; the dashed lines enclose 99 % of the
// heights of independent draws, so that correlated ones stray further
// [Vehtari et al. 2021, §4.3]. With one chain there is nothing to compare.
func Ranks(c *mcmc.Chains) Figure {
	const bins = 20
	n := len(c.Draws)
	f := Figure{Title: "Ranks of the draws among those of all chains", Columns: n, Height: 80 + 190*len(c.Names)}
	edges := make([]float64, bins+1)
	for b := range edges {
		edges[b] = float64(b) / bins
	}
	for i, name := range c.Names {
		x := c.Parameter(i)
		ranks := fractionalRanks(x)
		// A bin holds a binomial number of the draws of a chain.
		per := float64(len(x[0])) / bins
		spread := 2.58 * math.Sqrt(per*(1-1./bins))
		heights := make([][]float64, n)
		top := 2 * per
		for j := range x {
			heights[j] = make([]float64, bins)
			for _, r := range ranks[j] {
				heights[j][min(bins-1, int(r*bins))]++
			}
			top = max(top, slices.Max(heights[j]))
		}
		for j := range x {
			bars := Bars("", edges, heights[j])
			bars.Color = Palette[j%len(Palette)]
			p := Panel{Title: fmt.Sprintf("%s, chain %d", name, j+1), X: Axis{Label: "rank", Min: 0, Max: 1}, Y: Axis{Label: "draws", Min: 0, Max: 1.05 * top}}
			p.Layers = []Layer{bars,
				Rule{At: per + spread, Horizontal: true, Dash: Dashed, Width: 1},
				Rule{At: per - spread, Horizontal: true, Dash: Dashed, Width: 1}}
			f.Panels = append(f.Panels, p)
		}
	}
	return f
}

// fractionalRanks returns the rank of each draw among all, divided by their
// number, in [0, 1).
func fractionalRanks(x [][]float64) [][]float64 {
	type place struct{ chain, draw int }
	var order []place
	out := make([][]float64, len(x))
	for j, chain := range x {
		out[j] = make([]float64, len(chain))
		for k := range chain {
			order = append(order, place{j, k})
		}
	}
	slices.SortStableFunc(order, func(a, b place) int { return cmp.Compare(x[a.chain][a.draw], x[b.chain][b.draw]) })
	for r, p := range order {
		out[p.chain][p.draw] = float64(r) / float64(len(order))
	}
	return out
}
