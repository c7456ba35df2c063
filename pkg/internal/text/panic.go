package text

import (
	"fmt"
	"path"
	"strings"
)

// Panic describes a panic in one line of text. The text contains the value that
// [recover] returned, and the file and line where the panic happened.
func Panic(value any, stack []byte) string {
	message := strings.Join(strings.Fields(fmt.Sprint(value)), " ")
	_, frames, _ := strings.Cut(string(stack), "\npanic(")
	_, frames, _ = strings.Cut(frames, "\n") // the arguments of panic
	function := "runtime.panic"
	for line := range strings.Lines(frames) {
		file, found := strings.CutPrefix(line, "\t")
		if !found {
			function = line
			continue
		}
		// Skip the frames of the Go runtime. A division by zero, for example, panics in
		// the runtime.
		if strings.HasPrefix(function, "runtime.") {
			continue
		}
		file, _, _ = strings.Cut(file, " +0x") // the path itself may have spaces
		return fmt.Sprintf("panic at %s: %s", path.Base(strings.TrimSpace(file)), message)
	}
	return "panic: " + message
}
