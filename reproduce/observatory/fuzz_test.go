package main

import (
	"bytes"
	"strings"
	"testing"
)

// The rows that are read from a file are written as the file that gives these rows, to the
// last digit.
func FuzzDecode(f *testing.F) {
	cell, answered := unknown[row](), unknown[answer]()
	cell.Problem, cell.Method, cell.Points = "a \"b\", c", "rk4\nx", 7
	f.Add(encode([]row{cell, cell}, 6))
	f.Add(encode([]answer{answered}, 6))
	f.Add(bytes.Replace(encode([]row{cell}, 6), []byte("NaN"), []byte("1e999"), 1))
	f.Add(bytes.Replace(encode([]row{cell}, 6), []byte(",7,"), []byte(",7.5,"), 1))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		checkDecode[row](t, data)
		checkDecode[answer](t, data)
	})
}

func checkDecode[T any](t *testing.T, data []byte) {
	rows, err := decode[T](data)
	if err != nil {
		if m := err.Error(); len(m) > 1000 || strings.ContainsAny(m, "\n\x1b") {
			t.Errorf("%q", m)
		}
		return
	}
	written := encode(rows, -1)
	again, err := decode[T](written)
	if err != nil || !bytes.Equal(encode(again, -1), written) {
		t.Errorf("%q is read as %q, error %v", data, written, err)
	}
}
