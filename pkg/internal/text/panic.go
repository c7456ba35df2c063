package text

import (
	"fmt"
	"path"
	"strings"
)

// Panic describes in one line a panic with the given value, as [recover] returns it,
// and the place in the stack where it happened.
func Panic(value any, stack []byte) string {
	message := strings.Join(strings.Fields(fmt.Sprint(value)), " ")
	_, frames, _ := strings.Cut(string(stack), "\npanic(")
	for line := range strings.Lines(frames) {
		// Skip the frames of the runtime, which checks indices and divisors.
		if file, found := strings.CutPrefix(line, "\t"); found && !strings.Contains(file, "runtime/") {
			file, _, _ = strings.Cut(file, " ")
			return fmt.Sprintf("panic at %s: %s", path.Base(strings.TrimSpace(file)), message)
		}
	}
	return "panic: " + message
}
