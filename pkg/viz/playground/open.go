package playground

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

var figures = map[string]kind{
	"calibration": {try: "Move α until the error and the spread are about equally large. Then compare your α with α*, the calibrated one.",
		leading: "problem", value: "fitzhugh-nagumo", failure: "This cannot be computed", make: newCalibration},
	"dragons": {try: "Move h from 0.5 down to 0.2, and watch the false peak of the likelihood leave.",
		failure: "This cannot be computed", make: newDragons},
	"model": {try: "Move a parameter away from its value, and press “fit”. Then ask whether the error of the solver matters.",
		leading: "text", value: lynx, failure: "This is not possible", make: newModel},
	"paths": {try: "Make h smaller: the error and the spread of the paths shrink together.",
		leading: "problem", value: "fitzhugh-nagumo", failure: "The solver finds no solution with these settings",
		drawn: []string{"component", "show", "cut"}, make: newPaths},
	"posterior": {try: "Make h larger, and watch how far the posterior moves away from the reference.",
		leading: "problem", value: "fitzhugh-nagumo", failure: "There are no draws",
		drawn: []string{"x", "y", "stop", "step"}, make: newPosterior},
	"step": {try: "Move ξ: the more the slope of the line differs from the slope that the equation prescribes at its end, the less probable is the step.",
		leading: "problem", value: "cubic", failure: "The step cannot be shown", make: newStep},
}

// Names returns the names of all figures.
func Names() []string { return slices.Sorted(maps.Keys(figures)) }

// Open returns a new Figure whose controls have their default values.
func Open(name string) (*Figure, error) {
	k, ok := figures[name]
	if !ok {
		return nil, fmt.Errorf("figure %q: want one of %s", name, strings.Join(Names(), ", "))
	}
	f := &Figure{kind: k}
	f.content = k.make(f)
	return f, f.Set(nil)
}
