package mcmc

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func TestLiteral(t *testing.T) {
	type inner struct {
		name string
		x    []float64
	}
	type node struct {
		Next *node
		N    uint64
	}
	ring := &node{N: 0x123456789}
	ring.Next = ring
	third := 1. / 3
	for _, c := range []struct {
		v    any
		want string
	}{
		{nil, "nil"},
		{1, "int(1)"},
		{1.0, "float64(1)"},
		{"a b", `string("a b")`},
		{&third, "&float64(0.3333333333333333)"},
		{(*inner)(nil), "(*mcmc.inner)(nil)"},
		{&inner{"σ", []float64{math.NaN(), math.Copysign(0, -1), math.Inf(1)}}, `&mcmc.inner{name: "σ", x: {NaN, -0, +Inf}}`},
		{[]any{1, []int{2}, nil, true}, "[]interface {}{int(1), []int{2}, nil, bool(true)}"},
		{map[string]int{"b": 2, "a": 1}, `map[string]int{"a": 1, "b": 2}`},
		{ring, "&mcmc.node{Next: &…, N: 4886718345}"},
		{strings.ToUpper, "func(string) string(strings.ToUpper)"},
		{AdaptiveMetropolis{Factor: 2}, "mcmc.AdaptiveMetropolis{Scale: {}, Factor: 2, AdaptAfter: 0, Every: 0, StopAfter: 0, Epsilon: 0}"},
	} {
		if got := Literal(c.v); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	// What differs behind a pointer, and in fields that are not exported.
	a, b := mat.NewSymDense(2, []float64{1, 0, 0, 1}), mat.NewSymDense(2, []float64{1, 0, 0, 2})
	if Literal(AdaptiveMixture{Cov: a}) == Literal(AdaptiveMixture{Cov: b}) {
		t.Errorf("two covariances are not told apart: %s", Literal(AdaptiveMixture{Cov: a}))
	}
	if Literal(AdaptiveMixture{Cov: a}) != Literal(AdaptiveMixture{Cov: mat.NewSymDense(2, []float64{1, 0, 0, 1})}) {
		t.Error("equal covariances are told apart")
	}
}
