package filter

import (
	"fmt"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/problems"
)

func BenchmarkEK(b *testing.B) {
	p := problems.FitzHughNagumo()
	for _, m := range []EK{{Q: 2}, {Q: 3}, {Q: 5}, {Q: 3, Width: 1}, {Q: 3, Jacobian: Zero}} {
		b.Run(fmt.Sprint(m), func(b *testing.B) {
			g, err := probode.UniformGrid(p, nil, 0.05)
			if err != nil {
				b.Fatal(err)
			}
			s, err := probode.NewSolver(p, m, g, 0)
			if err != nil {
				b.Fatal(err)
			}
			z := make([]float64, s.PathLen())
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Solve(z, p.Theta, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
