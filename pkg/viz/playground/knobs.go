package playground

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/methods"
)

// A knobs is a list of controls with their values.
type knobs []Control

// fill gives the controls their values: those in given, or otherwise those in kept, as
// far as they are allowed. A value in given that is not allowed is an error, except that
// numbers are moved into their range, and parameters that a model no longer has are
// ignored.
func (k knobs) fill(given, kept map[string]any) error {
	for name := range given {
		if k.named(name) == nil && !strings.HasPrefix(name, parameter) {
			return fmt.Errorf("%q is not a knob of this figure", name)
		}
	}
	for i := range k {
		c := &k[i]
		if v, ok := given[c.Name]; ok {
			if err := c.take(v); err != nil {
				return err
			}
		} else if v, ok := kept[c.Name]; ok {
			_ = c.take(v) // the control has another range now, and keeps its usual value
		}
	}
	return nil
}

// take sets the value of a control.
func (c *Control) take(v any) error {
	number, isNumber := v.(float64)
	text, isText := v.(string)
	on, isBool := v.(bool)
	switch c.Kind {
	case "choice":
		if !slices.ContainsFunc(c.Options, func(o Option) bool { return isText && o.Value == text }) {
			var allowed []string
			for _, o := range c.Options {
				allowed = append(allowed, o.Value)
			}
			return fmt.Errorf("%s is %v: want one of %s", c.Label, v, strings.Join(allowed, ", "))
		}
		c.Value = text
	case "text":
		if !isText {
			return fmt.Errorf("%s is %v: want text", c.Label, v)
		}
		c.Value = text
	case "toggle", "button":
		if !isBool {
			return fmt.Errorf("%s is %v: want true or false", c.Label, v)
		}
		c.Value = on
	default:
		if !isNumber || number-number != 0 {
			return fmt.Errorf("%s is %v: want a number from %g to %g", c.Label, v, c.Min, c.Max)
		}
		if number = min(max(number, c.Min), c.Max); c.Kind == "integer" {
			number = math.Round(number)
		}
		c.Value = number
	}
	return nil
}

// values returns the values of all controls except buttons.
func (k knobs) values() map[string]any {
	all := map[string]any{}
	for _, c := range k {
		if c.Kind != "button" {
			all[c.Name] = c.Value
		}
	}
	return all
}

func (k knobs) named(name string) *Control {
	if i := slices.IndexFunc(k, func(c Control) bool { return c.Name == name }); i >= 0 {
		return &k[i]
	}
	return nil
}

func (k knobs) number(name string) float64 { return k.named(name).Value.(float64) }
func (k knobs) text(name string) string    { return k.named(name).Value.(string) }
func (k knobs) on(name string) bool        { return k.named(name).Value.(bool) }

// choice returns a control for one of some values.
func choice(name, label, value string, options ...Option) Control {
	return Control{Name: name, Label: label, Kind: "choice", Value: value, Options: options}
}

// plain returns options whose values are their own labels.
func plain(values ...string) (all []Option) {
	for _, v := range values {
		all = append(all, Option{v, v})
	}
	return all
}

// toggle returns a control that is on or off.
func toggle(name, label string, on bool) Control {
	return Control{Name: name, Label: label, Kind: "toggle", Value: on}
}

// slider returns a control for a number; kind is range, log or integer.
func slider(name, label, kind string, low, high, step, value float64) Control {
	return Control{Name: name, Label: label, Kind: kind, Min: low, Max: high, Step: step, Value: value}
}

// button returns a control that is pressed.
func button(name, label string) Control {
	return Control{Name: name, Label: label, Kind: "button", Value: false}
}

// methodNames are the names that methodNamed accepts. They are the same as in package
// methods, whose function Parse accepts more names but would make the program larger.
var methodNames = []string{"ab1", "am0", "am1", "rk4", "dp5", "radau3", "radau5", "bdf"}

// methodNamed returns the method that a choice names.
func methodNamed(name string) probode.Method {
	switch name {
	case "ab1":
		return adams.Bashforth{Steps: 1}
	case "ab2":
		return adams.Bashforth{Steps: 2}
	case "ab4":
		return adams.Bashforth{Steps: 4}
	case "am0":
		return adams.Moulton{}
	case "am0,current":
		return adams.Moulton{Linearize: adams.Current}
	case "am1":
		return adams.Moulton{Steps: 1}
	case "am2":
		return adams.Moulton{Steps: 2}
	case "dp5":
		return probode.RungeKutta{Tableau: probode.DormandPrince}
	case "radau3":
		return methods.Radau{Stages: 2}
	case "radau5":
		return methods.Radau{Stages: 3}
	case "bdf":
		return methods.BDF{}
	}
	return probode.RungeKutta{}
}
