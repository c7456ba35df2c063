package plots

import (
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/viz"
)

// twoChains are draws of two parameters from a lattice, so that every rank is
// known: chain 2 is chain 1 moved by half a step.
func twoChains() *mcmc.Chains {
	c := &mcmc.Chains{Names: []string{"a", "b"}, Draws: make([][][]float64, 2)}
	for k := range 400 {
		x := float64(k*157%400) + 0.25
		y := float64(k*211%400) + 0.25
		c.Draws[0] = append(c.Draws[0], []float64{x, y})
		c.Draws[1] = append(c.Draws[1], []float64{x + 0.5, y + 0.5})
	}
	return c
}

func TestChainFigures(t *testing.T) {
	c := twoChains()
	pairs, err := Pairs([]string{"one", "two"}, []*mcmc.Chains{c, c}, []float64{200, 200})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(pairs.Panels); n != 4 || len(pairs.Panels[1].Layers) != 0 || len(pairs.Panels[2].Layers) == 0 {
		t.Errorf("pairs: %d panels, or not the lower triangle", n)
	}
	for name, f := range map[string]viz.Figure{"pairs": pairs, "traces": Traces(c), "ranks": Ranks(c)} {
		if _, err := viz.PNG(f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := viz.HTML(f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := &mcmc.Chains{Names: []string{"a"}, Draws: [][][]float64{{{1}, {2}, {3}}}}
	if _, err := Pairs([]string{"one", "two"}, []*mcmc.Chains{c, other}, nil); err == nil {
		t.Error("pairs of runs with other parameters: no error")
	}
}

// Chains of one distribution that interleave have flat rank histograms: 20 draws in each
// of 20 bins. A chain that lies below the other has only the lower half.
func TestRanks(t *testing.T) {
	for _, p := range Ranks(twoChains()).Panels {
		for _, h := range p.Layers[0].(viz.Band).Hi {
			if !math.IsNaN(h) && h != 20 {
				t.Fatalf("%s: a bin of %g draws, want 20", p.Title, h)
			}
		}
	}
	apart := twoChains()
	for _, d := range apart.Draws[1] {
		d[0] += 1000
	}
	for i, h := range Ranks(apart).Panels[0].Layers[0].(viz.Band).Hi {
		want := 40.
		if i >= 30 {
			want = 0
		}
		if !math.IsNaN(h) && h != want {
			t.Errorf("corner %d of the bars of the lower chain is at %g, want %g", i, h, want)
		}
	}
}

// The panels of a column have one x axis, those of a row below the diagonal one y
// axis, and every draw but the outermost lies within.
func TestPairsAxes(t *testing.T) {
	c := &mcmc.Chains{Names: []string{"a", "b", "c", "d", "e", "f"}, Draws: make([][][]float64, 2)}
	for k := range 500 {
		for j := range c.Draws {
			row := make([]float64, 6)
			for i := range row {
				row[i] = math.Pow(10, float64(i)) * math.Sin(float64(k*(i+1)+j))
			}
			c.Draws[j] = append(c.Draws[j], row)
		}
	}
	f, err := Pairs([]string{"run"}, []*mcmc.Chains{c}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for row := range 6 {
		for col := range row + 1 {
			p, foot, edge := f.Panels[6*row+col], f.Panels[6*5+col], f.Panels[6*row]
			if p.X.Min != foot.X.Min || p.X.Max != foot.X.Max || p.X.Min == p.X.Max {
				t.Errorf("row %d, column %d: x from %v to %v, at the foot from %v to %v", row, col, p.X.Min, p.X.Max, foot.X.Min, foot.X.Max)
			}
			if 0 < col && col < row && (p.Y.Min != edge.Y.Min || p.Y.Max != edge.Y.Max) {
				t.Errorf("row %d, column %d: y from %v to %v, at the edge from %v to %v", row, col, p.Y.Min, p.Y.Max, edge.Y.Min, edge.Y.Max)
			}
		}
	}
	if _, err := viz.PNG(f); err != nil {
		t.Error(err)
	}
}

func TestNamedParameters(t *testing.T) {
	if f := Traces(twoChains(), "b"); len(f.Panels) != 1 || f.Panels[0].Y.Label != "b" {
		t.Errorf("traces of b: %+v", f.Panels)
	}
	if f := Ranks(twoChains(), "b"); len(f.Panels) != 2 || f.Panels[0].Title != "b, chain 1" {
		t.Errorf("ranks of b: %+v", f.Panels)
	}
}
