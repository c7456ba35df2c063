package model

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// A happening is an entry of a random schedule, as it is written in a model file and as
// the simulation by hand carries it out.
type happening struct {
	kind               string // reset, rate, dose or infusion
	time, every, value float64
	duration           float64
	count              int
}

func (h happening) yaml(i int) string {
	repeat := ""
	if h.count > 1 {
		repeat = fmt.Sprintf(", every: %v, count: %d", h.every, h.count)
	}
	switch h.kind {
	case "reset": // by the values before the event
		return fmt.Sprintf("  - {eventId: e%d, time: %v%s, assignments: {x: y / 2 + %v, y: x}}\n", i, h.time, repeat, h.value)
	case "rate":
		return fmt.Sprintf("  - {eventId: e%d, time: %v%s, assignments: {r: %v}}\n", i, h.time, repeat, h.value)
	case "dose":
		return fmt.Sprintf("  - {doseId: d%d, state: x, amount: %v, time: %v%s}\n", i, h.value, h.time, repeat)
	}
	return fmt.Sprintf("  - {doseId: d%d, state: x, amount: %v, duration: %v, time: %v%s}\n", i, h.value, h.duration, h.time, repeat)
}

// simulate returns x at the given times, which are sorted, for
//
//	x′ = r + Σ amount/duration of the infusions that last − k x,   y′ = 0,
//
// from x = 1, y = 2 and r = 0.5. Between two changes of the rate R = x′ + k x, the closed
// form is x(t+h) = x e^{−kh} + R (1 − e^{−kh})/k.
func simulate(schedule []happening, k, start float64, times []float64) (xs []float64) {
	type change struct {
		at float64
		do happening
	}
	var changes []change
	stops := slices.Clone(times)
	for _, h := range schedule {
		for i := range h.count {
			at := h.time + float64(i)*h.every
			stops = append(stops, at, at+h.duration)
			if h.kind != "infusion" {
				changes = append(changes, change{at, h})
			}
		}
	}
	slices.Sort(stops)
	x, y, r, now := 1., 2., 0.5, start
	for _, stop := range slices.Compact(stops) {
		if stop < start {
			continue
		}
		rate := r
		for _, h := range schedule {
			for i := range h.count {
				if from := h.time + float64(i)*h.every; h.kind == "infusion" && from <= now && now < from+h.duration {
					rate += h.value / h.duration
				}
			}
		}
		x = x*math.Exp(-k*(stop-now)) - rate*math.Expm1(-k*(stop-now))/k
		now = stop
		for _, c := range changes { // in the order of the file
			if c.at != now {
				continue
			}
			switch c.do.kind {
			case "reset":
				x, y = y/2+c.do.value, x
			case "rate":
				r = c.do.value
			case "dose":
				x += c.do.value
			}
		}
		for _, t := range times {
			if t == now {
				xs = append(xs, x)
			}
		}
	}
	return xs
}

// The solution of a model with random doses, infusions, resets and changes of a rate is
// the one that a simulation in closed form gives. The times are whole numbers, so many
// things happen at once, at the start, before it, or when something is measured; they
// happen in the order of the file, whichever of its lists comes first. The tolerance is
// that of a solution whose log-likelihood is accurate to 1e-7: an error of 1e-6 in one x
// would change the log-likelihood by up to 1e-6 · |x − 0| / 5² > 1e-7.
func TestRandomSchedules(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 2))
	together := 0
	for trial := range 40 {
		k, start := 0.2+rng.Float64(), float64(rng.IntN(3))
		var events, doses []happening
		seen := map[float64]bool{}
		for range 2 + rng.IntN(5) {
			h := happening{kind: []string{"reset", "rate", "dose", "infusion"}[rng.IntN(4)], time: float64(rng.IntN(9)), every: float64(1 + rng.IntN(3)),
				value: float64(1+rng.IntN(8)) / 2, count: 1 + rng.IntN(3)}
			if seen[h.time] {
				together++
			}
			seen[h.time] = true
			switch h.kind {
			case "infusion":
				h.duration = float64(1 + rng.IntN(3))
				fallthrough
			case "dose":
				doses = append(doses, h)
			default:
				events = append(events, h)
			}
		}
		list := func(key string, of []happening, from int) string {
			if len(of) == 0 {
				return ""
			}
			text := key + ":\n"
			for i, h := range of {
				text += h.yaml(from + i)
			}
			return text
		}
		parts := []string{list("events", events, 0), list("doses", doses, len(events))}
		schedule := slices.Concat(events, doses)
		if rng.IntN(2) == 0 {
			slices.Reverse(parts)
			schedule = slices.Concat(doses, events)
		}
		times := []float64{start, start + 0.5, start + 1, start + 3, start + 3.25, start + 8}
		data := "  time,level\n"
		for _, at := range times {
			data += fmt.Sprintf("  %v,0\n", at)
		}
		text := fmt.Sprintf("time: {start: %v}\nparameters:\n  - {parameterId: k, nominalValue: %v, lowerBound: 0.01, upperBound: 10}\n  - {parameterId: r, nominalValue: 0.5}\n", start, k) +
			"odes:\n  - {stateId: x, rightHandSide: r - k * x, initialValue: 1}\n  - {stateId: y, rightHandSide: 0, initialValue: 2}\n" +
			strings.Join(parts, "") + "observables:\n  - {observableId: level, observableFormula: x, noiseFormula: 5}\ndata: |\n" + data
		p, err := Parse("m", []byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		l, err := p.LogLikelihood(LikelihoodSettings{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := l.At(context.Background(), l.p.Nominal(), false)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		want := simulate(schedule, k, start, times)
		for i, got := range v.Instances[0].Simulated {
			if math.Abs(got-want[i]) > 1e-6*max(1, math.Abs(want[i])) {
				t.Errorf("schedule %d: x(%v) is %.9g: want %.9g\n%s", trial, times[i], got, want[i], text)
				break
			}
		}
	}
	if together < 20 {
		t.Errorf("only %d things happen when another one does: want at least 20", together)
	}
}

// An infusion is given whole, however short it is: x(1) = e⁻¹ (1 + d/2) up to d², if it
// lasts d and ends the time 1 before the measurement.
func TestShortInfusions(t *testing.T) {
	const short = `name: short
parameters:
  - {parameterId: d, lowerBound: 1e-20, upperBound: 1, nominalValue: LENGTH, estimate: ESTIMATED}
odes: [{stateId: A, rightHandSide: -A, initialValue: 0}]
observables: [{observableId: y, observableFormula: A, noiseFormula: 1}]
doses: [{doseId: dose, state: A, amount: 2, duration: DURATION, time: START}]
data: d.csv
`
	for _, start := range []float64{1, 1000, 0} {
		for _, length := range []float64{1e-17, 1e-16, 3e-16, 5e-14, 1e-12, 1e-9, 1e-6} {
			for _, estimated := range []string{"0", "1"} {
				duration := fmt.Sprint(length)
				if estimated == "1" {
					duration = "d"
				}
				p, err := loadMap(t, map[string]string{"m.yaml": short, "d.csv": fmt.Sprintf("time,y\n%g,0\n", start+1)}, "m.yaml",
					"LENGTH", fmt.Sprint(length), "ESTIMATED", estimated, "DURATION", duration, "START", fmt.Sprint(start))
				if err != nil {
					t.Fatal(err)
				}
				v := evaluate(t, p)
				if v == nil {
					continue
				}
				want := 2 * math.Exp(-1) * (1 + length/2)
				if got := v.Instances[0].Simulated[0]; math.Abs(got-want) > 1e-8 {
					t.Errorf("an infusion of length %g from t = %g, estimated %s: the state is %.10g, want %.10g", length, start, estimated, got, want)
				}
			}
		}
	}
}

// The gradient with respect to the amount, the duration and the lag of 60 infusions, of
// which up to five overlap, is that of the closed form. Central differences of the latter,
// with h = 1e-5, are right to about 1e-8.
func TestOverlappingInfusions(t *testing.T) {
	const text = `parameters:
  - {parameterId: A, nominalValue: 1, lowerBound: 0.01, upperBound: 10}
  - {parameterId: D, nominalValue: 4.4, lowerBound: 0.01, upperBound: 10}
  - {parameterId: L, nominalValue: 0.3, lowerBound: 0.01, upperBound: 10}
odes:
  - {stateId: x, rightHandSide: 0.5 - 0.3 * x, initialValue: 1}
doses:
  - {doseId: d, state: x, amount: A, duration: D, time: L, every: 1, count: 40}
  - {doseId: e, state: x, amount: 2 * A, duration: 0.7, time: 10 + L, every: 0.9, count: 20}
observables:
  - {observableId: y, observableFormula: x, noiseFormula: 1}
data: |
  time,y
`
	times, data := []float64{0.1, 3, 12.7, 29, 43}, ""
	for _, at := range times {
		data += fmt.Sprintf("  %v,2\n", at)
	}
	p, err := Parse("m", []byte(text+data))
	if err != nil {
		t.Fatal(err)
	}
	closed := func(theta []float64) (sum float64) {
		a, d, lag := theta[0], theta[1], theta[2]
		for _, x := range simulate([]happening{{kind: "infusion", time: lag, every: 1, value: a, duration: d, count: 40},
			{kind: "infusion", time: 10 + lag, every: 0.9, value: 2 * a, duration: 0.7, count: 20}}, 0.3, 0, times) {
			sum -= (x-2)*(x-2)/2 + math.Log(2*math.Pi)/2
		}
		return sum
	}
	l, err := p.LogLikelihood(LikelihoodSettings{})
	if err != nil {
		t.Fatal(err)
	}
	// One LogLikelihood at several θ: what was computed at one must not be kept for the next.
	for _, theta := range [][]float64{{1, 4.437, 0.3}, {1, 4.437, 0.6}, {0.6, 2.331, 0.6}, {1, 4.437, 0.3}} {
		v, err := l.At(t.Context(), theta, true)
		if err != nil {
			t.Fatal(err)
		}
		if want := closed(theta); math.Abs(v.LogLikelihood-want) > 1e-6 {
			t.Errorf("at %v the log-likelihood is %.9f: want %.9f", theta, v.LogLikelihood, want)
		}
		for i, got := range v.Gradient {
			const h = 1e-5
			up, down := slices.Clone(theta), slices.Clone(theta)
			up[i], down[i] = up[i]+h, down[i]-h
			if want := (closed(up) - closed(down)) / (2 * h); math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
				t.Errorf("at %v the derivative %d is %.8f: want %.8f", theta, i, got, want)
			}
		}
	}
}

// Between two changes of the rates, a call of F takes as long with 3,000 infusions as with
// 30. It took a hundred times as long when each call added up all infusions.
func TestManyInfusions(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	least := func(count int) time.Duration {
		p, err := Parse("m", fmt.Appendf(nil, `parameters: [{parameterId: k, nominalValue: 1, lowerBound: 0.1, upperBound: 3}]
odes: [{stateId: x, rightHandSide: -k * x, initialValue: 1}]
doses: [{doseId: d, state: x, amount: 1, duration: 25, time: 0, every: 1, count: %d}]
observables: [{observableId: y, observableFormula: x, noiseFormula: 1}]
data: |
  time,y
  30,1
`, count))
		if err != nil {
			t.Fatal(err)
		}
		q, err := p.ODEs()
		if err != nil {
			t.Fatal(err)
		}
		best, f := time.Hour, make([]float64, 1)
		for range 20 {
			begin := time.Now()
			for i := range 100 {
				q[0].F(f, 28.2+float64(i)/200, []float64{1}, q[0].Theta)
			}
			best = min(best, time.Since(begin))
		}
		if want := -1 + float64(min(count, 29)-4)/25; math.Abs(f[0]-want) > 1e-12 { // those of t = 4, 5, …, 28 last
			t.Errorf("%d infusions: f is %v: want %v", count, f[0], want)
		}
		return best
	}
	if few, many := least(30), least(3000); many > 10*few {
		t.Errorf("100 calls of F take %v with 30 infusions, %v with 3000", few, many)
	}
}
