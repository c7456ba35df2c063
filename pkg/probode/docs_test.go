package probode_test

import (
	"os"
	"strings"
	"testing"
)

// The page on adding a method shows the code of the example, which is compiled
// and run.
func TestPageShowsTheExample(t *testing.T) {
	page, err := os.ReadFile("../../docs/adding-a-method.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("example_method_test.go")
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	for _, begin := range []string{"type Verlet struct{}", "// Reverse goes", "// oscillator is"} {
		next := strings.Index(string(code), begin)
		if next < at || next < 0 {
			t.Fatal("the example has changed its form")
		}
		if at >= 0 && !strings.Contains(string(page), strings.TrimSpace(string(code[at:next]))) {
			t.Errorf("docs/adding-a-method.md does not show the code of example_method_test.go before %q", begin)
		}
		at = next
	}
}
