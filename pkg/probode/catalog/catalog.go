// Package catalog names the methods of this module, as the command line does, and the
// solver that is used where none is named.
package catalog

import (
	"fmt"
	"strings"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/filter"
	"github.com/probode/probode/pkg/probode/gp"
	"github.com/probode/probode/pkg/probode/methods"
)

type namedMethod struct {
	name   string
	method probode.Method
}

// plain is a function: with a variable the linker would keep all methods in programs that
// do not call Parse.
func plain() []namedMethod {
	return []namedMethod{
		{"ab1", adams.Bashforth{Steps: 1}},
		{"ab2", adams.Bashforth{Steps: 2}},
		{"ab3", adams.Bashforth{Steps: 3}},
		{"ab4", adams.Bashforth{Steps: 4}},
		{"ab5", adams.Bashforth{Steps: 5}},
		{"am0", adams.Moulton{Steps: 0}},
		{"am1", adams.Moulton{Steps: 1}},
		{"am2", adams.Moulton{Steps: 2}},
		{"am3", adams.Moulton{Steps: 3}},
		{"am4", adams.Moulton{Steps: 4}},
		{"midpoint", methods.RungeKutta{Tableau: methods.Midpoint}},
		{"heun3", methods.RungeKutta{Tableau: methods.Heun}},
		{"rk4", methods.RungeKutta{}},
		{"dp5", methods.RungeKutta{Tableau: methods.DormandPrince}},
		{"dop853", methods.RungeKutta{Tableau: methods.DormandPrince8}},
		{"gauss1", methods.Gauss{Stages: 1}},
		{"gauss2", methods.Gauss{Stages: 2}},
		{"radau3", methods.Radau{Stages: 2}},
		{"radau5", methods.Radau{Stages: 3}},
		{"auto", methods.Auto{}},
		{"bdf", methods.BDF{}},
		{"bdf1", methods.BDF{Steps: 1}},
		{"bdf2", methods.BDF{Steps: 2}},
		{"bdf3", methods.BDF{Steps: 3}},
		{"bdf4", methods.BDF{Steps: 4}},
		{"bdf5", methods.BDF{Steps: 5}},
		{"ek0", filter.EK{Q: 3, Jacobian: filter.Zero}},
		{"ek1", filter.EK{Q: 3}},
		{"ckf", filter.EK{Q: 3, Jacobian: filter.Cubature}},
		{"interrogation", gp.Interrogation{}},
		{"block", gp.Block{}},
	}
}

func variants() (list []namedMethod) {
	for s := range 5 {
		for _, l := range []adams.Linearization{adams.Newton, adams.Current, adams.Predictor} {
			list = append(list, namedMethod{fmt.Sprintf("am%d,%v", s, l), adams.Moulton{Steps: s, Linearize: l}})
		}
	}
	for q := 1; q <= 11; q++ {
		for j, name := range []string{filter.Full: "ek1", filter.Zero: "ek0", filter.Cubature: "ckf"} {
			list = append(list, namedMethod{fmt.Sprintf("%s,%d", name, q), filter.EK{Q: q, Jacobian: filter.Jacobian(j)}})
		}
	}
	return list
}

// Default returns the setup with which a density, or a path without noise, is computed if
// nobody names a solver. The steps are chosen anew at every θ, so that no θ is solved with
// less accuracy than another.
func Default() probode.Setup {
	return probode.Setup{Method: methods.Auto{}, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-6}}}
}

// Help describes in one line the names that Parse accepts.
const Help = "ab1 to ab5, am0 to am4 (also with ,newton ,current or ,predictor), midpoint, heun3, rk4, dp5, dop853, gauss1, gauss2, radau3, radau5, auto (dp5 or radau5), bdf1 to bdf5, bdf (orders 1 to 5 by error control), ek0, ek1 and ckf (of order 3, or of order 1 to 11 as in ek1,5), interrogation and block (Gaussian processes), or random:NAME with the name of a one-step method"

// Names returns the short names that Parse accepts. The list does not include names with
// a comma, such as am1,current and ek1,5, or names of the form random:NAME.
func Names() []string {
	var names []string
	for _, m := range plain() {
		names = append(names, m.name)
	}
	return names
}

// Parse returns the method with the given short name. Any name that Names returns is
// accepted. The names am0 to am4 may be followed by a comma and a linearisation, as in
// am1,current. The names ek0, ek1 and ckf may be followed by a comma and an order, as in
// ek1,5. The name random:NAME stands for the one-step method NAME with steps of random
// length. The number in gauss1 and gauss2 is the number of stages; in radau3, radau5 and
// bdf1 to bdf5 it is the order. Upper and lower case are equivalent. Error messages
// consist of a single line.
func Parse(name string) (probode.Method, error) {
	text := strings.ToLower(strings.TrimSpace(name))
	if inner, ok := strings.CutPrefix(text, "random:"); ok {
		m, err := parsePlain(inner, name)
		if err != nil {
			return nil, err
		}
		if r := (methods.RandomStep{Method: m}); oneStep(m) {
			return r, nil
		}
		return nil, fmt.Errorf("method %s: %v uses earlier steps, but random steps need a one-step method", quote(name), m)
	}
	return parsePlain(text, name)
}

func parsePlain(text, whole string) (probode.Method, error) {
	base, how, with := strings.Cut(strings.TrimSpace(text), ",")
	base, how = strings.TrimSpace(base), strings.TrimSpace(how)
	for _, m := range plain() {
		if m.name != base {
			continue
		}
		if !with {
			return m.method, nil
		}
		for _, v := range variants() {
			if v.name == base+","+how {
				return v.method, nil
			}
		}
	}
	return nil, fmt.Errorf("method %s: want %s", quote(whole), Help)
}

// oneStep asks methods.RandomStep, which refuses a method that uses earlier steps.
func oneStep(m probode.Method) bool {
	p := &probode.Problem{F: func(dst []float64, _ float64, _, _ []float64) { clear(dst) }, X0: []float64{0}, Span: [2]float64{0, 1}}
	g, err := probode.UniformGrid(p, nil, 1./16)
	if err == nil {
		_, err = methods.RandomStep{Method: m}.Stepper(p, g)
	}
	return err == nil
}

func quote(text string) string {
	const most = 80
	if r := []rune(text); len(r) > most {
		text = string(r[:most-1]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
