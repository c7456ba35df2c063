// Package text writes what people read in a terminal: words of others that may
// hold anything, and tables.
package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// clipped is how much of an input is repeated to its author.
const clipped = 80

// Clip returns s in a form that does no harm in a message: printable, see
// [Printable], and of a long one the beginning, with … for the rest.
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

// Printable returns s with \ufffd for whatever a terminal might take for a command
// or not show: control characters, such as those that begin escape sequences,
// characters that turn the direction of writing, and bytes that are no UTF-8.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !IsPrintable(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// IsPrintable tells whether a terminal shows the character and does nothing else.
func IsPrintable(r rune) bool { return unicode.IsPrint(r) || unicode.Is(unicode.Zs, r) }
