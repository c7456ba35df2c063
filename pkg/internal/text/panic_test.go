package text

import (
	"runtime/debug"
	"strings"
	"testing"
)

// The place of a panic is found wherever the program was built: in a folder with spaces,
// and in one that is called runtime.
func TestPanicPlace(t *testing.T) {
	stack := func(fail func()) (value any, stack []byte) {
		defer func() { value, stack = recover(), debug.Stack() }()
		fail()
		return
	}
	var none []int
	for _, fail := range []func(){
		func() { panic("two\nlines") },
		func() { none[len(none)]++ },
	} {
		value, frames := stack(fail)
		for _, folder := range []string{"", "/a folder/my model", "/runtime", "/a +b"} {
			var moved strings.Builder
			for line := range strings.Lines(string(frames)) {
				if file, ok := strings.CutPrefix(line, "\t"); ok && strings.Contains(line, "panic_test.go") {
					line = "\t" + folder + "/" + file[strings.LastIndex(file, "/")+1:]
				}
				moved.WriteString(line)
			}
			got := Panic(value, []byte(moved.String()))
			if !strings.HasPrefix(got, "panic at panic_test.go:") || strings.Contains(got, "\n") {
				t.Errorf("in %q: %q", folder, got)
			}
		}
	}
	if got := Panic("boom", nil); got != "panic: boom" {
		t.Errorf("without a stack: %q", got)
	}
}
