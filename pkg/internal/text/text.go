// Package text prepares text for a terminal: it aligns tables, and makes arbitrary user
// input safe to print.
package text

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// clipped is the largest number of characters that a message quotes from a user's input.
const clipped = 80

// Clip makes s safe for a message. Clip returns at most 80 characters of s, in printable
// form (see [Printable]), followed by … if s is longer.
func Clip(s string) string {
	n := 0
	for i := range s {
		if n == clipped {
			return Printable(s[:i]) + "…"
		}
		n++
	}
	return Printable(s)
}

// Printable returns s with \ufffd in place of every character that is not safe to print
// on a terminal. Printable replaces control characters, because some of them begin escape
// sequences. Printable also replaces characters that change the text direction, and bytes
// that are not UTF-8.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !IsPrintable(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// List returns the names in printable form, the first six if there are more than seven, and how
// many follow.
func List(names []string) string {
	const most = 6
	if len(names) > most+1 {
		return Printable(fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most))
	}
	return Printable(strings.Join(names, ", "))
}

// IsPrintable reports whether a character is safe to print. Printing a safe character has
// no side effect on the terminal.
func IsPrintable(r rune) bool { return unicode.IsPrint(r) || unicode.Is(unicode.Zs, r) }

// Number formats v with a format of package fmt; NaN becomes a dash.
func Number(format string, v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return fmt.Sprintf(format, v)
}

// Vector writes the first eight elements of x with four significant digits.
func Vector(x []float64) string {
	const most = 8
	if len(x) > most {
		return fmt.Sprintf("%.4g… (%d elements)", x[:most], len(x))
	}
	return fmt.Sprintf("%.4g", x)
}
