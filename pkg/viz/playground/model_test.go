package playground

import (
	"context"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/catalog"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/model"
)

// modelled returns the figure of a model with these values, and the view when all work is
// done.
func modelled(t *testing.T, values map[string]any) (*modelFigure, View) {
	t.Helper()
	f := opened[*modelFigure](t, "model")
	return f, after(t, f.Figure, values)
}

func after(t *testing.T, f *Figure, values map[string]any) View {
	t.Helper()
	if err := f.Set(values); err != nil {
		t.Fatal(err)
	}
	v := until(t, f, done)
	if _, err := json.Marshal(v); err != nil {
		t.Error(err)
	}
	return v
}

func says(v View) string { return strings.Join(v.Says, "\n") }

func parsed(t *testing.T, text string) *model.File {
	t.Helper()
	p, err := model.Parse(modelName, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// decay is a model with an exact likelihood: the data lie on the curve exp(-0.5 t).
const decay = `name: decay
parameters:
  - {parameterId: k, nominalValue: 1, lowerBound: 0.01, upperBound: 10}
odes:
  - {stateId: A, rightHandSide: -k * A, initialValue: 1}
observables:
  - {observableId: y, observableFormula: A, noiseFormula: 0.1}
data: |
  time,y
  1,0.6065306597
  2,0.3678794412
  4,0.1353352832
`

// The log-likelihood is that of the model with the solver of the knobs; a fit finds the
// known optimum and moves the slider there.
func TestModelFit(t *testing.T) {
	f, v := modelled(t, map[string]any{"text": decay, "p.k": 0.7, "method": "ab1", "h": 0.25})
	p := parsed(t, decay)
	for name, s := range map[string]model.LikelihoodSettings{"loglikelihood": {Method: solvers["ab1"].method, StepSize: 0.25}, "loglikelihood.accurate": {}} {
		l, err := p.LogLikelihood(s)
		if err != nil {
			t.Fatal(err)
		}
		want, err := l.At(context.Background(), []float64{0.7}, false)
		if err != nil || v.Numbers[name] != want.LogLikelihood {
			t.Errorf("%s is %v, want %v, %v", name, v.Numbers[name], want, err)
		}
	}
	if len(v.Charts) != 1 || len(v.Charts[0].Series) != 3 {
		t.Errorf("%d charts", len(v.Charts))
	}
	frame := fmt.Sprint(v.Charts[0].Y, v.Charts[0].X)
	if err := f.Set(map[string]any{"fit": true}); err != nil {
		t.Fatal(err)
	}
	v = after(t, f.Figure, nil) // which does not stop the fit
	best := -3 * math.Log(0.1*math.Sqrt(2*math.Pi))
	if k := f.number("p.k"); math.Abs(k-0.5) > 1e-6 || math.Abs(v.Numbers["fit.loglikelihood"]-best) > 1e-6 || !strings.Contains(says(v), "10 of the 10 searches") {
		t.Errorf("k = %v, %v\n%s", k, v.Numbers, says(v))
	}
	if got := fmt.Sprint(v.Charts[0].Y, v.Charts[0].X); got != frame {
		t.Errorf("the axes jump from %s to %s", frame, got)
	}
	v = after(t, f.Figure, map[string]any{"nominal": true})
	if f.number("p.k") != 1 || strings.Contains(says(v), "Fit") {
		t.Errorf("k = %v after a return to the nominal values\n%s", f.number("p.k"), says(v))
	}
}

// An optimum outside of the slider's part of the prior stays where another knob moves.
func TestModelFitOutside(t *testing.T) {
	narrow := strings.Replace(decay, "nominalValue: 1,", "nominalValue: 1, objectivePriorType: normal, objectivePriorParameters: 1;0.05,", 1)
	f, _ := modelled(t, map[string]any{"text": narrow})
	if c := f.named("p.k"); c.Min < 0.8 || c.Max > 1.2 {
		t.Fatalf("the slider goes from %v to %v", c.Min, c.Max)
	}
	after(t, f.Figure, map[string]any{"fit": true})
	after(t, f.Figure, map[string]any{"h": 0.1})
	if k := f.number("p.k"); math.Abs(k-0.5) > 1e-6 { // as in TestModelFit
		t.Errorf("k = %v, want the optimum 0.5", k)
	}
}

// A certificate is that of package certify, to the last bit.
func TestModelCertificate(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	_, v := modelled(t, map[string]any{"h": 0.5, "certify": true})
	p, err := parsed(t, lynx).Posterior()
	if err != nil {
		t.Fatal(err)
	}
	p.Setup, p.GridAt = probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.5)}, nil
	c, err := certify.Run(context.Background(), p, certify.Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if v.Numbers["certificate.D"] != c.Modes[0].D || !strings.Contains(says(v), strings.TrimSpace(c.Answer(threshold))) {
		t.Errorf("D = %v, want %v\n%s", v.Numbers["certificate.D"], c.Modes[0].D, says(v))
	}
}

// Mistakes have the line and the column of the text; the last good model stays.
func TestModelMistakes(t *testing.T) {
	f, good := modelled(t, map[string]any{"text": decay})
	for _, m := range []struct {
		old, new     string
		line, column int
		says         string
	}{
		{"-k * A", "-k * B", 5, 0, "B"},
		{"-k * A", `"-k * (A"`, 5, 41, "found the end"},
		{"name: decay", "names: decay", 1, 0, "names"},
		{"  2,0.3678794412", "  2,often", 11, 0, "often"},
		{"  time,y", "  time,z", 9, 0, "column z"},
		{"parameters:", "parameters: [", 3, 0, "did not find"}, // the item
		{"k, nominalValue: 1", "k, nominalValue: 1}", 3, 0, "did not find"},
		{"-k * A", "[-k * A", 5, 0, "did not find"},
		{"-k * A", "@k * A", 5, 0, "cannot start"},
		{"odes:", "other:", 5, 0, "other"},
	} {
		v := after(t, f.Figure, map[string]any{"text": strings.Replace(decay, m.old, m.new, 1)})
		if len(v.Problems) != 1 {
			t.Errorf("%s: problems %v", m.new, v.Problems)
			continue
		}
		if p := v.Problems[0]; p.Line != m.line || p.Column != m.column || !strings.Contains(p.Text, m.says) {
			t.Errorf("%s: %+v, want line %d, column %d and %q", m.new, p, m.line, m.column, m.says)
		}
		if len(v.Charts) != 1 || v.Numbers["loglikelihood"] != good.Numbers["loglikelihood"] {
			t.Errorf("%s: the last good model is not shown", m.new)
		}
	}
	head, _, _ := strings.Cut(decay, "data:")
	v := after(t, f.Figure, map[string]any{"text": head + "data: mine.csv\n"})
	if p := v.Problems[0]; p.Line != 8 || !strings.Contains(p.Text, "write the table itself") {
		t.Errorf("data in a file: %+v", p)
	}
	if v = after(t, f.Figure, map[string]any{"text": decay}); v.Problems != nil {
		t.Errorf("problems %v of a repaired model", v.Problems)
	}
}

// Models at the edge of what can be computed say so, and claim nothing else.
func TestModelDoubts(t *testing.T) {
	head, _, _ := strings.Cut(decay, "observables:")
	two := strings.NewReplacer("-k * A", "-k^2 * A", "lowerBound: 0.01, upperBound: 10", "lowerBound: -2, upperBound: 2").Replace(decay)
	for name, m := range map[string]struct {
		values map[string]any
		want   string
	}{
		"two modes, certified":      {map[string]any{"text": two, "certify": true}, "2 modes checked"},
		"two modes, fitted":         {map[string]any{"text": two, "fit": true}, "ended at other parameter values that fit the data equally well"},
		"a datum of 1e300":          {map[string]any{"text": strings.Replace(decay, "0.1353352832", "1e300", 1)}, "rounded to zero"},
		"blows up":                  {map[string]any{"text": strings.Replace(decay, "-k * A", "k * A^2", 1), "p.k": 10.0}, "cannot be solved"},
		"only the solver fails":     {map[string]any{"text": strings.Replace(decay, "-k * A", "-1e6 * k * (A - time)", 1), "h": 0.5}, "only the reference"},
		"no bound":                  {map[string]any{"text": strings.Replace(decay, ", lowerBound: 0.01, upperBound: 10", ", estimate: 1", 1)}, "mistake"},
		"nothing estimated":         {map[string]any{"text": strings.Replace(decay, ", lowerBound: 0.01, upperBound: 10", "", 1), "fit": true}, "no parameter is estimated"},
		"no data":                   {map[string]any{"text": head}, "no data"},
		"no data, certified":        {map[string]any{"text": head, "certify": true}, "not possible"},
		"zero state":                {map[string]any{"text": strings.Replace(decay, "initialValue: 1", "initialValue: 0", 1)}, "The log-likelihood is"},
		"zero state, log errors":    {map[string]any{"text": strings.NewReplacer("initialValue: 1", "initialValue: 0", "observableFormula: A,", "observableFormula: A, observableTransformation: log,").Replace(decay)}, "There is no log-likelihood"},
		"a solver that is too bad":  {map[string]any{"text": decay, "method": "ab1", "h": 1.0, "certify": true}, "ertified"},
		"tolerance":                 {map[string]any{"text": decay, "steps": "tolerance", "rtol": 1e-6, "certify": true}, "Certified to first order"},
		"a fit with data far apart": {map[string]any{"text": strings.Replace(decay, "0.3678794412", "10", 1), "fit": true}, "k lies on its bound 0.01"},
	} {
		_, v := modelled(t, m.values)
		if !strings.Contains(says(v), m.want) {
			t.Errorf("%s: it says\n%s\nwant %q", name, says(v), m.want)
		}
		for _, c := range v.Charts {
			if y := c.Y; !(y.Min < y.Max) {
				t.Errorf("%s: axis %v", name, y)
			}
		}
	}
}

// Where the equations cannot be solved, nothing of earlier values is shown.
func TestModelForgets(t *testing.T) {
	f, v := modelled(t, map[string]any{"text": strings.Replace(decay, "-k * A", "k * A^2", 1), "p.k": 0.1})
	if !strings.Contains(says(v), "The log-likelihood is") || len(v.Charts) != 1 {
		t.Fatalf("it says %s", says(v))
	}
	v = after(t, f.Figure, map[string]any{"p.k": 10.0})
	series := v.Charts[0].Series
	if len(series) != 1 || series[0].Name != "data" || strings.Contains(says(v), "Log") || len(v.Numbers) > 0 || len(v.Files) != 2 {
		t.Errorf("%d series, it says %s", len(series), says(v))
	}
	if _, err := f.File("solution.csv"); err == nil {
		t.Error("the solution of earlier values")
	}
	v = after(t, f.Figure, map[string]any{"p.k": 0.1, "p.other": 1.0})
	if !strings.Contains(says(v), "The log-likelihood is") {
		t.Errorf("it says %s", says(v))
	}
}

// A knob that moves during a fit stops the fit, and no goroutine is left behind.
func TestModelStops(t *testing.T) {
	before := runtime.NumGoroutine()
	f := opened[*modelFigure](t, "model")
	for press, value := range map[string]float64{"fit": 0.6, "certify": 0.7} {
		if err := f.Set(map[string]any{press: true}); err != nil {
			t.Fatal(err)
		}
		until(t, f.Figure, func(v View) bool { return f.doing != "" })
		work := f.work
		v := after(t, f.Figure, map[string]any{"p.theta1": value})
		if work.err == nil || f.found != nil || f.doing != "" || !strings.Contains(says(v), "The log-likelihood is") {
			t.Errorf("%s goes on: %v\n%s", press, work.err, says(v))
		}
	}
	f.Close()
	settled(t, before)
}

// The files that can be downloaded can be read.
func TestModelFiles(t *testing.T) {
	f, v := modelled(t, map[string]any{"text": strings.Replace(decay, "name: decay", "name: \"`decay`\"", 1)})
	if len(v.Files) != 3 {
		t.Errorf("files %v", v.Files)
	}
	if _, err := f.File("none"); err == nil {
		t.Error("a file that is not there")
	}
	text, err := f.File(modelName)
	if err != nil {
		t.Fatal(err)
	}
	parsed(t, string(text))
	table, err := f.File("solution.csv")
	if lines := strings.Split(strings.TrimSpace(string(table)), "\n"); err != nil || len(lines) != 202 || lines[1] != ",y,0,1,1" {
		t.Errorf("%v, %v", lines[:2], err)
	}
	book, err := f.File("model.ipynb")
	if err != nil {
		t.Fatal(err)
	}
	var content struct {
		Cells []struct {
			Type   string `json:"cell_type"`
			Source string
		}
	}
	if err := json.Unmarshal(book, &content); err != nil {
		t.Fatal(err)
	}
	program := "package main\n"
	for i, c := range content.Cells {
		if c.Type == "code" {
			body, main := strings.CutPrefix(c.Source, "%%\n")
			if main {
				body = fmt.Sprintf("func cell%d() {\n%s\n}", i, body)
			}
			program += body + "\n"
		}
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "", program, 0); err != nil {
		t.Errorf("%v in\n%s", err, program)
	}
}

// The names of methods mean what they mean to the command.
func TestMethodNames(t *testing.T) {
	for name, s := range solvers {
		m, err := catalog.Parse(name)
		if err != nil || m != s.method {
			t.Errorf("%s is %v, want %v, %v", name, s.method, m, err)
		}
	}
}

// Messages are answered, and a mistake or a panic becomes an answer.
func TestPage(t *testing.T) {
	figures["broken"] = kind{make: func(f *Figure) content { return broken{f} }}
	defer delete(figures, "broken")
	var p Page
	for _, m := range []struct{ ask, want string }{
		{`{"do":"open","id":1,"figure":"model"}`, `"controls":[{"name":"text"`},
		{`{"do":"set","id":1,"values":{"fit":true},"budget":0.001}`, `"says":[`},
		{`{"do":"advance","id":1,"budget":10000}`, `"done":true`},
		{`{"do":"set","id":1,"values":{"h":0.25}}`, `"controls":[{"name":"text"`},
		{`{"do":"set","id":1,"values":{"speed":1}}`, `"error":"\"speed\" is not a control`},
		{`{"do":"file","id":1,"name":"model.yaml"}`, `"content":"# Pelts`},
		{`{"do":"file","id":1,"name":"x"}`, `"error"`},
		{`{"do":"advance","id":2}`, `"error":"figure 2 is not open"`},
		{`{"do":"jump","id":1}`, `"error"`},
		{`{"do":"open","id":3,"figure":"none"}`, `want one of broken, `},
		{`{"do":"open","id":4,"figure":"broken"}`, `"error":"a fault in the program: broken"`},
		{`{`, `"error"`},
		{`{"do":"close","id":1}`, `{"id":1}`},
		{`{"do":"advance","id":1}`, `"error"`},
	} {
		if got := p.Answer(m.ask); !strings.Contains(got, m.want) {
			t.Errorf("%s is answered by %.300s, want %s", m.ask, got, m.want)
		}
	}
}

// broken is a figure that panics.
type broken struct{ *Figure }

func (broken) controls(string) knobs         { return knobs{} }
func (broken) compute(context.Context) error { return nil }
func (broken) show(*View)                    { panic("broken") }
