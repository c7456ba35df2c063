package model

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/reference"
)

// event writes an event of SBML. The parts of the head are a trigger, and in any order a
// delay, a priority, and the words late, cancelled and false (the value before the start).
func event(head string, set ...string) string {
	parts := strings.Split(head, "; ")
	s := fmt.Sprintf(`<event useValuesFromTriggerTime="%v"><trigger persistent="%v" initialValue="%v">{%s}</trigger>`,
		!slices.Contains(parts, "late"), !slices.Contains(parts, "cancelled"), !slices.Contains(parts, "false"), parts[0])
	for _, p := range parts[1:] {
		if what, value, ok := strings.Cut(p, " "); ok {
			s += fmt.Sprintf("<%s>{%s}</%[1]s>", what, value)
		}
	}
	s += "<listOfEventAssignments>"
	for _, v := range set {
		id, value, _ := strings.Cut(v, " = ")
		s += fmt.Sprintf(`<eventAssignment variable="%s">{%s}</eventAssignment>`, id, value)
	}
	return s + "</listOfEventAssignments></event>"
}

// withEvents is a model with x′ = p, x(0) = 0, p = 1, in which everything else is changed
// only by events.
func withEvents(t *testing.T, events ...string) (*File, error) {
	text := level3 + `<listOfParameters><parameter id="p" value="1" constant="true"/><parameter id="D" value="2" constant="true"/>
		<parameter id="x" value="0" constant="false"/><parameter id="z" value="0" constant="false"/>
		<parameter id="a" value="1" constant="false"/><parameter id="b" value="2" constant="false"/></listOfParameters>
		<listOfRules><rateRule variable="x">{p}</rateRule><rateRule variable="z">{b}</rateRule></listOfRules>
		<listOfEvents>` + strings.Join(events, "") + `</listOfEvents>` + ends
	return LoadFS(fstest.MapFS{"m.xml": {Data: []byte(withMath(t, text))}}, "m.xml")
}

// States after events with delays and priorities, worked out by hand. Both solvers find
// them, with steps of any length.
func TestPendingEvents(t *testing.T) {
	for _, c := range []struct {
		name   string
		at     float64
		a, b   float64
		events []string
	}{
		{"before the delay is over", 2.9, 1, 2, []string{event("x >= 1; delay 2", "a = x + 10")}},
		{"values at the trigger", 3.5, 11, 2, []string{event("x >= 1; delay 2", "a = x + 10")}},
		{"values at the execution", 3.5, 13, 2, []string{event("x >= 1; delay 2; late", "a = x + 10")}},
		{"the delay is that at the trigger", 3.5, 11, 5, []string{event("x >= 1; delay D*x", "a = x + 10"), event("x >= 2", "b = 5", "x = 0.5")}},
		{"a known time", 3.5, 11, 2, []string{event("time >= 1; delay D", "a = x + 10")}},
		{"a known time, values at the execution", 3.5, 13, 2, []string{event("time >= 1; delay 2; late", "a = x + 10")}},
		{"at the start", 2.5, 10, 2, []string{event("x >= 0; delay 2; false", "a = x + 10")}},
		{"a known time at the start", 2.5, 10, 2, []string{event("time >= 0; delay 2; false", "a = x + 10")}},
		{"a known time before the start", 2.5, 1, 2, []string{event("time >= p - 2; delay 2", "a = x + 10")}},
		{"cancelled", 5, 1, 2, []string{event("x >= 1 && x < 2; delay 2; cancelled", "a = 7")}},
		{"cancelled if persistent", 5, 7, 2, []string{event("x >= 1 && x < 2; delay 2", "a = 7")}},
		{"executed before it could be cancelled", 5, 7, 2, []string{event("x >= 1 && x < 2; delay 0.5; cancelled", "a = 7")}},
		// x falls to 0 at 1, 2, 3, …; the executions are at 3.5, 4.5 and 5.5.
		{"three pending", 6.2, 4, 2, []string{event("x >= 1", "x = 0"), event("x >= 1; delay 2.5; late", "a = a + 1")}},
		{"exchanged at once", 2, 2, 1, []string{event("x >= 1", "a = b"), event("x >= 1", "b = a")}},
		{"exchanged at once, at a known time", 2, 2, 1, []string{event("time >= 1", "a = b"), event("time >= 1", "b = a")}},
		{"one after the other", 2, 2, 2, []string{event("x >= 1; late", "a = b"), event("x >= 1; late", "b = a")}},
		{"the order of the file", 2, 3, 2, []string{event("x >= 1; late", "a = 2*a"), event("x >= 1; late", "a = a + 1")}},
		{"the order of priorities", 2, 4, 2, []string{event("x >= 1; late; priority 1", "a = 2*a"), event("x >= 1; late; priority 2", "a = a + 1")}},
		{"at known times, too", 2, 4, 2, []string{event("time >= 1; late; priority -1", "a = 2*a"), event("time >= 1; late; priority 2", "a = a + 1")}},
		// a: 1 → 2 by the first. Then the priority of the third is 4 > 3: a = 20, then 21.
		{"priorities of the moment", 2, 21, 2, []string{event("x >= 1; late; priority 5", "a = a + 1"), event("x >= 1; late; priority 3", "a = a + 1"), event("x >= 1; late; priority 2*a", "a = 10*a")}},
		{"cancelled by one that comes first", 2, 0, 2, []string{event("x >= 1; priority 2", "a = 0"), event("x >= 1 && a > 0.5; priority 1; cancelled", "b = 9")}},
		{"set off by one that comes first", 2, 0, 9, []string{event("x >= 1; priority 2", "a = 0"), event("x >= 1; priority 1", "b = 5"), event("a < 0.5; late; priority 0", "b = b + 4")}},
	} {
		p, err := withEvents(t, c.events...)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		e := experiments(t, p)[0]
		q, err := p.ODE(e)
		if err != nil {
			t.Fatal(err)
		}
		q.Span[1] = c.at
		a, b := slices.Index(e.states, "a"), slices.Index(e.states, "b")
		check := func(how string, x []float64, err error) {
			if err != nil {
				t.Errorf("%s, %s: %v", c.name, how, err)
				return
			}
			var got [2]float64
			for i, k := range [2]int{a, b} {
				if got[i] = [2]float64{1, 2}[i]; k >= 0 { // a constant where no event sets it
					got[i] = x[k]
				}
			}
			if math.Abs(got[0]-c.a) > 1e-6 || math.Abs(got[1]-c.b) > 1e-6 {
				t.Errorf("%s, %s: a, b = %v: want %v, %v", c.name, how, got, c.a, c.b)
			}
		}
		for _, mesh := range []probode.Adaptive{{Tolerance: probode.Tolerance{Relative: 1e-6}}, {Tolerance: probode.Tolerance{Relative: 1e-3}, Max: 0.01}, probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-6}}.InParts(2)} {
			x := make([]float64, q.Dim())
			path, err := probode.Setup{Method: methods.Auto{}, Mesh: mesh}.Bind(t.Context(), q, nil, []float64{c.at})
			if err == nil {
				err = path.States(t.Context(), x, q.Theta, nil)
			}
			check(mesh.String(), x, err)
		}
		r, err := reference.Solve(t.Context(), q, []float64{c.at}, reference.Settings{Tolerance: probode.Tolerance{Relative: 1e-8}})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		check("reference", r.X, nil)
	}
}

// More executions are pending than there is place for.
func TestTooManyPending(t *testing.T) {
	p, err := withEvents(t, event("x >= 1", "x = 0"), event("x >= 1; delay 5.5; late", "a = a + 1"))
	if err != nil {
		t.Fatal(err)
	}
	q, err := p.ODE(experiments(t, p)[0])
	if err != nil {
		t.Fatal(err)
	}
	q.Span[1] = 9
	_, err = probode.Setup{Method: methods.Auto{}, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-6}}}.Bind(t.Context(), q, nil, []float64{9})
	if err == nil || !strings.Contains(err.Error(), "pending execution 4 of at most 4") {
		t.Errorf("%v", err)
	}
	if _, err := withEvents(t, event("x >= 1; delay 0 - 2", "a = 1")); err == nil {
		t.Error("a negative delay is accepted")
	}
}

// With x′ = p, the trigger x ≥ 1 is true from 1/p on, and D later b becomes p + 1/p or, with
// the values at the execution, p + 1/p + D. Until then b = 2, so that after T
//
//	z(T) = 2 (1/p + D) + b (T − 1/p − D),
//
// which is differentiated here by hand.
func TestPendingGradient(t *testing.T) {
	const T, P, D = 6, 0.8, 1.3
	for _, c := range []struct {
		late   bool
		dp, dD float64 // of b
	}{{false, 1 - 1/(P*P), 0}, {true, 1 - 1/(P*P), 1}} {
		head, b := "x >= 1; delay D", P+1/P
		if c.late {
			head, b = head+"; late", b+D
		}
		p, err := withEvents(t, event(head, "b = p + time"))
		if err != nil {
			t.Fatal(err)
		}
		e := experiments(t, p)[0]
		q, err := p.ODE(e)
		if err != nil {
			t.Fatal(err)
		}
		q.Span[1] = T
		theta := slices.Clone(q.Theta)
		ip, iD, z := slices.Index(q.Params, "p"), slices.Index(q.Params, "D"), slices.Index(e.states, "z")
		theta[ip], theta[iD] = P, D
		path, err := probode.Setup{Method: methods.Auto{}, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-9}}}.Bind(t.Context(), q, theta, []float64{T})
		if err != nil {
			t.Fatal(err)
		}
		held, err := path.(probode.Holdable).Hold(t.Context(), theta)
		if err != nil {
			t.Fatal(err)
		}
		x, w := make([]float64, q.Dim()), make([]float64, q.Dim())
		if err := held.States(t.Context(), x, theta, nil); err != nil {
			t.Fatal(err)
		}
		if want := 2*(1/P+D) + b*(T-1/P-D); math.Abs(x[z]-want) > 1e-7 {
			t.Errorf("late %v: z = %v: want %v", c.late, x[z], want)
		}
		w[z] = 1
		g := probode.Gradient{Theta: make([]float64, len(theta))}
		if err := held.(probode.Reversible).Gradient(t.Context(), &g, w, theta, nil); err != nil {
			t.Fatal(err)
		}
		for i, want := range map[int]float64{ip: (b-2)/(P*P) + c.dp*(T-1/P-D), iD: 2 - b + c.dD*(T-1/P-D)} {
			if math.Abs(g.Theta[i]-want) > 1e-6 {
				t.Errorf("late %v: ∂z/∂%s = %v: want %v", c.late, q.Params[i], g.Theta[i], want)
			}
		}
	}
}
