package mcmc

import (
	"slices"

	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// Chains holds the draws of a run. The draws of another program can also be stored in
// Chains: the methods need only the fields Names and Draws.
type Chains struct {
	// Names are the names of the parameters.
	Names []string

	// Draws[c][k][i] is parameter i of draw k of chain c. All chains have
	// the same number of draws.
	Draws [][][]float64

	// Stats[c] counts the moves of chain c after burn-in, and BurnIn[c] counts its moves
	// during burn-in. The counts include iterations whose draws are not kept. If a run is
	// interrupted, all chains are cut to the length of the shortest chain. The counts
	// still include the discarded iterations.
	Stats, BurnIn []Stats

	// Generated[c][k] holds the quantities that the kernel generated at draw k of chain
	// c, and Quantities holds their names: see Settings.Generated. Generated and Quantities
	// are nil if the kernel generates no quantities.
	Generated  [][][]float64
	Quantities []string

	// LogWeights[c][k], if not nil, is the logarithm of the weight of draw k of chain c,
	// up to a constant. With these weights the draws represent a distribution other than
	// the one from which they were drawn. If there are weights, KHat is the tail index k̂
	// of the weights.
	LogWeights [][]float64
	KHat       float64

	// Meta describes the run if the draws were read from files: see mcmc/store.
	Meta []Field

	// Notes are sentences about the run, for example about the starting points of the
	// chains.
	Notes []string

	// Capped is true if the run stopped at Settings.MaxDraws before it reached
	// Settings.MinESS.
	Capped bool
}

// A Field describes one aspect of a run, such as the model, the method or a setting.
type Field struct{ Key, Value string }

// Parameter returns the draws of parameter i in the form that package diag takes:
// element [c][k] is draw k of chain c.
func (c *Chains) Parameter(i int) [][]float64 {
	return diag.Column(c.Draws, i)
}

// Pooled returns the draws of all chains, one chain after the other: element
// [k][i] is parameter i of draw k. The draws are shared, not copied.
func (c *Chains) Pooled() [][]float64 { return slices.Concat(c.Draws...) }

// Summary returns means, standard deviations, quantiles and diagnostics of every
// parameter. If the draws have weights, the summary describes the weighted draws: see
// [diag.Summarize].
func (c *Chains) Summary() diag.Summary { return diag.Summarize(c.Names, c.Draws, c.LogWeights, nil) }

func (c *Chains) length() int {
	if len(c.Draws) == 0 {
		return 0
	}
	return len(c.Draws[0])
}
