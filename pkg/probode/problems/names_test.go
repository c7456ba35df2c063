package problems_test

import (
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode/problems"
)

func TestNamed(t *testing.T) {
	for _, name := range problems.Names() {
		p, err := problems.Named(name)
		if err != nil || p.Validate() != nil {
			t.Errorf("%s: %v, %v", name, err, p.Validate())
		}
	}
	for name, end := range map[string]float64{"hires": 321.8122, "rober": 1e11, "orego": 360, "vdpol": 2, "pleiades": 3, "Lotka-Volterra": 10} {
		p, err := problems.Named(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if p.Span[1] != end {
			t.Errorf("%s ends at %g, want %g", name, p.Span[1], end)
		}
	}
	if p, _ := problems.Named("vdpol"); p.Theta[0] != 1e6 {
		t.Errorf("vdpol has μ = %g", p.Theta[0])
	}
	_, err := problems.Named(strings.Repeat("x", 10000))
	if err == nil || len(err.Error()) > 600 || !strings.Contains(err.Error(), "fitzhugh-nagumo") {
		t.Errorf("a name of 10 kB: %v", err)
	}
}
