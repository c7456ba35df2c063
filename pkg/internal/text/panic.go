package text

import (
	"fmt"
	"path"
	"strings"
)

// Panic describes a panic in one line of text. The text contains the value that
// [recover] returned, and the file and line where the panic happened. The text does not
// contain "main.go:7": GoNB 0.11.4 takes a line with "a: b: main.go:7" for a message of the
// compiler, and dies of the missing column.
func Panic(value any, stack []byte) string {
	message := "panic: " + strings.Join(strings.Fields(fmt.Sprint(value)), " ")
	if file, line, ok := Place(stack, ""); ok {
		message += fmt.Sprintf(" (%s line %s)", path.Base(file), line)
	}
	return message
}

// Place returns the place of a panic in the stack of its goroutine: the innermost call
// of a function whose name begins with the prefix. Functions of the Go runtime are left
// out; a division by zero, for example, panics in the runtime.
func Place(stack []byte, prefix string) (file, line string, ok bool) {
	_, frames, _ := strings.Cut(string(stack), "\npanic(")
	_, frames, _ = strings.Cut(frames, "\n") // the arguments of panic
	function := "runtime.panic"
	for text := range strings.Lines(frames) {
		place, found := strings.CutPrefix(text, "\t")
		if !found {
			function = text
			continue
		}
		if strings.HasPrefix(function, "runtime.") || !strings.HasPrefix(function, prefix) {
			continue
		}
		place, _, _ = strings.Cut(place, " +0x") // the path itself may have spaces
		place = strings.TrimSpace(place)
		colon := strings.LastIndexByte(place, ':')
		return place[:max(colon, 0)], place[colon+1:], true
	}
	return "", "", false
}

// Lacking returns a phrase that begins with a colon, for an error about a panic in a
// function of a model with the arguments x and theta. The phrase says which of the two
// arguments has no element with the index that caused the panic. If the panic has another
// cause, Lacking returns "".
func Lacking(value any, x, theta int) string {
	var index, length int
	n, _ := fmt.Sscanf(fmt.Sprint(value), "runtime error: index out of range [%d] with length %d", &index, &length)
	switch {
	case n < 2 || length != x && length != theta:
		return ""
	case length == 0:
		return fmt.Sprintf(": theta has no element %d: did you forget Theta?", index)
	case x == theta:
		return fmt.Sprintf(": x and theta have no element %d: both have %d, and the first is element 0", index, length)
	case length == theta:
		return fmt.Sprintf(": theta has no element %d: Theta has %d, and the first is element 0", index, length)
	}
	return fmt.Sprintf(": x has no element %d: X0 has %d, and the first is element 0", index, length)
}
