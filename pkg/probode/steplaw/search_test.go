package steplaw

import (
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/problems"
)

// All steps of path 0 that have noise are searched, or 256 of them.
func TestSearches(t *testing.T) {
	for h, want := range map[float64]int{0.1: 199, 0.01: 256} { // 200 and 2000 steps, the first in the start
		g, err := probode.UniformGrid(problems.FitzHughNagumo(), nil, h)
		if err != nil {
			t.Fatal(err)
		}
		x, got := &sampler{g: g, quiet: 1}, 0
		for i := range g.Steps() {
			if x.searches(i) {
				got++
			}
		}
		if got != want {
			t.Errorf("h = %g: %d steps are searched: want %d", h, got, want)
		}
	}
}
