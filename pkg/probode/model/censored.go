package model

import (
	"math"
	"strings"

	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// measured reads a measurement, or the interval of which alone is known that it contains
// the value: 2..5, ..5 or 2.., or the columns measurementType and censoringBounds of
// pyPESTO, beside which the measurement means nothing.
func (d *Observation) measured(r source.Row, column string) {
	fail := func(format string, args ...any) { r.Table().Failf(r.Line, format, args...) }
	text := r.Must(column)
	kind, bounds := r.Get("measurementType"), r.Get("censoringBounds")
	if column != "measurement" {
		kind, bounds = "", ""
	}
	from, to, interval := strings.Cut(text, "..")
	switch {
	case kind == "" && bounds != "":
		fail("censoringBounds is %q, but measurementType is empty: want left-censored, right-censored or interval-censored", bounds)
	case kind == "" && !interval:
		if limit := strings.TrimLeft(text, "<>=≤≥ "); limit != text {
			if _, err := source.ParseNumber(limit); err == nil {
				below := ".." + limit
				if strings.ContainsAny(text, ">≥") {
					below = limit + ".."
				}
				fail("%s is %q, which looks like a limit: want %s, or a limit of the observable in the model file", column, text, below)
			}
		}
		d.Value = r.Number(column)
		return
	case kind == "left-censored":
		from, to = "", bounds
	case kind == "right-censored":
		from, to = bounds, ""
	case kind == "interval-censored":
		if from, to, interval = strings.Cut(bounds, ";"); !interval {
			fail("censoringBounds is %q: want two bounds, separated by “;”", bounds)
		}
	case kind != "":
		r.Table().Refuse(r.Line, "measurementType "+kind, "want left-censored, right-censored, interval-censored or nothing")
	}
	if from == "" && to == "" {
		fail("%s is %q: want one or two bounds", map[bool]string{true: column, false: "censoringBounds"}[kind == ""], map[bool]string{true: text, false: bounds}[kind == ""])
	}
	bound := func(text string, none float64) float64 {
		v, err := source.ParseNumber(strings.TrimSpace(text))
		if text != "" && err != nil {
			fail("the bound %q of an interval is no number", text)
		}
		if text == "" {
			return none
		}
		return v
	}
	d.within = &[2]float64{bound(from, math.Inf(-1)), bound(to, math.Inf(1))}
	if !(d.within[0] < d.within[1]) {
		fail("the interval from %v to %v is empty: want a lower bound below the upper one", d.within[0], d.within[1])
	}
	switch lower, upper := d.within[0], d.within[1]; {
	case math.IsInf(lower, 0) && math.IsInf(upper, 0):
		fail("the interval from %v to %v has no finite bound: want one at least", lower, upper)
	case math.IsInf(lower, 0):
		d.Value = upper
	case math.IsInf(upper, 0):
		d.Value = lower
	default:
		d.Value = lower/2 + upper/2 // figures show it
	}
}
