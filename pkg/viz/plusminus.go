package viz

import (
	"fmt"
	"math"
	"strconv"
)

// PlusMinus writes a number together with its standard deviation or error. The error has
// two significant digits, and the number has as many decimals as the error, as in 3.092 ±
// 0.056 or 409 ± 10. Very small and very large numbers have the form (3.092 ± 0.056)·10⁹.
// If the error is zero or not finite, the number is written with four significant digits.
func PlusMinus(v, sd float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) || !(sd > 0) || math.IsInf(sd, 0) {
		return fmt.Sprintf("%.4g ± %.2g", v, sd)
	}
	size := math.Max(math.Abs(v), sd)
	if e := int(math.Floor(math.Log10(size))); e < -3 || e > 6 {
		// Divide by Pow10(e) instead of multiplying by Pow10(-e), which may overflow.
		unit := math.Pow10(e)
		return fmt.Sprintf("(%s)·10%s", PlusMinus(v/unit, sd/unit), superscript(e))
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(sd, 'e', 1, 64), 64) // 0.0996 becomes 0.10
	place := int(math.Floor(math.Log10(rounded)+1e-12)) - 1                   // of the second digit
	if place >= 0 {
		unit := math.Pow10(place)
		return fmt.Sprintf("%.0f ± %.0f", math.Round(v/unit)*unit, math.Round(sd/unit)*unit)
	}
	return fmt.Sprintf("%.*f ± %.*f", -place, v, -place, sd)
}
