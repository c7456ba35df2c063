package text

import (
	"strings"
	"unicode"
)

// Table writes rows with their columns under one another, two spaces apart, a line
// each; a row may be shorter than another. Left tells which columns are flush left,
// as words are; the others are flush right, as numbers are. Combining characters,
// such as the hat of R̂, take no room.
func Table(rows [][]string, left func(column int) bool) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Width(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			fill := strings.Repeat(" ", widths[i]-Width(cell))
			if left(i) {
				line.WriteString(cell + fill)
			} else {
				line.WriteString(fill + cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// First tells whether a column is the first, for tables of names and numbers.
func First(column int) bool { return column == 0 }

// Width returns the room that s takes in a terminal, in characters.
func Width(s string) int {
	n := 0
	for _, r := range s {
		if !unicode.Is(unicode.Mn, r) {
			n++
		}
	}
	return n
}
