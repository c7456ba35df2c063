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
	from := strings.Index(string(code), "type Verlet struct{}")
	to := strings.Index(string(code), "// oscillator is")
	if from < 0 || to < from {
		t.Fatal("the example has changed its form")
	}
	if want := strings.TrimSpace(string(code[from:to])); !strings.Contains(string(page), want) {
		t.Error("docs/adding-a-method.md shows other code than example_method_test.go")
	}
}
