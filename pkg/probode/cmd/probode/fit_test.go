package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	modelfile "github.com/probode/probode/pkg/probode/model"
)

// The file of -json has the names of docs/json.md, and no others, and a later fit, from
// its ends, ends at its optimum.
func TestFitJSON(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	documented := map[string]bool{}
	for _, row := range strings.Split(jsonSection(t, "fit"), "\n") {
		if cells := strings.Split(row, "|"); len(cells) > 2 {
			for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
				documented[m[1]] = true
			}
		}
	}
	written := map[string]bool{}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, w := range v {
				if strings.HasSuffix(at, "parameters") {
					k = "*"
				}
				walk(strings.TrimPrefix(at+"."+k, "."), w)
			}
		case []any:
			if !strings.Contains(at, "[]") {
				written[at+"[]"] = true
			}
			for _, w := range v {
				walk(at+"[]", w)
			}
		default:
			written[at] = true
		}
	}
	dir := t.TempDir()
	file, page := filepath.Join(dir, "fit.json"), filepath.Join(dir, "fit.svg")
	out := output(t, "fit", "-model", models+"lynx.yaml", "-starts", "3", "-profiles", "-confidence", "0.68", "-json", file, "-out", page)
	for _, want := range []string{"AIC ", "68 % confidence", "The data "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(content, &v); err != nil {
		t.Fatal(err)
	}
	walk("", v)
	// Of ±k, both signs are equally likely.
	for name, content := range map[string]string{"signs.yaml": "parameters:\n  - {parameterId: k, nominalValue: 0.7, lowerBound: -3, upperBound: 3}\n" +
		"odes:\n  - {stateId: x, rightHandSide: -k * k * x, initialValue: 2}\nobservables:\n  - {observableId: y, observableFormula: x, noiseFormula: 0.05}\ndata: signs.csv\n",
		"signs.csv": "time,y\n0.5,1.6\n1,1.25\n2,0.74\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	signs := output(t, "fit", "-model", filepath.Join(dir, "signs.yaml"), "-profiles", "-json", filepath.Join(dir, "signs.json"), "-out", filepath.Join(dir, "signs.svg"))
	if !strings.Contains(signs, "extends beyond these intervals") || strings.Contains(signs, "determine all parameters") {
		t.Errorf("two parts of the confidence region:\n%s", signs)
	}
	// From the file the two optima are searched for once each.
	if out := output(t, "fit", "-model", filepath.Join(dir, "signs.yaml"), "-start", filepath.Join(dir, "signs.json"), "-profiles"); !strings.Contains(out, "extends beyond these intervals") ||
		!regexp.MustCompile(`(?m) 0\.00 +2 .* optimum`).MatchString(out) {
		t.Errorf("profiles of the ends in a file:\n%s", out)
	}
	picture, err := os.ReadFile(filepath.Join(dir, "signs.svg"))
	if err != nil || !bytes.Contains(picture, []byte("elsewhere")) {
		t.Errorf("the figure shows one part of the confidence region: %v", err)
	}
	// Of a and b, the data determine only the product.
	product := "parameters:\n  - {parameterId: a, lowerBound: 1e-6, upperBound: 1e6, parameterScale: log10}\n  - {parameterId: b, lowerBound: 0.1, upperBound: 10, parameterScale: log10}\n" +
		"odes:\n  - {stateId: x, rightHandSide: -a * b * x, initialValue: 2}\nobservables:\n  - {observableId: y, observableFormula: x, noiseFormula: 0.05}\ndata: signs.csv\n"
	if err := os.WriteFile(filepath.Join(dir, "product.yaml"), []byte(product), 0o666); err != nil {
		t.Fatal(err)
	}
	closed := output(t, "fit", "-model", filepath.Join(dir, "product.yaml"), "-starts", "2", "-profiles", "-json", filepath.Join(dir, "product.json"))
	limits := "lower end: b at its bound 10, upper end: b at its bound 0.1"
	for _, want := range []string{limits + "\n", "The data alone do not determine a (" + limits + ").", "The data do not determine b: "} {
		if !strings.Contains(closed, want) {
			t.Errorf("no %q in\n%s", want, closed)
		}
	}
	if said := undetermined(filepath.Join(dir, "product.json")); !strings.Contains(said, "do not determine a, b.") {
		t.Errorf("what a sampler hears of the profiles: %q", said)
	}
	// In the only condition with data, c is multiplied by zero.
	off := "parameters:\n  - {parameterId: a, lowerBound: 0, upperBound: 5}\n  - {parameterId: c, lowerBound: 0, upperBound: 1}\n  - {parameterId: s, nominalValue: 1, estimate: 0}\n" +
		"odes:\n  - {stateId: x, rightHandSide: -(a + s * c) * x, initialValue: 2}\nobservables:\n  - {observableId: y, observableFormula: x, noiseFormula: 0.05}\n" +
		"conditions:\n  - {conditionId: one, s: 0}\n  - {conditionId: two, s: 1}\ndata: |\n  time,conditionId,y\n  0.5,one,1.6\n  1,one,1.25\n"
	if err := os.WriteFile(filepath.Join(dir, "off.yaml"), []byte(off), 0o666); err != nil {
		t.Fatal(err)
	}
	idle := output(t, "fit", "-model", filepath.Join(dir, "off.yaml"), "-starts", "3", "-json", filepath.Join(dir, "off.json"))
	if strings.Count(idle, "no effect") != 1 || !regexp.MustCompile(`(?m)^c .* 0 to 1, no effect on the likelihood$`).MatchString(idle) || strings.Contains(idle, "equally good") {
		t.Errorf("a parameter without effect:\n%s", idle)
	}
	for _, name := range []string{"signs.json", "product.json", "off.json"} {
		if content, err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		var w map[string]any
		if err := json.Unmarshal(content, &w); err != nil {
			t.Fatal(err)
		}
		walk("", w)
	}
	if a, b := slices.Sorted(maps.Keys(written)), slices.Sorted(maps.Keys(documented)); !slices.Equal(a, b) {
		t.Errorf("written %v\ndocumented %v", a, b)
	}
	if picture, err := os.ReadFile(page); err != nil || !bytes.Contains(picture, []byte("within the profiles")) {
		t.Errorf("the figure has no band: %v", err)
	}
	again := output(t, "fit", "-model", models+"lynx.yaml", "-start", file)
	first := regexp.MustCompile(`(?m)^ *(-?[0-9.]+) +0\.00 .* optimum`)
	if a, b := first.FindStringSubmatch(out), first.FindStringSubmatch(again); a == nil || b == nil || a[1] != b[1] {
		t.Errorf("from the ends:\n%s\nbefore:\n%s", again, out)
	}
	if out := output(t, "fit", "-model", models+"lynx.yaml", "-start", "nominal", "-map", "-json", "-"); !strings.Contains(out, `"format": "probode fit"`) {
		t.Errorf("no JSON in\n%s", out)
	}
	other := filepath.Join(dir, "influenza.json")
	output(t, "fit", "-model", models+"influenza.yaml", "-starts", "3", "-json", other)
	if out := output(t, "certify", "-model", models+"influenza.yaml", "-method", "dp5", "-rtol", "1e-5", "-start", other); !strings.Contains(out, "Certified") {
		t.Errorf("a certificate at the optima:\n%s", out)
	}
	if out := output(t, "assess", "-model", models+"influenza.yaml", "-method", "dp5", "-rtol", "1e-3", "-draws", "100", "-start", other, "-quiet"); !strings.Contains(out, "rtol = 0.001") {
		t.Errorf("an assessment from the optima:\n%s", out)
	}
	for _, args := range [][]string{{"-start", "nowhere.json"}, {"-start", models + "pk.yaml"}, {"-confidence", "1"}, {"-start", file, "-model", models + "pk.yaml"}} {
		err := run(context.Background(), append([]string{"fit", "-model", models + "lynx.yaml"}, args...), new(bytes.Buffer))
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// The parameter has narrow bounds, and the maximum is in the middle of them, or at one of
// them, according to the measurement. With -map there are no information criteria.
func TestFitAtBound(t *testing.T) {
	for y, want := range map[string]bool{"1000.2": false, "1003": true} {
		file := textFile(t, t.TempDir(), "m.yaml", `name: constant
parameters: [{parameterId: a, nominalValue: 1000.1, lowerBound: 1000, upperBound: 1000.5, objectivePriorType: normal, objectivePriorParameters: 1000.2;1}]
odes: [{stateId: x, rightHandSide: 0, initialValue: a}]
observables: [{observableId: y, observableFormula: x, noiseFormula: 0.1}]
data: |
  time,y
  1,`+y+"\n")
		for _, priors := range []bool{false, true} {
			args := []string{"fit", "-model", file, "-starts", "2"}
			if priors {
				args = append(args, "-map")
			}
			out := output(t, args...)
			if strings.Contains(out, "at the bound") != want || strings.Contains(out, "AIC") == priors {
				t.Errorf("y = %s, -map %t:\n%s", y, priors, out)
			}
		}
	}
}

// At whole times oscillations with the frequencies w and 2π − w are equal, so they fit
// the data equally well. If the bounds allow both, fit names both.
func TestFitEquallyGood(t *testing.T) {
	for upper, want := range map[string]string{"5": "w from 1.28932 to 4.99387", "3": ""} {
		file := textFile(t, t.TempDir(), "m.yaml", `name: oscillation
parameters: [{parameterId: w, nominalValue: 1.3, lowerBound: 0.8, upperBound: `+upper+`}]
odes:
  - {stateId: x, rightHandSide: v, initialValue: 1}
  - {stateId: v, rightHandSide: -w^2 * x, initialValue: 0}
observables: [{observableId: y, observableFormula: x, noiseFormula: 0.2}]
data: |
  time,y
  1,0.35
  2,-0.8
  3,-0.7
  4,0.4
  5,1.05
  6,0.1
  7,-0.95
`)
		out := output(t, "fit", "-model", file, "-starts", "10")
		if strings.Contains(out, "equally good") != (want != "") || !strings.Contains(out, want) {
			t.Errorf("upper bound %s: want %q:\n%s", upper, want, out)
		}
	}
}

// The optimum of b is zero, so searches that end there find values of any relative size.
// They are not said to be different.
func TestFitAtZero(t *testing.T) {
	file := textFile(t, t.TempDir(), "m.yaml", `name: zero
parameters: [{parameterId: b, nominalValue: 0.1, objectivePriorType: normal, objectivePriorParameters: 0;1}]
odes: [{stateId: x, rightHandSide: b * (2 - x)^3, initialValue: 3}]
observables: [{observableId: y, observableFormula: x, noiseFormula: 0.5}]
data: |
  time,y
  1,3
  2,3
  3,3
`)
	if out := output(t, "fit", "-model", file, "-starts", "50"); strings.Contains(out, "equally good") {
		t.Error(out)
	}
}

// With -budget the searches end in time, and what they have reached is written. A search
// takes about a millisecond, so 200,000 of them do not end in a second.
func TestFitBudget(t *testing.T) {
	file := textFile(t, t.TempDir(), "m.yaml", `name: decay
parameters: [{parameterId: a, nominalValue: 1, lowerBound: 0.1, upperBound: 10}]
odes: [{stateId: x, rightHandSide: -a * x, initialValue: 1}]
observables: [{observableId: y, observableFormula: x, noiseFormula: 0.1}]
data: |
  time,y
  1,0.3
  2,0.2
`)
	out := output(t, "fit", "-model", file, "-starts", "200000", "-budget", "1s")
	for _, want := range []string{"optimum", "of 200000 searches had not begun", "stopped after 1s"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if out := output(t, "fit", "-model", file, "-starts", "3", "-budget", "1h"); strings.Contains(out, "stopped") {
		t.Errorf("stopped before an hour:\n%s", out)
	}
	for budget, want := range map[string]string{"1ns": "no search has reached a point", "-1s": "-budget -1s: want"} {
		if err := run(t.Context(), []string{"fit", "-model", file, "-budget", budget}, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("-budget %s: error %v", budget, err)
		}
	}
}

// Searches that all end on a plateau, priors that are not part of a likelihood, and a best
// point that is no optimum are named. At the best value of k, all residuals are 0.
func TestFitSaysWhatIsWrong(t *testing.T) {
	inFolder(t, "m.yaml", "")
	const model = `parameters:
  - {parameterId: k, nominalValue: 1, KIND}
odes:
  - {stateId: x, rightHandSide: -k * x, initialValue: 1}
observables:
  - {observableId: y, observableFormula: x, noiseFormula: 1e-3}
data: |
  time,y
  1,0.999
  2,0.998001
`
	for kind, want := range map[string]string{
		"lowerBound: 0, upperBound: 1":                        "goodness of fit: χ² per datum ",
		"lowerBound: 50, upperBound: 90":                      "caution: the residuals are much larger than the errors",
		"lowerBound: 500, upperBound: 900, nominalValue: 600": "500 to 900, no effect on the likelihood here",
		"objectivePriorType: normal, objectivePriorParameters: 0;s}\n  - {parameterId: s, nominalValue: 1, objectivePriorType: halfNormal, objectivePriorParameters: 1": "caution: fit ignores the priors of the random effects k, so",
	} {
		text := strings.ReplaceAll(model, "KIND", kind)
		if strings.Contains(kind, "nominalValue: 600") || strings.Contains(kind, "0;s") {
			text = strings.Replace(text, "nominalValue: 1, ", "", 1)
		}
		if err := os.WriteFile("m.yaml", []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		out := output(t, "fit", "m.yaml", "-starts", "3")
		if !strings.Contains(out, want) {
			t.Errorf("%s: no %q in\n%s", kind, want, out)
		}
	}
	var out bytes.Buffer
	p := &modelfile.File{Params: []modelfile.Parameter{{ID: "k", Lower: 0, Upper: 1, Estimate: true}}}
	writeOptima(&out, p, false, []modelfile.Optimum{{LogLikelihood: -1, Theta: []float64{0.5}, Reason: "left more than 2 below the best"}}, nil, nil)
	if got := out.String(); strings.Contains(got, "below the best\n") || !strings.Contains(got, "no optimum\n") || !strings.Contains(got, "caution: the best point is not an optimum") {
		t.Errorf("%s", got)
	}
}
