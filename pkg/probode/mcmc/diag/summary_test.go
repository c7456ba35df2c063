package diag

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

// The parameters are summarised in parallel, and the result is the same with any number of
// goroutines.
func TestSummarizeInParallel(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	const chains, n, d = 3, 60, 17
	draws, logWeights := make([][][]float64, chains), make([][]float64, chains)
	names := make([]string, d)
	for c := range draws {
		for range n {
			x := make([]float64, d)
			for i := range x {
				x[i] = rng.NormFloat64()
				names[i] = fmt.Sprint("x", i)
			}
			draws[c], logWeights[c] = append(draws[c], x), append(logWeights[c], rng.NormFloat64())
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, w := range [][][]float64{nil, logWeights} {
		runtime.GOMAXPROCS(1)
		one := fmt.Sprint(Summarize(names, draws, w, nil))
		runtime.GOMAXPROCS(4)
		if four := fmt.Sprint(Summarize(names, draws, w, nil)); four != one {
			t.Errorf("with four goroutines\n%s\nand with one\n%s", four, one)
		}
	}
}

// One draw far away makes the sd 300 times as large as the range of nearly all draws, whose
// quantiles are still written with their digits.
func TestSummaryOfHeavyTailsShowsQuantiles(t *testing.T) {
	x := make([][][]float64, 4)
	for c := range x {
		for k := range 250 {
			x[c] = append(x[c], []float64{float64(k) / 250})
		}
	}
	x[0][100][0] = 1e4
	text := Summarize([]string{"a"}, x, nil, nil).String()
	if !strings.Contains(text, "0.498") || !strings.Contains(text, "0.024") {
		t.Errorf("no quantiles in\n%s", text)
	}
}
