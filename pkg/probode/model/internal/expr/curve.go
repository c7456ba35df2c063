package expr

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mathext"
)

// A Curve is a function of one number whose derivatives are known, such as an
// interpolated table.
type Curve interface {
	// Derivative returns the derivative of the given order at x; order 0 is the value.
	Derivative(order int, x float64) float64
	// Jumps reports whether the curve itself jumps.
	Jumps() bool
}

// CurveAt returns the value of a curve at x. Curves with the same name must be the same.
func CurveAt(name string, c Curve, x *Node) *Node { return derivativeOf(name, c, 0, x) }

// derivativeOf keeps the order in the number of the node.
func derivativeOf(name string, c Curve, order float64, x *Node) *Node {
	return &Node{op: opCurve, val: order, name: name, curve: c, args: []*Node{x}}
}

// at evaluates the curve of n.
func (n *Node) at(x float64) float64 { return n.curve.Derivative(int(n.val), x) }

// curveName marks derivatives by primes.
func (n *Node) curveName() string { return n.name + strings.Repeat("'", int(n.val)) }

// logGamma is the logarithm of the absolute value of the gamma function.
type logGamma struct{}

func (logGamma) Jumps() bool { return false }

func (logGamma) Derivative(order int, x float64) float64 {
	switch order {
	case 0:
		v, _ := math.Lgamma(x)
		return v
	case 1:
		return digamma(x)
	}
	// ψ⁽ⁿ⁾(x) = (−1)ⁿ⁺¹ n! ζ(n+1, x)
	n := float64(order - 1)
	return math.Pow(-1, n+1) * math.Gamma(n+1) * mathext.Zeta(n+1, x)
}

// digamma is accurate to rounding; mathext.Digamma has an error of 5e-11.
func digamma(x float64) (v float64) {
	if x <= 0 {
		return digamma(1-x) - math.Pi/math.Tan(math.Pi*x)
	}
	for ; x < 10; x++ {
		v -= 1 / x
	}
	r := 1 / (x * x)
	return v + math.Log(x) - 0.5/x - r*(1./12-r*(1./120-r*(1./252-r*(1./240-r*(1./132-r*691/32760)))))
}

// Curves lists the curves in the expressions, each once.
func Curves(list ...*Node) (curves []Curve) {
	for _, m := range Parts(list...) {
		if m.op == opCurve && !slices.Contains(curves, m.curve) {
			curves = append(curves, m.curve)
		}
	}
	return curves
}

// ungeneratable returns an error if the line has a curve, for which Go has no function.
func (s *straightLine) ungeneratable() error {
	for _, c := range s.curves {
		return fmt.Errorf("%s is not supported in generated Go code", c.name)
	}
	return nil
}
