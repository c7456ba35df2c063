package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/viz"
)

// Traces returns a figure with one panel for each of the named parameters. If no
// parameter is named, all parameters are shown. A panel shows the draws of every chain in
// the order in which they were drawn. Long chains are thinned.
func Traces(c *mcmc.Chains, params ...string) viz.Figure {
	const most = 300
	which := named(c, params)
	f := viz.Figure{Title: "Traces", Columns: 1, Height: 90 + 170*len(which)}
	for _, i := range which {
		name := c.Names[i]
		p := viz.Panel{X: viz.Axis{Label: "draw"}, Y: viz.Axis{Label: name}}
		for j, chain := range c.Parameter(i) {
			every := (len(chain) + most - 1) / most
			l := viz.Line{Name: fmt.Sprintf("chain %d", j+1), Width: 0.9, Opacity: 0.8}
			for k := 0; k < len(chain); k += max(1, every) {
				l.X, l.Y = append(l.X, float64(k+1)), append(l.Y, chain[k])
			}
			p.Layers = append(p.Layers, l)
		}
		f.Panels = append(f.Panels, p)
	}
	return f
}

// Ranks returns a figure with a row of panels for each named parameter and a column of
// panels for each chain. If no parameter is named, all parameters are shown. A panel is a
// histogram with 20 bins. The histogram shows the ranks of the draws of one chain among
// the draws of all chains. If the chains sample the same distribution, the histograms are
// flat, apart from random variation. If the draws are independent, each bar ends between
// the dashed lines with a probability of about 99 % or more. If the draws are correlated,
// the bars vary more [Vehtari et al. 2021, §4.3]. At least two chains are needed for a
// comparison.
func Ranks(c *mcmc.Chains, params ...string) viz.Figure {
	const bins = 20
	n, which := len(c.Draws), named(c, params)
	f := viz.Figure{Title: "Ranks of the draws of each chain among the draws of all chains", Columns: n, Height: 80 + 190*len(which)}
	edges := make([]float64, bins+1)
	for b := range edges {
		edges[b] = float64(b) / bins
	}
	for _, i := range which {
		name, x := c.Names[i], c.Parameter(i)
		ranks := fractionalRanks(x)
		// If the draws are independent, the height of a bar has a hypergeometric
		// distribution. The binomial variance, which is used here, is slightly larger.
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
			bars := viz.Bars("", edges, heights[j])
			bars.Color = viz.Palette[j%len(viz.Palette)]
			p := viz.Panel{Title: fmt.Sprintf("%s, chain %d", name, j+1), X: viz.Axis{Label: "rank", Min: 0, Max: 1}, Y: viz.Axis{Label: "draws", Min: 0, Max: 1.05 * top}}
			p.Layers = []viz.Layer{bars,
				viz.Guide{At: per + spread, Horizontal: true, Dash: viz.Dashed, Width: 1},
				viz.Guide{At: per - spread, Horizontal: true, Dash: viz.Dashed, Width: 1}}
			f.Panels = append(f.Panels, p)
		}
	}
	return f
}

// fractionalRanks are those among all draws, in [0, 1).
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

func named(c *mcmc.Chains, params []string) []int {
	var out []int
	for i, name := range c.Names {
		if len(params) == 0 || slices.Contains(params, name) {
			out = append(out, i)
		}
	}
	for _, name := range params {
		if !slices.Contains(c.Names, name) {
			panic(fmt.Sprintf("plots: %q is not a parameter: want one of %q", name, c.Names))
		}
	}
	return out
}
