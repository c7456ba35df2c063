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
			if !strings.HasPrefix(got, "panic: ") || !strings.Contains(got, " (panic_test.go line ") || strings.Contains(got, "\n") {
				t.Errorf("in %q: %q", folder, got)
			}
		}
	}
	if got := Panic("boom", nil); got != "panic: boom" {
		t.Errorf("without a stack: %q", got)
	}
}

// The message says which argument is too short. The arguments have two and n elements.
func TestLacking(t *testing.T) {
	for _, c := range []struct {
		length, index, theta int
		want                 string
	}{
		{0, 0, 0, ": theta has no element 0: did you forget Theta?"},
		{0, 1, 0, ": theta has no element 1: did you forget Theta?"},
		{3, 3, 3, ": theta has no element 3: Theta has 3, and the first is element 0"},
		{2, 2, 3, ": x has no element 2: X0 has 2, and the first is element 0"},
		{2, 2, 2, ": x and theta have no element 2: both have 2, and the first is element 0"},
		{0, 0, 1, ""}, // a slice of the user's own
		{5, 7, 3, ""},
	} {
		value := func() (value any) {
			defer func() { value = recover() }()
			return make([]float64, c.length)[c.index]
		}()
		if got := Lacking(value, 2, c.theta); got != c.want {
			t.Errorf("element %d of %d: %q, want %q", c.index, c.length, got, c.want)
		}
	}
	if got := Lacking("index out of range", 2, 2); got != "" {
		t.Errorf("another panic: %q", got)
	}
}
