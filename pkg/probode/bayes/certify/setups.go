package certify

import (
	"fmt"
	"math"
	"strings"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/compare"
)

func shortestSpan(p *bayes.Posterior) float64 {
	shortest := math.Inf(1)
	for _, x := range p.Experiments {
		shortest = min(shortest, x.Problem.Span[1]-x.Problem.Span[0])
	}
	return shortest
}

// describe names a tolerance without `frozen` if steps are chosen anew at every θ.
func describe(s probode.Setup) string {
	var words []string
	if s.Method != nil {
		words = append(words, s.Method.String())
	}
	t, controlled := compare.Tolerance(s)
	_, frozen := s.Mesh.(probode.Frozen)
	switch {
	case frozen:
		words = append(words, t.String(), "frozen")
	case controlled:
		words = append(words, t.String())
	case s.StepSize() > 0:
		words = append(words, fmt.Sprintf("h = %.4g", s.StepSize()))
	case s.Mesh != nil:
		words = append(words, s.Mesh.String())
	}
	return strings.Join(words, ", ")
}
