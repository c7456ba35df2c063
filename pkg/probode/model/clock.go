package model

import (
	"time"

	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// A clock turns dates into times since an origin.
type clock struct {
	origin time.Time
	unit   float64 // seconds; 0 if the file gives no origin
}

var timeUnits = map[string]float64{"s": 1, "min": 60, "h": 3600, "d": 86400, "week": 7 * 86400}

func parseDate(text string) (time.Time, bool) {
	for _, form := range []string{time.DateOnly, "2006-01-02 15:04", time.DateTime, "2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339} {
		if d, err := time.Parse(form, text); err == nil {
			return d, true
		}
	}
	return time.Time{}, false
}

// readClock reads the origin of the time, which dates in the file and its tables need.
func readClock(t *source.Node) (c clock) {
	text := t.Word("origin")
	if text == "" {
		return c
	}
	d, ok := parseDate(text)
	if !ok {
		t.File.Failf(t.LineOf("origin"), "origin is %q: want a date such as 2020-01-31 or 2020-01-31 08:30", text)
	}
	c.origin, c.unit = d, timeUnits[t.Word("unit")]
	if c.unit == 0 {
		t.File.Failf(t.LineOf("origin"), "the unit of the time is %q: want s, min, h, d or week for a time with an origin", t.Word("unit"))
	}
	return c
}

// number returns the time of a date. It is not ok if the text is no date, and an error if
// there is no origin.
func (c clock) number(s *source.File, line int, what, text string) (t float64, ok bool) {
	d, ok := parseDate(text)
	if ok && c.unit == 0 {
		s.Failf(line, "%s is the date %s: want a number, or an origin of the time in the model file", what, text)
	}
	return d.Sub(c.origin).Seconds() / c.unit, ok
}

// readTime accepts dates, inf, which is the steady state, and numbers from the time `from`
// on.
func (m *Model) readTime(row source.Row, column string, from float64) float64 {
	text := row.Must(column)
	v, ok := m.clock.number(row.Table().File, row.Line, column, text)
	var err error
	if !ok {
		v, err = source.ParseNumber(text)
	}
	if err != nil || v < from {
		row.Table().Failf(row.Line, "%s is %q: want inf, or a number ≥ %v (the start time of the model)", column, text, from)
	}
	return v
}
