package mcmc

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// A Report says what chains have drawn, and what speaks against their draws.
type Report struct {
	Summary  diag.Summary
	Warnings []string // see Chains.Warnings

	chains *Chains
}

// Report computes the summary of the chains and their warnings. If progress is not nil,
// Report calls it with the number of parameters that are done.
func (c *Chains) Report(progress func(done, total int)) *Report {
	var done atomic.Int64
	summary := diag.Summarize(c.Names, c.Draws, c.LogWeights, func() {
		if n := int(done.Add(1)); progress != nil {
			progress(n, len(c.Names)+1)
		}
	})
	r := &Report{summary, c.warnings(summary), c}
	if progress != nil {
		progress(1, 1)
	}
	return r
}

// String returns the report of the chains as text.
func (c *Chains) String() string { return c.Report(nil).String() }

// String returns the summary as a table, followed by the counts, the notes and the
// warnings, if there are any.
func (r *Report) String() string {
	c, summary := r.chains, r.Summary
	var b strings.Builder
	b.WriteString(summary.String())

	fmt.Fprintf(&b, "%d chains of %d draws", len(c.Draws), c.length())
	var sum Stats
	var rates, latent []float64
	for _, s := range c.Stats {
		sum = sum.plus(1, s)
		rates = append(rates, s.Rate())
		latent = append(latent, s.Latent.Rate())
	}
	if sum.Proposed > 0 {
		fmt.Fprintf(&b, "; accepted %.2f (%.2f to %.2f)", sum.Rate(), slices.Min(rates), slices.Max(rates))
		if sum.Latent.Proposed > 0 {
			fmt.Fprintf(&b, "; latent moves: accepted %.2f (%.2f to %.2f)", sum.Latent.Rate(), slices.Min(latent), slices.Max(latent))
		}
		if failed := sum.Failed + sum.Latent.Failed; failed > 0 {
			fmt.Fprintf(&b, "; failed %d of %d evaluations", failed, sum.Proposed+sum.Latent.Proposed)
		}
	}
	b.WriteByte('\n')
	if h, ok := c.hamiltonian(); ok {
		fmt.Fprintf(&b, "%v\n", h)
	}
	if c.LogWeights != nil {
		if w := c.weights(summary); w.trusted() {
			fmt.Fprintf(&b, "weighted draws, %v\n", w) // otherwise there is a warning below
		}
	}
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "caution: %s\n", w)
	}
	return b.String()
}

// minBulkESS is NaN if one of them is.
func (c *Chains) minBulkESS() float64 {
	least := math.Inf(1)
	for i := range c.Names {
		least = math.Min(least, diag.BulkESS(c.Parameter(i)))
	}
	return least
}
