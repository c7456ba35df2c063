package store

import (
	"cmp"
	"math"
	"runtime"
	"strings"

	"github.com/probode/probode/pkg/probode/mcmc"
)

// maker describes the program that begins a chain. It is stored for information: any
// program that computes the same numbers can resume the chain.
func maker(version string) []mcmc.Field {
	return []mcmc.Field{
		{Key: "probode", Value: strings.Join(strings.Fields(cmp.Or(version, "unknown")), "_")},
		{Key: "go", Value: strings.ReplaceAll(runtime.Version(), " ", "_")},
		{Key: "arch", Value: runtime.GOARCH},
	}
}

func isMaker(key string) bool { return key == "probode" || key == "go" || key == "arch" }

type change struct {
	relative float64
	was, is  float64 // the pair that differs most
}

// changed compares bit for bit.
func changed(was, is []float64) *change {
	if len(was) != len(is) {
		return &change{relative: math.Inf(1), was: math.NaN(), is: math.NaN()}
	}
	var c *change
	for i := range was {
		a, b := was[i], is[i]
		if math.Float64bits(a) == math.Float64bits(b) {
			continue
		}
		r := math.Abs(a-b) / math.Max(math.Abs(a), math.Abs(b))
		if math.IsNaN(r) || math.IsInf(a-b, 0) { // one of them is NaN or infinite
			r = math.Inf(1)
		}
		if c == nil || r > c.relative {
			c = &change{r, a, b}
		}
	}
	return c
}

// cause blames rounding up to 1e-9, which is far above that of several thousand solver
// steps, and far below the effect of another model or setting.
func (c *change) cause() string {
	if c.relative > 1e-9 {
		return "the model, the solver or the sampler has changed since the chain was started: undo the change, or start again in another directory"
	}
	return "another processor, build or version rounds differently: continue where the chain was started, or start again in another directory"
}
