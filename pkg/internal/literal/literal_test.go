package literal

import (
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func TestOf(t *testing.T) {
	type inner struct {
		name string
		x    []float64
	}
	type rule struct {
		Scale  []float64
		Factor float64
		Cov    mat.Symmetric
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
		{(*inner)(nil), "(*literal.inner)(nil)"},
		{&inner{"σ", []float64{math.NaN(), math.Copysign(0, -1), math.Inf(1)}}, `&literal.inner{name: "σ", x: {NaN, -0, +Inf}}`},
		{[]any{1, []int{2}, nil, true}, "[]interface {}{int(1), []int{2}, nil, bool(true)}"},
		{map[string]int{"b": 2, "a": 1}, `map[string]int{"a": 1, "b": 2}`},
		{ring, "&literal.node{Next: &…, N: 4886718345}"},
		{strings.ToUpper, "func(string) string(strings.ToUpper)"},
		{rule{Factor: 2}, "literal.rule{Scale: {}, Factor: 2, Cov: nil}"},
	} {
		if got := Of(c.v); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	// What differs behind a pointer, and in fields that are not exported.
	a, b := mat.NewSymDense(2, []float64{1, 0, 0, 1}), mat.NewSymDense(2, []float64{1, 0, 0, 2})
	if Of(rule{Cov: a}) == Of(rule{Cov: b}) {
		t.Errorf("two covariances are not told apart: %s", Of(rule{Cov: a}))
	}
	if Of(rule{Cov: a}) != Of(rule{Cov: mat.NewSymDense(2, []float64{1, 0, 0, 1})}) {
		t.Error("equal covariances are told apart")
	}
	for _, c := range []struct {
		v    any
		want string
	}{
		{rule{Factor: 2, Scale: []float64{}}, "literal.rule{Scale: {}, Factor: 2}"},
		{&rule{Cov: a}, "&literal.rule{Cov: " + NonZero(a) + "}"},
		{rule{}, "literal.rule{}"},
		{[]float64{0, 1}, "[]float64{0, 1}"},
		{map[string]rule{"a": {Factor: 1}}, `map[string]literal.rule{"a": {Factor: 1}}`},
	} {
		if got := NonZero(c.v); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// Declared values are the same whatever a process has done and however it was built: pools,
// locks, functions and channels say nothing, in fields of any depth and behind interfaces.
func TestDeclared(t *testing.T) {
	type inner struct {
		pool  sync.Pool
		Scale float64
	}
	type outer struct {
		Name  string
		Of    any
		once  sync.Once
		mutex *sync.Mutex
		done  atomic.Int64
		calls []func()
		ready chan int
		In    *inner
	}
	a := &outer{Name: "a", Of: func() {}, In: &inner{Scale: 2}, mutex: new(sync.Mutex), calls: []func(){func() {}}, ready: make(chan int)}
	const want = `&literal.outer{Name: "a", Of: func() (func), In: &{Scale: 2}}`
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for _, n := range []int{1, 2, 8} {
		runtime.GOMAXPROCS(n)
		a.In.pool.Put(new(int))
		a.once.Do(func() {})
		a.done.Add(1)
		a.Of = func() { a.done.Add(int64(n)) }
		if got := Declared(a); strings.ReplaceAll(got, "func()(func)", "func() (func)") != want {
			t.Errorf("%d processors: %s, want %s", n, got, want)
		}
	}
	if got := NonZero(outer{Of: inner{}}); got != "literal.outer{Of: literal.inner{}}" {
		t.Error(got)
	}
}
