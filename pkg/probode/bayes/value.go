package bayes

import (
	"fmt"
	"math"
	"strings"

	"github.com/probode/probode/pkg/internal/literal"
)

// A Value is a number on which the model depends: either a known number, or a parameter
// that is given by its name. In a [Likelihood], the name can also be that of another
// column of the data. If Name is the name of a column, the number is the value that
// Observe writes for this column, such as a standard deviation that depends on the state.
// If a column serves only to supply a number to the likelihood of another column, all
// data of that column are NaN.
type Value struct {
	Name  string // name of a parameter or column; empty for a known number
	Value float64

	// At, if not nil, replaces Value by known numbers that differ between the rows of the
	// data: At[t] belongs to the row at time t. In other rows the number is NaN.
	At map[float64]float64
}

// Known returns the Value of a known number.
func Known(v float64) Value { return Value{Value: v} }

// Unknown returns the Value of the parameter with the given name.
func Unknown(name string) Value { return Value{Name: name} }

func (v Value) at(t float64) float64 {
	if v.At == nil {
		return v.Value
	}
	if x, ok := v.At[t]; ok {
		return x
	}
	return math.NaN()
}

func (v Value) String() string {
	if v.Name != "" {
		return v.Name
	}
	return fmt.Sprintf("%g", v.Value)
}

func valueText(v any) string {
	return strings.ReplaceAll(strings.TrimPrefix(literal.Declared(v), "distuv."), ", Src: nil", "")
}
