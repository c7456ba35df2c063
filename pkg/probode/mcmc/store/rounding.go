package store

import (
	"cmp"
	"fmt"
	"hash/crc64"
	"math"
	"runtime"
	"strings"
	"sync"

	"github.com/probode/probode/pkg/probode/mcmc"
)

// A maker is stored for information: any program that computes the same numbers can
// resume the chain.
type maker [4]mcmc.Field

func thisMaker(version string) maker {
	version = cmp.Or(version, "unknown")
	return maker{
		{Key: "probode", Value: strings.Join(strings.Fields(version), "_")},
		{Key: "go", Value: strings.ReplaceAll(runtime.Version(), " ", "_")},
		{Key: "arch", Value: runtime.GOARCH},
		{Key: "rounding", Value: rounding()},
	}
}

func isMaker(key string) bool {
	return key == "probode" || key == "go" || key == "arch" || key == "rounding"
}

func (m maker) String() string {
	return fmt.Sprintf("probode %s, %s, %s, rounding %s", m[0].Value, m[1].Value, m[2].Value, m[3].Value)
}

func makerOf(header []mcmc.Field) (m maker) {
	i := 0
	for _, f := range header {
		if isMaker(f.Key) && i < len(m) {
			m[i] = f
			i++
		}
	}
	return m
}

// rounding returns a hash of numbers whose last digit depends on processor and build: x y
// + z is rounded once if the compiler may use the fused multiply–add instruction (arm64,
// GOAMD64=v3), and functions such as math.Exp exist separately for some processors.
var rounding = sync.OnceValue(func() string {
	a := mcmc.NewArchive(nil)
	for i := range 64 {
		x := math.Pi * (float64(i) + 1) / 7
		for _, v := range []float64{
			multiplyAdd(x, 1/x, -1), math.Exp(-x), math.Log(x), math.Sin(x), math.Cos(x), math.Tan(x),
			math.Pow(x, 1.1), math.Tanh(x / 10), math.Log1p(x), math.Expm1(-x), math.Erf(x / 10), math.Cbrt(x),
			math.Atan(x), math.Sqrt(x), math.Gamma(x / 4),
		} {
			a.Float(&v)
		}
	}
	return fmt.Sprintf("%016x", crc64.Checksum(a.Bytes(), crcTable))
})

// multiplyAdd returns x y + z, rounded once or twice.
//
//go:noinline
func multiplyAdd(x, y, z float64) float64 { return x*y + z }

type change struct {
	relative float64
	was, is  float64 // the pair that differs most
}

// rounded is far above the rounding of several thousand solver steps, and far below the
// effect of another model or setting.
const rounded = 1e-9

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

func (c *change) cause(there, here maker) string {
	if c.relative > rounded {
		return "the model, the solver or the sampler has changed since the chain was started: undo the change, or start again in another directory"
	}
	why := "this version of the program does the arithmetic in a different order"
	if there[3] != here[3] {
		why = "the two processors or builds (see GOAMD64) round differently"
	} else if there[1] != here[1] {
		why = "another version of Go rounds differently"
	}
	return fmt.Sprintf("the difference is due to rounding, because %s (stored: %v; on this machine: %v): continue on the machine where the chain was started, or start again in another directory", why, there, here)
}
