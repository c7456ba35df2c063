package text

import "strings"

// Nearest returns the element of `names` that differs least from the argument `name`. An
// element is too different if it differs from `name` in more than two letters, or in more
// than a third of the letters of `name`. If every element is too different from `name`,
// the result is "".
func Nearest(name string, names []string) string {
	best, dist := "", 1+min(2, len(name)/3)
	for _, c := range names {
		if d := edits(strings.ToLower(name), strings.ToLower(c)); d < dist {
			best, dist = c, d
		}
	}
	return best
}

// edits returns the Levenshtein distance between two short words.
func edits(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diag
			if a[i] != b[j] {
				cost++
			}
			diag = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
