package sample_test

import (
	"math"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode/bayes/sample"
)

// With the noise of the solver ten times as large in variance as in the other
// tests it hides θ, and with ξ fixed θ can hardly move. Chains with joint moves
// have the distribution of the closed form (6 checks of 7e-6, see agree), and are worth at
// least five times as many draws as those without: measured 12 to 17 times.
func TestJointMoves(t *testing.T) {
	const alpha = 10 * decayAlpha
	mean, sd := decayMoments(t, alpha, decayY)
	ess := map[int]float64{}
	for _, blocks := range []int{-1, 0, 1, 5} {
		s := sample.PCNWithinGibbs{Proposal: walk, Blocks: blocks}
		c := run(t, decayPosterior(alpha, decayY), s, 8000)
		if blocks >= 0 {
			agree(t, s.String(), c, mean, sd)
		}
		ess[blocks] = c.Summary()[0].BulkESS
		found := strings.Contains(strings.Join(c.Notes, "\n"), "joint moves of θ and ξ use a Gaussian approximation")
		if found != (blocks >= 0) {
			t.Errorf("Blocks = %d: notes %q", blocks, c.Notes)
		}
	}
	t.Logf("effective draws by Blocks: %v", ess)
	if !(ess[0] > 5*ess[-1]) || math.IsNaN(ess[0]) {
		t.Errorf("%.0f effective draws with joint moves, %.0f without", ess[0], ess[-1])
	}
}
