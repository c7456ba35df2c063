package certify_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/methods"
)

// D at the mode is that of the closed form, and the shift that of the means by
// quadrature to first order, of a model that is not linear: within a third of itself
// where it is .1 sd.
func TestCertify(t *testing.T) {
	const h = 1. / 32
	all, err := certify.Run(context.Background(), decay(h), certify.Settings{})
	if err != nil || len(all.Modes) != 1 {
		t.Fatal(all, err)
	}
	c := all.Modes[0]
	theta := c.Theta[0]
	var d float64
	for _, at := range decayTimes {
		e := (math.Pow(1-h*theta, at/h) - math.Exp(-theta*at)) / decaySigma
		d += e * e
	}
	if d = math.Sqrt(d); math.Abs(c.D-d) > 1e-6*d {
		t.Errorf("D = %g, want %g", c.D, d)
	}
	coarse, _ := decayMoments(h)
	mean, sd := decayMoments(0)
	if want := (coarse - mean) / sd; math.Abs(c.Shift[0]-want) > math.Abs(want)/3 {
		t.Errorf("shift %g sd, want %g", c.Shift[0], want)
	}
	if math.Abs(c.Shift[0]) > c.Bound || c.Bound != c.D || c.OwnD > 1e-4 {
		t.Errorf("%+v", c)
	}
}

// By a fixed step of an explicit method the dragons have a phantom, and by the same
// method under error control none: the certificate must not charge one with the
// other's.
func TestPhantomsAreTheSolversOwn(t *testing.T) {
	dp := methods.RungeKutta{Tableau: methods.DormandPrince}
	all, err := certify.Each(context.Background(), dragons(0.5), []probode.Setup{
		{Method: dp, Mesh: probode.Uniform(0.5)}, controlled(dp, probode.Tolerance{Relative: 1e-3})}, certify.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if all[0].Certified(0.1) || !strings.Contains(all[0].Answer(0.1), "that the reference posterior does not have") {
		t.Errorf("equal steps: %s", all[0].Answer(0.1))
	}
	if !all[1].Certified(0.1) {
		t.Errorf("error control: %s", all[1].Answer(0.1))
	}
}

// A setting that cannot solve the equations, as a step at which Euler's method leaves
// the numbers, does not take the others with it; if there is no other it is an error.
func TestCertifyEachFails(t *testing.T) {
	p := linearModel(bayes.Known(0.2))
	bad := probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-9}, MaxSteps: 1000}}
	good := probode.Setup{Mesh: probode.Uniform(0.05)}
	for _, modes := range [][][]float64{nil, {{0.5, 1}}} {
		s := certify.Settings{Modes: modes}
		all, err := certify.Each(context.Background(), p, []probode.Setup{bad, good}, s)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != 2 || all[0].Certified(0.9) || all[0].Modes[0].Err == "" || all[1].Modes[0].Err != "" || !(all[1].Modes[0].D > 0) {
			t.Errorf("%+v", all)
		}
		if text := (certify.Certificates{Threshold: 0.1, All: all}).String(); !strings.Contains(text, "\nexperiment 1: ") {
			t.Errorf("table %q", text)
		}
		if _, err := certify.Each(context.Background(), p, []probode.Setup{bad, bad}, s); err == nil {
			t.Error("nothing but failures is no error")
		}
	}
}

// Of many parameters the table has those that are shifted by most.
func TestTableOfManyParameters(t *testing.T) {
	c := &certify.Certificate{Modes: []certify.AtMode{{D: 1}}}
	for k := range 9 {
		c.Params = append(c.Params, string(rune('a'+k)))
		c.Modes[0].Shift = append(c.Modes[0].Shift, float64((k*5)%9)/100)
	}
	text := certify.Certificates{All: []*certify.Certificate{c}}.String()
	_, text, _ = strings.Cut(text, "solver")
	head, _, _ := strings.Cut(text, "\n")
	if got, want := strings.Join(strings.Fields(head)[4:], " "), "Δ b/sd Δ d/sd Δ f/sd Δ g/sd Δ h/sd Δ i/sd"; got != want {
		t.Errorf("%s: want %s", got, want)
	}
	if !strings.Contains(text, "3 other parameters are shifted by at most 0.02 sd") {
		t.Errorf("table %q", text)
	}
}

func TestCertificatesJSON(t *testing.T) {
	p := linearModel(bayes.Known(0.2))
	s := certify.Settings{Modes: [][]float64{{0.5, 1}}}
	c, err := certify.Run(context.Background(), p.SolvedBy(controlled(nil, probode.Tolerance{Relative: 1e-3})), s)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	all := certify.Certificates{Model: "m", Threshold: 0.1, All: []*certify.Certificate{c}}
	if err := all.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	var r struct {
		Format, Model, Reference string
		Version                  int
		Threshold                float64
		Steps                    []struct {
			H, Tol, ATol *float64
			Method       string
			Certified    bool
			Seconds      *float64
			Modes        []struct {
				Theta, From, Shift, Where, Unsolved map[string]*float64
				Moved, D, Bound, Difference         *float64
				TV                                  *float64 `json:"total_variation"`
				KL                                  *float64 `json:"kullback_leibler"`
				ReferenceD                          *float64 `json:"reference_D"`
				Error                               *string
			}
		}
		Enough *struct{}
	}
	strictly(t, text.Bytes(), &r)
	if r.Format != "probode certify" || len(r.Steps) != 1 || r.Steps[0].H != nil || *r.Steps[0].Tol != 1e-3 || *r.Steps[0].Modes[0].D != c.Modes[0].D || r.Enough != nil {
		t.Errorf("%s", &text)
	}
}

func strictly(t *testing.T, text []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

// Certificates and profiles can be stored by gob whatever the method is: one of another
// package, or one from outside.
func TestCertificatesAreStored(t *testing.T) {
	p := linearModel(bayes.Known(0.2))
	s := certify.Settings{Modes: [][]float64{{0.5, 1}}}
	for _, m := range []probode.Method{methods.Radau{}, outside{methods.RungeKutta{}}} {
		p.Method = m
		c, err := certify.Run(context.Background(), p, s)
		if err != nil {
			t.Fatal(err)
		}
		profile, err := certify.NewProfile(context.Background(), p, []probode.Setup{p.Setup}, []float64{0.5, 1}, "a", 0.4, 0.6, 3)
		if err != nil {
			t.Fatal(err)
		}
		type both struct {
			C *certify.Certificate
			P *certify.Profile
		}
		var file bytes.Buffer
		if err := gob.NewEncoder(&file).Encode(both{c, profile}); err != nil {
			t.Fatalf("%v: %v", m, err)
		}
		var got both
		if err := gob.NewDecoder(&file).Decode(&got); err != nil || !reflect.DeepEqual(got, both{c, profile}) {
			t.Errorf("%v: %+v, %v: want %+v", m, got, err, c)
		}
		if c.Method != m.String() || c.StepSize != 0.05 || !strings.HasPrefix(c.Setup, m.String()) {
			t.Errorf("%v: %q, %q, h = %g", m, c.Setup, c.Method, c.StepSize)
		}
	}
}

// outside is a method that no package here knows.
type outside struct{ methods.RungeKutta }

func (outside) String() string { return "my own" }
