package filter

import (
	"context"
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode"
)

// A dose adds the same amount to whatever is left, so it leaves the standard deviation as
// it is. This is so for any size of what is left, also if it is so small that its last
// digit is lost in the sum: then the uncertainty must not be lost, too.
func TestDoseKeepsUncertainty(t *testing.T) {
	for _, left := range []float64{0, 1e-300, 1e-40, 1e-20, 1e-9, 1e-3, 1, 1e9} {
		p := &probode.Problem{X0: []float64{left}, Span: [2]float64{0, 2}, Events: probode.Doses(0, 8, 1),
			F: func(f []float64, _ float64, x, _ []float64) { f[0] = -x[0] }}
		for _, m := range []EK{{Q: 1}, {Q: 3}, {Q: 2, Jacobian: Zero}, {Q: 2, Jacobian: Cubature}} {
			s := solve(t, p, Settings{EK: m, Mesh: probode.Uniform(.25), Alpha: 1, Forward: true})
			if s.T[4] != 1 || s.T[5] != 1 {
				t.Fatalf("the grid is %g", s.T)
			}
			if got, want := s.SD[0][5], s.SD[0][4]; !(want > 0) || !within(got/want, 1, 1e-5) {
				t.Errorf("%v, %g left: the sd after the dose is %.8g: want %.8g, as before it", m, left, got, want)
			}
			if got, want := s.Mean[0][5], s.Mean[0][4]+8; got != want {
				t.Errorf("%v, %g left: the mean after the dose is %.15g: want %.15g", m, left, got, want)
			}
		}
	}
}

// shifted is affine with events that together add 1 to the first component at the given
// time.
func shifted(at float64, after bool, parts int) *probode.Problem {
	p := affine()
	for range parts {
		p.Events = append(p.Events, probode.Event{Time: at, SeenAfter: after, Jump: func(x []float64, _ float64, _ []float64) { x[0] += 1 / float64(parts) }})
	}
	return p
}

// An event at the end of the span changes the last state, and a datum there that is seen
// after the event: shifted by the jump, it has the same likelihood as without the event.
func TestEventAtEnd(t *testing.T) {
	y := [][]float64{{.5, -.3}, {.6, -.2}}
	moved := [][]float64{{.5, -.3}, {-.4, -.2}}
	for _, m := range []EK{{Q: 1}, {Q: 3}, {Q: 2, Jacobian: Zero}} {
		plain := solve(t, affine(), Settings{EK: m, Mesh: probode.Through(.25), Alpha: 1})
		last := len(plain.T) - 1
		s := solve(t, shifted(2, true, 1), Settings{EK: m, Mesh: probode.Through(.25), Alpha: 1})
		mean, sd := s.At(2)
		for k := range 2 {
			want := plain.Mean[k][last]
			if got := s.Mean[k][last]; !within(got, want, 1e-12) {
				t.Errorf("%v: before the event the mean is %.12g: want %.12g", m, got, want)
			}
			if k == 0 {
				want++
			}
			if got := s.Mean[k][last+1]; !within(got, want, 1e-12) || mean[k] != got {
				t.Errorf("%v: after the event the mean is %.12g, and %.12g by At: want %.12g", m, got, mean[k], want)
			}
			if got, want := s.SD[k][last+1], plain.SD[k][last]; !(math.Abs(got/want-1) < 1e-6) || sd[k] != got {
				t.Errorf("%v: after the event the sd is %.8g, and %.8g by At: want %.8g", m, got, sd[k], want)
			}
		}
		draw := make([]float64, 2*len(s.T))
		if s.Draw(draw, probode.Stream(1)); !within(draw[2*last+2], draw[2*last]+1, 1e-8) || !within(draw[2*last+3], draw[2*last+1], 1e-8) {
			t.Errorf("%v: a draw jumps from %g to %g", m, draw[2*last:2*last+2], draw[2*last+2:])
		}
		for _, dalton := range []bool{false, true} {
			times := []float64{1, 2}
			want := logLikelihood(t, affine(), m, probode.Through(.25), times, moved, dalton)
			if got := logLikelihood(t, shifted(2, true, 1), m, probode.Through(.25), times, y, dalton); !within(got, want, 1e-6) {
				t.Errorf("%v, DALTON %t: log likelihood %.10g: want %.10g", m, dalton, got, want)
			}
			if got := logLikelihood(t, shifted(2, false, 1), m, probode.Through(.25), times, moved, dalton); !within(got, want, 1e-6) {
				t.Errorf("%v, DALTON %t: log likelihood %.10g of data before the event: want %.10g", m, dalton, got, want)
			}
		}
	}
}

// Several events at one time are one event, at the start, between data and at the end.
func TestEventsAtOneTime(t *testing.T) {
	y := [][]float64{{1.3, .4}, {.5, -.3}, {.6, -.2}}
	times := []float64{0, 1, 2}
	for _, at := range []float64{0, .6, 1, 2} {
		for _, after := range []bool{false, true} {
			for _, dalton := range []bool{false, true} {
				m := EK{Q: 2}
				one := logLikelihood(t, shifted(at, after, 1), m, probode.Through(.25), times, y, dalton)
				two := logLikelihood(t, shifted(at, after, 2), m, probode.Through(.25), times, y, dalton)
				if !within(two, one, 1e-6) || math.IsNaN(one) {
					t.Errorf("at %g, seen after %t, DALTON %t: log likelihood %.10g with two events: want %.10g, as with one", at, after, dalton, two, one)
				}
			}
		}
	}
}

// A datum at the start that is seen after an event there is one of the state after it,
// which is certain.
func TestDatumAfterEventAtStart(t *testing.T) {
	for _, dalton := range []bool{false, true} {
		p := shifted(0, true, 1)
		late := logLikelihood(t, p, EK{Q: 2}, probode.Through(.1), []float64{1}, [][]float64{{.5, -1}}, dalton)
		both := logLikelihood(t, p, EK{Q: 2}, probode.Through(.1), []float64{0, 1}, [][]float64{{2.1, .5}, {.5, -1}}, dalton)
		if own := -.5 - math.Log(2*math.Pi*.01); !within(both-late, own, 1e-10) {
			t.Errorf("DALTON %t: the log density of the first datum is %.12g: want %.12g", dalton, both-late, own)
		}
	}
}

// If the time of an event depends on θ, the points of the grid move with it. At another θ
// the data are not at grid points any more, which is an error; data at the ends of the span
// stay there.
func TestMovedData(t *testing.T) {
	p := affine()
	p.Theta = []float64{2, 1}
	p.Events = []probode.Event{{When: func(th []float64) float64 { return th[1] }, Jump: func(x []float64, _ float64, _ []float64) { x[0]++ }}}
	for _, c := range []struct {
		times []float64
		fails bool
	}{{[]float64{.5, 1.5}, true}, {[]float64{0, 2}, false}} {
		for _, dalton := range []bool{false, true} {
			g, err := probode.Setup{Method: EK{Q: 2}, Mesh: probode.Through(.25)}.Grid(context.Background(), p, nil, c.times)
			if err != nil {
				t.Fatal(err)
			}
			of, err := NewMarginal(p, EK{Q: 2}, g, c.times, 1, dalton)
			if err != nil {
				t.Fatal(err)
			}
			look := func(n int, x []float64, r *Row) {
				r.Y[0], r.Mean[0], r.SD[0], r.Slopes[0] = .5, x[0], .1, 1
			}
			for _, at := range []float64{1, 1.1} {
				_, err := of.Predict(context.Background(), make([]float64, 4), []float64{2, at}, 1, look, nil)
				if fails := c.fails && at != 1; (err != nil) != fails {
					t.Errorf("data at %g, the event at %g, DALTON %t: error %v, want one: %t", c.times, at, dalton, err, fails)
				}
			}
		}
	}
}
