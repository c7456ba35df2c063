package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/catalog"
)

// solving has the flags of the solver; each command defines those that it needs.
type solving struct {
	flags             *flag.FlagSet
	method            string
	step              float64
	steps, rtol, atol string // lists

	components int  // if positive, the number of components, for each of which -atol may have a number
	frozen     bool // error control chooses the steps once, and not again for every θ
}

func (s *solving) set(name string) bool { return given(s.flags, name) }

func (s *solving) by(base probode.Setup) (_ probode.Setup, err error) {
	if s.method != "" {
		if base.Method, err = catalog.Parse(s.method); err != nil {
			return base, fmt.Errorf("-method: %w", err)
		}
	}
	return base, nil
}

func (s *solving) stepped() bool { return s.set("steps") || s.set("rtol") || s.set("atol") }

// setups returns one for each step size or tolerance, or a single one.
func (s *solving) setups(base probode.Setup) (all []probode.Setup, err error) {
	if base, err = s.by(base); err != nil {
		return nil, err
	}
	var chosen []string
	for _, name := range []string{"step", "steps", "rtol", "atol"} {
		if s.set(name) && !(name == "atol" && s.set("rtol")) {
			chosen = append(chosen, "-"+name)
		}
	}
	if len(chosen) > 1 {
		return nil, fmt.Errorf("%s: give only one of them", strings.Join(chosen, " and "))
	}
	switch {
	case s.set("step"):
		if !(s.step > 0 && s.step <= math.MaxFloat64) {
			return nil, fmt.Errorf("-step %g: want a finite number > 0", s.step)
		}
		return []probode.Setup{base.WithStepSize(s.step)}, nil
	case s.set("steps"):
		sizes, err := stepSizes(s.steps)
		for _, h := range sizes {
			all = append(all, base.WithStepSize(h))
		}
		return all, err
	case !s.set("rtol") && !s.set("atol"):
		return []probode.Setup{base}, nil
	}
	tolerances, err := s.tolerances()
	for _, t := range tolerances {
		base.Mesh = probode.Adaptive{Tolerance: t}
		if s.frozen {
			base.Mesh = probode.Frozen{Tolerance: t}
		}
		all = append(all, base)
	}
	return all, err
}

// ladder has by default the steps h, h/2, h/4 and h/8, with h from -step or `base`.
func (s *solving) ladder(base probode.Setup) ([]probode.Setup, error) {
	all, err := s.setups(base)
	if err != nil || s.stepped() {
		return all, err
	}
	h := all[0].StepSize()
	if h == 0 {
		return nil, errors.New("set -steps to a list of step sizes such as 1,0.5,0.25,0.125, or -rtol to a list of tolerances")
	}
	for _, part := range []float64{2, 4, 8} {
		all = append(all, all[0].WithStepSize(h/part))
	}
	return all, nil
}

func stepSizes(list string) ([]float64, error) {
	var steps []float64
	for _, one := range strings.Split(list, ",") {
		h, err := strconv.ParseFloat(strings.TrimSpace(one), 64)
		switch {
		case err != nil || !(h >= 1e-300) || math.IsInf(h, 1):
			return nil, fmt.Errorf("-steps %s: %q: want numbers > 0, such as 1,0.5,0.25,0.125", text.Clip(list), text.Clip(one))
		case slices.Contains(steps, h):
			return nil, fmt.Errorf("-steps %s: %q is given twice: want each step once", text.Clip(list), text.Clip(one))
		}
		steps = append(steps, h)
	}
	return steps, nil
}

// tolerances returns one for each number in the longer list of -rtol and -atol, or if
// s.components > 0 a single one, with an absolute tolerance for each component.
func (s *solving) tolerances() ([]probode.Tolerance, error) {
	relative, err := s.list("rtol", s.rtol, "want numbers in [1e-15, 1); 0 is allowed only if -atol is set", func(v float64) bool {
		return v >= 1e-15 && v < 1 || v == 0 && s.set("atol")
	})
	if err != nil {
		return nil, err
	}
	absolute, err := s.list("atol", s.atol, "want finite numbers > 0", func(v float64) bool { return v > 0 })
	if err != nil {
		return nil, err
	}
	n := max(len(relative), len(absolute))
	switch {
	case s.components > 0:
		if len(relative) > 1 {
			return nil, fmt.Errorf("-rtol %s: want one number", text.Clip(s.rtol))
		}
		if len(absolute) > 1 && len(absolute) != s.components {
			return nil, fmt.Errorf("-atol %s: want a number, or %d", text.Clip(s.atol), s.components)
		}
		n = 1
	case relative != nil && len(absolute) > 1 && len(absolute) != len(relative):
		return nil, fmt.Errorf("-atol %s has %d numbers, but -rtol has %d: want one -atol for each -rtol, or one for all", text.Clip(s.atol), len(absolute), len(relative))
	}
	var out []probode.Tolerance
	for i := range n {
		t := probode.Tolerance{Absolute: absolute}
		if relative != nil {
			t.Relative = relative[i]
		}
		if s.components == 0 && absolute != nil {
			t.Absolute = absolute[min(i, len(absolute)-1):][:1]
		}
		for _, u := range out {
			if u.Relative == t.Relative && slices.Equal(u.Absolute, t.Absolute) {
				return nil, fmt.Errorf("-rtol and -atol: %v is given twice: want each tolerance once", t)
			}
		}
		out = append(out, t)
	}
	return out, nil
}

func (s *solving) list(name, value, want string, allowed func(v float64) bool) ([]float64, error) {
	if !s.set(name) {
		return nil, nil
	}
	all, err := numbers(value)
	if err != nil || slices.ContainsFunc(all, func(v float64) bool { return !allowed(v) }) {
		return nil, fmt.Errorf("-%s %s: %s", name, text.Clip(value), want)
	}
	return all, nil
}

// noiseScale reports whether -alpha is a number. Any other value is "auto" or a prior.
func noiseScale(value string) (alpha float64, is bool, err error) {
	v, notNumber := strconv.ParseFloat(value, 64)
	if notNumber == nil && (!(v >= 0) || math.IsInf(v, 1)) {
		return 0, true, fmt.Errorf("-alpha %s: want a number ≥ 0, or auto", text.Clip(value))
	}
	return v, notNumber == nil, nil
}
