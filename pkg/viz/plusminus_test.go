package viz

import (
	"math"
	"testing"
)

func TestPlusMinus(t *testing.T) {
	for _, c := range []struct {
		v, sd float64
		want  string
	}{
		{3.0921, 0.0562, "3.092 ± 0.056"},
		{409.3, 10.34, "409 ± 10"},
		{94.5, 3.2, "94.5 ± 3.2"},
		{1234, 123, "1230 ± 120"},
		{0.20008, 0.00436, "0.2001 ± 0.0044"},
		{4.1e-5, 1.2e-6, "(4.10 ± 0.12)·10⁻⁵"},
		{-2.5, 0.0996, "-2.50 ± 0.10"},
		{0, 0.5, "0.00 ± 0.50"},
		{1e9, 2e7, "(1.000 ± 0.020)·10⁹"},
		{1.5, 0, "1.5 ± 0"},
		{1.5, math.NaN(), "1.5 ± NaN"},
		{1e-300, 1e-301, "(1.00 ± 0.10)·10⁻³⁰⁰"},
	} {
		if got := PlusMinus(c.v, c.sd); got != c.want {
			t.Errorf("PlusMinus(%v, %v) = %q, want %q", c.v, c.sd, got, c.want)
		}
	}
}
