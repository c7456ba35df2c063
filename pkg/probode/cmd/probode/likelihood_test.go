package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	modelfile "github.com/probode/probode/pkg/probode/model"
)

const models = "../../model/testdata/"

func output(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if err := run(context.Background(), args, &out); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return out.String()
}

type likelihoodResult struct {
	LogLikelihood float64            `json:"log_likelihood"`
	Parameters    map[string]float64 `json:"parameters"`
	Gradient      map[string]float64 `json:"gradient"`
	Scaled        map[string]float64 `json:"gradient_on_scale"`
	Conditions    []struct {
		Condition     string  `json:"condition"`
		LogLikelihood float64 `json:"log_likelihood"`
		Observables   []struct {
			Points        int     `json:"points"`
			LogLikelihood float64 `json:"log_likelihood"`
		} `json:"observables"`
	} `json:"conditions"`
}

func likelihoodOf(t *testing.T, args ...string) (r likelihoodResult) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "result.json")
	output(t, append([]string{"likelihood", "-json", file}, args...)...)
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The same model as YAML and as PEtab; parts that add up; linear values behind
// -at, and a gradient that belongs to them.
func TestLikelihood(t *testing.T) {
	r := likelihoodOf(t, "-model", models+"pk.yaml", "-gradient")
	other := likelihoodOf(t, "-model", models+"petab-pk/problem.yaml")
	if math.Abs(r.LogLikelihood-other.LogLikelihood) > 1e-7 {
		t.Errorf("YAML %v, PEtab %v", r.LogLikelihood, other.LogLikelihood)
	}
	sum, points := 0., 0
	for _, c := range r.Conditions {
		part := 0.
		for _, o := range c.Observables {
			part += o.LogLikelihood
			points += o.Points
		}
		if math.Abs(part-c.LogLikelihood) > 1e-10 {
			t.Errorf("%s: observables add up to %v of %v", c.Condition, part, c.LogLikelihood)
		}
		sum += part
	}
	if len(r.Conditions) != 2 || points != 26 || math.Abs(sum-r.LogLikelihood) > 1e-10 {
		t.Errorf("%d conditions, %d points, %v of %v", len(r.Conditions), points, sum, r.LogLikelihood)
	}
	if len(r.Gradient) != 5 || r.Parameters["dose"] != 100 || r.Parameters["km"] != 2.5 {
		t.Errorf("gradient %v at %v", r.Gradient, r.Parameters)
	}
	const h = 1e-4
	up := likelihoodOf(t, "-model", models+"pk.yaml", "-at", "km="+strconv.FormatFloat(2.5+h, 'g', -1, 64))
	down := likelihoodOf(t, "-model", models+"pk.yaml", "-at", " km = "+strconv.FormatFloat(2.5-h, 'g', -1, 64))
	if slope := (up.LogLikelihood - down.LogLikelihood) / (2 * h); math.Abs(slope-r.Gradient["km"]) > 1e-4*math.Abs(slope) {
		t.Errorf("∂/∂km %v: want %v", r.Gradient["km"], slope)
	}
	if want := r.Gradient["km"] * 2.5 * math.Ln10; math.Abs(r.Scaled["km"]-want) > 1e-12*math.Abs(want) {
		t.Errorf("∂/∂log10 km %v: want %v", r.Scaled["km"], want)
	}
	// A coarse run is another number, and not far off.
	coarse := likelihoodOf(t, "-model", models+"pk.yaml", "-rtol", "1e-3", "-method", "dp5")
	if d := math.Abs(coarse.LogLikelihood - r.LogLikelihood); !(d > 1e-7 && d < 1) {
		t.Errorf("at rtol 1e-3 the log-likelihood moves by %g", d)
	}
	out := output(t, "likelihood", "-model", models+"pk.yaml", "-gradient")
	for _, want := range []string{"log-likelihood ", "right to", "low", "high", "blood", "km", "log10"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// jsonSection returns a section of docs/json.md.
func jsonSection(t *testing.T, title string) string {
	t.Helper()
	doc, err := os.ReadFile("../../../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, found := strings.Cut(string(doc), "\n## "+title+"\n")
	if !found {
		t.Fatalf("docs/json.md has no section %s", title)
	}
	part, _, _ = strings.Cut(part, "\n## ")
	return part
}

// What -json writes are the names of docs/json.md, strictly; what is not finite is null.
func TestLikelihoodJSON(t *testing.T) {
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(jsonSection(t, "likelihood"), -1) {
		documented[m[1]] = true
	}
	byID := regexp.MustCompile(`^(parameters|gradient|gradient_on_scale)\..*`)
	written := map[string]bool{}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, w := range v {
				walk(byID.ReplaceAllString(strings.TrimPrefix(at+"."+k, "."), "$1.*"), w)
			}
		case []any:
			for _, w := range v {
				walk(at+"[]", w)
			}
		default:
			written[at] = true
		}
	}
	dir := t.TempDir()
	yaml, err := os.ReadFile(models + "influenza.yaml")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "m.yaml"), yaml, 0o644)
	}
	if err == nil { // the square of what is too far off overflows
		err = os.WriteFile(filepath.Join(dir, "influenza.csv"), []byte("time,in_bed\n1,1e300\n"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{models + "pk.yaml", "-gradient"}, {models + "petab-cascade/problem.yaml", "-rtol", "1e-3"}, {models + "pk.yaml", "-step", "0.5"}, {filepath.Join(dir, "m.yaml")}} {
		var v map[string]any
		if err := json.Unmarshal([]byte(output(t, append([]string{"likelihood", "-json", "-", "-model"}, args...)...)), &v); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		walk("", v)
		for _, name := range []string{"format", "version", "log_likelihood", "error", "parameters", "gradient", "gradient_on_scale", "conditions"} {
			if _, there := v[name]; !there {
				t.Errorf("%q: no %s", args, name)
			}
		}
		if lost := v["log_likelihood"] == nil; lost != (args[0] == filepath.Join(dir, "m.yaml")) {
			t.Errorf("%q: log_likelihood %v", args, v["log_likelihood"])
		}
	}
	delete(written, "gradient") // null
	delete(written, "gradient_on_scale")
	if !maps.Equal(documented, written) {
		t.Errorf("documented %v, written %v", slices.Sorted(maps.Keys(documented)), slices.Sorted(maps.Keys(written)))
	}
}

// One line, short, and no file.
func TestLikelihoodErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "result.json")
	long := strings.Repeat("x", 500)
	for _, args := range [][]string{
		{},
		{"-model", "nowhere.yaml"},
		{"-model", long},
		{"-model", models + "pk.yaml", "-at", "km"},
		{"-model", models + "pk.yaml", "-at", "nothing=1"},
		{"-model", models + "pk.yaml", "-at", long + "=1"},
		{"-model", models + "pk.yaml", "-at", "km=1,km=2"},
		{"-model", models + "pk.yaml", "-at", "km=NaN"},
		{"-model", models + "pk.yaml", "-at", ""},
		{"-model", models + "pk.yaml", "-at", "error=-1"},
		{"-model", models + "pk.yaml", "-rtol", "0"},
		{"-model", models + "pk.yaml", "-rtol", "-1e-3"},
		{"-model", models + "pk.yaml", "-rtol", "NaN"},
		{"-model", models + "pk.yaml", "-atol", "-1"},
		{"-model", models + "pk.yaml", "-method", "none"},
		{"-model", models + "pk.yaml", "more"},
		{models + "pk.yaml", "more"},
		{filepath.Dir(models)},
		{"-model", models + "pk.csv"},
	} {
		err := run(context.Background(), append([]string{"likelihood", "-json", file}, args...), new(bytes.Buffer))
		if err == nil || strings.ContainsAny(err.Error(), "\n\r") || len(err.Error()) > 600 {
			t.Errorf("%q: %v", args, err)
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%q: a file was written", args)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := run(ctx, []string{"likelihood", "-model", models + "pk.yaml"}, new(bytes.Buffer)); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

func TestFit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "waterfall.png")
	out := output(t, "fit", "-model", models+"influenza.yaml", "-starts", "3", "-out", file)
	for _, want := range []string{"log-likelihood", "beta", "gamma", "sigma"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if b, err := os.ReadFile(file); err != nil || !bytes.HasPrefix(b, []byte("\x89PNG")) {
		t.Errorf("picture: %v", err)
	}
	for _, args := range [][]string{{}, {"-starts", "0"}, {"-starts", "2", "-out", "x.gif"}, {"extra"}} {
		err := run(context.Background(), append([]string{"fit", "-model", models + "influenza.yaml", "-starts", "1"}, args...), new(bytes.Buffer))
		if len(args) > 0 && (err == nil || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// Where all searches end in the same optimum, the picture has an ordinary axis; a
// parameter without bounds says so.
func TestFitWhereSearchesAgree(t *testing.T) {
	dir := t.TempDir()
	for _, bounds := range []string{"lowerBound: 0.01, upperBound: 10", "lowerBound: 0.01, objectivePriorType: normal, objectivePriorParameters: 1;1", "objectivePriorType: normal, objectivePriorParameters: 1;1"} {
		model, picture := filepath.Join(dir, "growth.yaml"), filepath.Join(dir, "w.svg")
		for file, content := range map[string]string{model: `name: growth
parameters:
  - {parameterId: rate, nominalValue: 0.8, ` + bounds + `}
odes:
  - {stateId: N, rightHandSide: rate * N * (1 - N / 50), initialValue: 1}
observables:
  - {observableId: bacteria, observableFormula: N, noiseFormula: 0.5}
data: counts.csv
`, filepath.Join(dir, "counts.csv"): "time,bacteria\n0,1.1\n1,2.0\n"} {
			if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		out := output(t, "fit", "-model", model, "-starts", "2", "-out", picture)
		if strings.Contains(out, "NaN") {
			t.Errorf("%s:\n%s", bounds, out)
		}
		b, err := os.ReadFile(picture)
		if err != nil || len(b) > 50_000 || strings.Contains(string(b), "1.000000") {
			t.Errorf("%s: a picture of %d bytes, %v", bounds, len(b), err)
		}
	}
}

// A folder of folders, one of which is refused by name.
func TestPEtab(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"lynx", "pk"} {
		abs, err := filepath.Abs(models + "petab-" + name)
		if err == nil {
			err = os.Symlink(abs, filepath.Join(dir, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	bad := filepath.Join(dir, "version3")
	if err := os.Mkdir(bad, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bad, "problem.yaml"), []byte("format_version: 3.0.0\nparameter_file: p.tsv\nproblems: []\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	out := output(t, "likelihood", dir)
	p, err := modelfile.Load(models + "petab-pk/problem.yaml")
	if err != nil {
		t.Fatal(err)
	}
	l, err := p.LogLikelihood(modelfile.LikelihoodSettings{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := l.At(context.Background(), p.Nominal(), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 of 3 problems could be read, and the log-likelihood was computed for 2", strconv.FormatFloat(v.LogLikelihood, 'f', 8, 64), "PEtab 3.0.0"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for _, args := range [][]string{{filepath.Join(dir, "none")}, {t.TempDir()}, {"-gradient", dir}, {dir, dir}} {
		if err := run(context.Background(), append([]string{"likelihood"}, args...), new(bytes.Buffer)); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestGenerate(t *testing.T) {
	out := output(t, "generate", models+"pk.yaml", "-condition", "high")
	if _, err := parser.ParseFile(token.NewFileSet(), "high.go", out, parser.AllErrors); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"package main", "func Problem() *probode.Problem", "x[0] + 150"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	file := filepath.Join(t.TempDir(), "x.go")
	for _, args := range [][]string{{}, {models + "pk.yaml", models + "pk.yaml"}, {models + "pk.yaml", "-condition", "none"}} {
		err := run(context.Background(), append([]string{"generate", "-out", file}, args...), new(bytes.Buffer))
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", args, err)
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%q: a file was written", args)
		}
	}
}

// A dose is taken at 0: 1 − e^{−1.2} of it is absorbed in an hour, and blood is
// the observable.
func TestSolveModel(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(output(t, "solve", "-model", models+"pk.yaml", "-condition", "high", "-times", "0,1"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3 || strings.Join(rows[0], ",") != "t,gut [mg],central [mg],blood" {
		t.Fatalf("%q", rows)
	}
	number := func(i, k int) float64 {
		v, err := strconv.ParseFloat(rows[i][k], 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if number(1, 1) != 150 || math.Abs(number(2, 1)-150*math.Exp(-1.2)) > 1e-5 {
		t.Errorf("gut %v and %v", number(1, 1), number(2, 1))
	}
	if math.Abs(number(2, 3)-number(2, 2)/20) > 1e-12 {
		t.Errorf("blood %v of %v", number(2, 3), number(2, 2))
	}
	for _, args := range [][]string{{"-condition", "none"}, {"-problem", "rober"}, {"-span", "1,2"}, {"-at", "none=1"}} {
		err := run(context.Background(), append([]string{"solve", "-model", models + "pk.yaml", "-times", "1"}, args...), new(bytes.Buffer))
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// Verbs of a posterior take a model file.
func TestPosteriorOfModel(t *testing.T) {
	out := output(t, "certify", "-v", "-model", models+"influenza.yaml", "-method", "dp5", "-rtol", "1e-2")
	for _, want := range []string{"beta", "gamma", "sigma"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for _, args := range [][]string{{"-data", "x.csv"}, {"-case", "lynx-hare"}} {
		args = append([]string{"certify", "-model", models + "influenza.yaml", "-rtol", "1e-2"}, args...)
		if err := run(context.Background(), args, new(bytes.Buffer)); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// A problem is written as a model file into a new folder, and read back has the same
// likelihood; a folder that is there is left alone. A folder stands for the problem in it.
func TestGenerateModelFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mine")
	output(t, "generate", models+"petab-cascade", "-out", dir)
	want := likelihoodOf(t, models+"petab-cascade").LogLikelihood
	for _, name := range []string{dir, filepath.Join(dir, "model.yaml")} {
		if got := likelihoodOf(t, name).LogLikelihood; math.Abs(got-want) > 1e-7 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for name, args := range map[string][]string{
		"this is a folder: choose another name":           {models + "pk.yaml", "-out", dir},
		"it already exists: want a name that ends in .go": {models + "pk.yaml", "-out", filepath.Join(dir, "model.yaml")},
		"-condition has no meaning with":                  {models + "pk.yaml", "-condition", "high", "-out", dir + "2"},
	} {
		if err := generate(t.Context(), args, io.Discard); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: error %v", args, err)
		}
	}
}

// A search that was stopped has not failed.
func TestFitStopped(t *testing.T) {
	var out bytes.Buffer
	p := &modelfile.File{Params: []modelfile.Parameter{{ID: "k", Lower: 0, Upper: 1, Estimate: true}}}
	writeOptima(&out, p, false, []modelfile.Optimum{{LogLikelihood: -1, Theta: []float64{0.5}, Reason: "optimum"},
		{Err: errors.New("no start")}, {Err: context.Canceled}, {Err: context.Canceled}}, nil, nil)
	if got := out.String(); !strings.Contains(got, "\n1 of 4 searches failed; the first error: no start\n2 of 4 searches had not begun when the fit was stopped\n") {
		t.Errorf("%s", got)
	}
}
