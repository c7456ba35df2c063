package main

import (
	"bytes"
	"os"
	"testing"
)

// The file in package probode is what the command writes.
func TestGenerated(t *testing.T) {
	want, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../unrolled.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("unrolled.go is not what the template says: run go generate in pkg/probode")
	}
	if lines := bytes.Count(want, []byte("\n")); lines > 725 {
		t.Errorf("%d generated lines: want at most 725", lines)
	}
}
