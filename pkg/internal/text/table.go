package text

import (
	"strings"
	"unicode"
)

// Table writes each row on its own line, with aligned columns two spaces apart. Rows may
// differ in length. A column is left-aligned if left() returns true for the index of the
// column, and right-aligned if left() returns false. Combining characters, such as the hat
// of R̂, have no width.
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

// First returns true for the first column of a table, which has the index 0, and false
// for all other columns. Use First for tables with a column of names followed by columns
// of numbers.
func First(column int) bool { return column == 0 }

// Width returns the width of s in a terminal, in characters.
func Width(s string) int {
	n := 0
	for _, r := range s {
		if !unicode.Is(unicode.Mn, r) {
			n++
		}
	}
	return n
}
