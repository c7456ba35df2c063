package playground

import (
	_ "embed"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/methods"
)

// A knob describes a slider or another control of a figure, and holds its value.
type knob struct {
	Name    string   `json:"name"`
	Label   string   `json:"label"`
	Kind    string   `json:"kind"` // choice, range, log, integer, text, button or toggle
	Options []option `json:"options,omitempty"`
	Min     float64  `json:"min"`
	Max     float64  `json:"max"`
	Step    float64  `json:"step"` // rows of a text, decades of a log
	Value   any      `json:"value"`
	usual   any      // the value of a new figure
	open    bool     // the range is widened for values outside of it
}

// An option is one of the values that a reader can choose in a control.
type option struct {
	Value string `json:"value"`
	Label string `json:"label"`
}

type knobs []knob

const parameter = "p."

// fill takes values from `given`, then those of `before` if options and default of the
// control are the same, then defaults. A value that is not allowed is an error. An open
// slider widens for a number outside its range, and another one takes the nearest limit.
// Parameters that the model does not have are ignored.
func (k knobs) fill(given map[string]any, before knobs) error {
	for name := range given {
		if k.named(name) == nil && !strings.HasPrefix(name, parameter) {
			return fmt.Errorf("%q is not a control of this figure", name)
		}
	}
	for i := range k {
		c := &k[i]
		c.usual = c.Value
		if v, ok := given[c.Name]; ok {
			if err := c.take(v); err != nil {
				return err
			}
		} else if old := before.named(c.Name); old != nil && old.usual == c.usual && slices.Equal(old.Options, c.Options) {
			c.open = c.open || old.open
			_ = c.take(old.Value)
		}
	}
	return nil
}

func (c *knob) take(v any) error {
	to, allowed, want := v, reflect.TypeOf(v) == reflect.TypeOf(c.Value), "text"
	switch number, _ := v.(float64); c.Kind {
	case "choice":
		var values []string
		for _, o := range c.Options {
			values = append(values, o.Value)
		}
		allowed, want = allowed && slices.Contains(values, v.(string)), "one of "+strings.Join(values, ", ")
	case "toggle", "button":
		want = "true or false"
	case "range", "log", "integer":
		allowed, want = allowed && number-number == 0, fmt.Sprintf("a number from %g to %g", c.Min, c.Max)
		if c.open && allowed && (number > 0 || c.Kind != "log") {
			c.Min, c.Max = min(c.Min, number), max(c.Max, number)
		}
		if number = min(max(number, c.Min), c.Max); c.Kind == "integer" {
			number = math.Round(number)
		}
		to = number
	}
	if !allowed {
		return fmt.Errorf("%s is %v: want %s", c.Label, v, want)
	}
	c.Value = to
	return nil
}

func (k knobs) named(name string) *knob {
	if i := slices.IndexFunc(k, func(c knob) bool { return c.Name == name }); i >= 0 {
		return &k[i]
	}
	return nil
}

// symbol returns the name of a parameter as it is written in text, such as θ₃ for theta3.
func symbol(name string) string {
	number, ok := strings.CutPrefix(name, "theta")
	if !ok {
		return name
	}
	return "θ" + strings.Map(func(digit rune) rune { return digit - '0' + '₀' }, number)
}

func (k knobs) number(name string) float64 { return k.named(name).Value.(float64) }
func (k knobs) text(name string) string    { return k.named(name).Value.(string) }
func (k knobs) on(name string) bool        { return k.named(name).Value.(bool) }

func choice(name, label, value string, options ...option) knob {
	return knob{Name: name, Label: label, Kind: "choice", Value: value, Options: options}
}

func plain(values ...string) (all []option) {
	for _, v := range values {
		all = append(all, option{v, v})
	}
	return all
}

func toggle(name, label string, on bool) knob {
	return knob{Name: name, Label: label, Kind: "toggle", Value: on}
}

// slider has the kind range, log or integer.
func slider(name, label, kind string, low, high, step, value float64) knob {
	return knob{Name: name, Label: label, Kind: kind, Min: low, Max: high, Step: step, Value: value}
}

func button(name, label string) knob {
	return knob{Name: name, Label: label, Kind: "button", Value: false}
}

// solvers are by name of package catalog, which is not used because it would make the
// program larger.
var solvers = map[string]struct {
	label  string
	method probode.Method
}{
	"ab1":         {"forward Euler (AB1)", adams.Bashforth{Steps: 1}},
	"ab2":         {"AB2", adams.Bashforth{Steps: 2}},
	"ab4":         {"AB4", adams.Bashforth{Steps: 4}},
	"am0":         {"backward Euler (AM0)", adams.Moulton{}},
	"am0,current": {"backward Euler (AM0)", adams.Moulton{Linearize: adams.Current}},
	"am1":         {"trapezoidal rule (AM1)", adams.Moulton{Steps: 1}},
	"am2":         {"AM2", adams.Moulton{Steps: 2}},
	"rk4":         {"RK4", methods.RungeKutta{}},
	"dp5":         {"dp5", methods.RungeKutta{Tableau: methods.DormandPrince}},
	"radau3":      {"radau3", methods.Radau{Stages: 2}},
	"radau5":      {"radau5", methods.Radau{Stages: 3}},
	"bdf":         {"bdf", methods.BDF{}},
}

var integrators = []string{"ab1", "ab2", "ab4", "am0", "am1", "am2", "rk4"}

func methodChoice(value string, names ...string) knob {
	c := choice("method", "method", value)
	for _, n := range names {
		c.Options = append(c.Options, option{n, solvers[n].label})
	}
	return c
}

func (k knobs) method() probode.Method { return solvers[k.text("method")].method }
