package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
)

// load reads a file of testdata.
func load(t testing.TB, name string) *File {
	t.Helper()
	p, err := Load("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func experiments(t testing.TB, p *File) []*Instance {
	t.Helper()
	list, err := p.Instances()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// nominalValues are the values of the parameters at which formulas are compared.
func nominalValues(p *File) map[string]float64 {
	v := map[string]float64{}
	for _, q := range p.Params {
		v[q.ID] = q.Nominal
	}
	return v
}

func value(t testing.TB, n *expr.Node, at map[string]float64) float64 {
	t.Helper()
	var names []string
	var in, out []float64
	for name, v := range at {
		names, in = append(names, name), append(in, v)
	}
	p, err := expr.Compile(names, []*expr.Node{n})
	if err != nil {
		t.Fatalf("%s: %v", n, err)
	}
	out = make([]float64, 1)
	p.Eval(out, in)
	return out[0]
}

// near reports whether two values differ only by rounding, as after a handful of
// operations in a different order, each with a relative error of 2^-53.
func near(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-13*max(math.Abs(a), math.Abs(b), 1e-3) || a != a && b != b
}

// A twin is a model written by hand, to which a model file should be equal.
type twin struct {
	file    string
	rates   func(dst []float64, t float64, x []float64, p map[string]float64)
	initial func(p map[string]float64) []float64
	observe func(x []float64, p map[string]float64) map[string]float64
}

var twins = []twin{
	{"lynx.yaml",
		func(dst []float64, _ float64, x []float64, p map[string]float64) {
			dst[0] = x[0] * (p["theta1"] - p["theta2"]*x[1])
			dst[1] = x[1] * (p["theta4"]*x[0] - p["theta3"])
		},
		func(p map[string]float64) []float64 { return []float64{p["hare0"], p["lynx0"]} },
		func(x []float64, p map[string]float64) map[string]float64 {
			return map[string]float64{"hare": x[0], "lynx": x[1]}
		}},
	{"influenza.yaml",
		func(dst []float64, _ float64, x []float64, p map[string]float64) {
			infect := p["beta"] * x[0] * x[1] / (x[0] + x[1] + x[2])
			dst[0], dst[1], dst[2] = -infect, infect-p["gamma"]*x[1], p["gamma"]*x[1]
		},
		func(p map[string]float64) []float64 { return []float64{762, 1, 0} },
		func(x []float64, p map[string]float64) map[string]float64 {
			return map[string]float64{"in_bed": x[1]}
		}},
	{"pk.yaml",
		func(dst []float64, _ float64, x []float64, p map[string]float64) {
			c := x[1] / p["volume"]
			dst[0] = -p["ka"] * x[0]
			dst[1] = p["ka"]*x[0] - p["vmax"]*c/(p["km"]+c)
		},
		func(p map[string]float64) []float64 { return []float64{0, 0} },
		func(x []float64, p map[string]float64) map[string]float64 {
			return map[string]float64{"blood": x[1] / p["volume"]}
		}},
	{"cascade.yaml",
		func(dst []float64, t float64, x []float64, p map[string]float64) {
			signal := 0.0
			if t < p["off"] {
				signal = 1
			}
			dst[0] = p["k1"] * (signal*(1-x[0]) - x[0])
			dst[1] = p["k2"] * (x[0]*(1-x[1])/(1+p["inhibitor"]) - 0.5*x[1])
			dst[2] = p["k3"] * (x[1]*x[1]*(1-x[2]) - 0.2*x[2])
		},
		func(p map[string]float64) []float64 { return []float64{0, 0, 0.01} }, nil},
}

// A model file gives the same numbers as the model written by hand.
func TestTwins(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, w := range twins {
		p := load(t, w.file)
		for _, e := range experiments(t, p) {
			at := nominalValues(p)
			for _, s := range p.Models[0].condition(e.Condition).set {
				at[s.id] = value(t, s.value, at)
			}
			for i, x0 := range w.initial(at) {
				if got := value(t, e.initial[i], at); got != x0 {
					t.Errorf("%s %s: %s starts at %v: want %v", w.file, e.Condition, e.states[i], got, x0)
				}
			}
			for range 20 {
				x := make([]float64, len(e.states))
				for i, s := range e.states {
					x[i] = rng.Float64()
					at[s] = x[i]
				}
				at[expr.Time] = 40 * rng.Float64()
				want := make([]float64, len(x))
				w.rates(want, at[expr.Time], x, at)
				for i := range want {
					if got := value(t, e.rates[i], at); !near(got, want[i]) {
						t.Errorf("%s %s: %s' = %v: want %v", w.file, e.Condition, e.states[i], got, want[i])
					}
				}
				for _, r := range e.rows {
					if w.observe == nil {
						break
					}
					if got, want := value(t, r.formula, at), w.observe(x, at)[r.id]; !near(got, want) {
						t.Errorf("%s: %s is %v: want %v", w.file, r.id, got, want)
					}
				}
			}
		}
	}
}

func TestPlaceholders(t *testing.T) {
	p := load(t, "cascade.yaml")
	m := p.Models[0]
	at := nominalValues(p)
	at["C"] = 0.3
	for _, e := range experiments(t, p) {
		for _, r := range e.rows {
			gel, _ := m.Data[r.index].observableParams[0].Symbol()
			sd := map[string]float64{"gel_a": at["sd"], "gel_b": 0.08}[gel]
			if got, want := value(t, r.formula, at), at[gel]*(0.3+0.01); !near(got, want) {
				t.Errorf("line %d: %v: want %v", m.Data[r.index].where.Line, got, want)
			}
			if got := value(t, r.noise, at); got != sd {
				t.Errorf("line %d: noise %v: want %v", m.Data[r.index].where.Line, got, sd)
			}
			if r.value != m.Data[r.index].Value || r.scale != Log10 || r.distribution != normalNoise {
				t.Errorf("row %+v of %+v", r, m.Data[r.index])
			}
		}
	}
}

// Doses are given at multiples of the interval that the condition sets.
func TestDoses(t *testing.T) {
	p := load(t, "pk.yaml")
	want := map[string][]float64{"low": {0, 12, 24, 36}, "high": {0, 8, 16, 24}}
	dose := map[string]float64{"low": 100, "high": 150}
	for _, e := range experiments(t, p) {
		if len(e.events) != 4 {
			t.Fatalf("%d events", len(e.events))
		}
		for i, v := range e.events {
			if got := value(t, v.Time, nil); got != want[e.Condition][i] {
				t.Errorf("%s: event %d at %v", e.Condition, i, got)
			}
			if v.Early != equations.AtStart {
				t.Errorf("%s: an event at the start does not happen", e.Condition)
			}
			if len(v.Jumps) != 1 || v.Jumps[0].State != "gut" {
				t.Fatalf("jumps %v", v.Jumps)
			}
			if got := value(t, v.Jumps[0].Value, map[string]float64{"gut": 7}); got != 7+dose[e.Condition] {
				t.Errorf("%s: gut becomes %v", e.Condition, got)
			}
		}
	}
}

func TestSwitches(t *testing.T) {
	p := load(t, "cascade.yaml")
	for _, e := range experiments(t, p) {
		if len(e.switches) != 1 || e.hybrid != nil || value(t, e.switches[0], map[string]float64{"off": 20}) != 20 {
			t.Errorf("switches %v, %v", e.switches, e.hybrid)
		}
	}
}

// sameExperiments compares the experiments of two problems at random states.
func sameExperiments(t *testing.T, a, b *File) {
	t.Helper()
	rng := rand.New(rand.NewPCG(2, 2))
	ea, eb := experiments(t, a), experiments(t, b)
	if len(ea) != len(eb) {
		t.Fatalf("%d experiments and %d", len(ea), len(eb))
	}
	for k, e := range ea {
		f := eb[k]
		for _, pair := range [][2]*system{{&e.system, &f.system}, {e.pre, f.pre}} {
			s, u := pair[0], pair[1]
			if (s == nil) != (u == nil) {
				t.Fatal("one with preequilibration, one without")
			}
			if s == nil {
				continue
			}
			order := map[string]int{}
			for i, id := range u.states {
				order[id] = i
			}
			at := nominalValues(a)
			for range 5 {
				for _, id := range s.states {
					at[id] = rng.Float64()
				}
				at[expr.Time] = 50 * rng.Float64()
				for i, id := range s.states {
					j, ok := order[id]
					if !ok {
						t.Fatalf("state %s is missing", id)
					}
					if v, w := value(t, s.rates[i], at), value(t, u.rates[j], at); !near(v, w) {
						t.Errorf("%s' is %v and %v", id, v, w)
					}
					if v, w := value(t, s.initial[i], at), value(t, u.initial[j], at); !near(v, w) {
						t.Errorf("%s starts at %v and %v", id, v, w)
					}
				}
				if len(s.events) != len(u.events) || len(s.switches) != len(u.switches) {
					t.Fatalf("%d and %d events, %d and %d switches", len(s.events), len(u.events), len(s.switches), len(u.switches))
				}
				for i := range s.events {
					if v, w := value(t, s.events[i].Time, at), value(t, u.events[i].Time, at); !near(v, w) {
						t.Errorf("event at %v and %v", v, w)
					}
					for j, x := range s.events[i].Jumps {
						if v, w := value(t, x.Value, at), value(t, u.events[i].Jumps[j].Value, at); !near(v, w) || x.State != u.events[i].Jumps[j].State {
							t.Errorf("jump to %v and %v", v, w)
						}
					}
				}
			}
		}
		if len(e.rows) != len(f.rows) {
			t.Fatalf("%d rows and %d", len(e.rows), len(f.rows))
		}
		at := nominalValues(a)
		for _, id := range e.states {
			at[id] = rng.Float64()
		}
		for i, r := range e.rows {
			s := f.rows[i]
			at[expr.Time] = r.time
			if r.id != s.id || r.time != s.time || r.value != s.value || r.scale != s.scale || r.distribution != s.distribution ||
				!near(value(t, r.formula, at), value(t, s.formula, at)) || !near(value(t, r.noise, at), value(t, s.noise, at)) {
				t.Fatalf("rows %+v and %+v", r, s)
			}
		}
	}
}
