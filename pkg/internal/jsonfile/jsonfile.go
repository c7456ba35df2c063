// Package jsonfile writes results as JSON for other programs. The names are written in
// the order given. A number that is not finite is written as null.
package jsonfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// An Object is a list of names, each followed by its value. A value may be a float64, a
// []float64, an Object, a slice of Objects, nil, or anything that encoding/json writes.
type Object []any

// MarshalJSON writes the names in the order given.
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := 0; i < len(o); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:", o[i])
		v := o[i+1]
		if x, ok := v.(float64); ok && (math.IsNaN(x) || math.IsInf(x, 0)) {
			v = nil
		}
		var value bytes.Buffer
		enc := json.NewEncoder(&value)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			return nil, err
		}
		b.Write(bytes.TrimSpace(value.Bytes()))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Named returns an Object that pairs names[k] with the number x[k]. If there are more
// names than numbers, null is written for each of the remaining names.
func Named(names []string, x []float64) Object {
	out := Object{}
	for k, name := range names {
		v := math.NaN()
		if k < len(x) {
			v = x[k]
		}
		out = append(out, name, v)
	}
	return out
}

// List returns the objects for the indices 0, …, n−1, each computed by the argument `of`.
// If n is 0, the list is empty, not nil.
func List(n int, of func(i int) Object) []Object {
	out := []Object{}
	for i := range n {
		out = append(out, of(i))
	}
	return out
}

// OrNull returns v, or nil if v is zero. The value nil is written as null.
func OrNull[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

// Write writes o with each name on its own line.
func (o Object) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	return enc.Encode(o)
}
