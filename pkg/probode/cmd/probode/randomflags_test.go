package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// Whatever flags are combined, with whatever values, a command ends with a result or with an
// error of one line, and with nothing written in the second case. If it writes JSON, the
// JSON is valid and has the documented format. The flags and values are those of users who
// mistype, leave out or contradict; no combination takes long.
func TestRandomFlags(t *testing.T) {
	inFolder(t, "counts.yaml", counts)
	if err := os.WriteFile("late.yaml", []byte(`time: {start: 2}
parameters:
  - {parameterId: k, nominalValue: 0.5, lowerBound: 0.1, upperBound: 2, parameterScale: log10}
  - {parameterId: dose, nominalValue: 1}
odes:
  - {stateId: x, rightHandSide: -k * x, initialValue: 1}
doses:
  - {doseId: d, state: x, amount: dose, time: 3, every: 1, count: 2, duration: 0.5}
events:
  - {eventId: e, trigger: x < 0.8, assignments: {x: x + 1}}
observables:
  - {observableId: y, observableFormula: x, noiseFormula: 0.2}
conditions:
  - {conditionId: high, dose: 2}
  - {conditionId: low, dose: 0}
data: |
  conditionId,time,y
  high,3,1
  low,5,0.7
`), 0o644); err != nil {
		t.Fatal(err)
	}
	model := []string{"counts.yaml", "late.yaml", "none.yaml", ""}
	tolerances := []string{"1e-3", "0", "1", "nan", "1e-3,1e-4", "x", ""}
	values := map[string][]string{
		"model": model, "condition": {"high", "low", "", "none"}, "method": {"dp5", "radau5", "rk4", "am1", "am1,newton", "reference", "bdf", "ek0", "none", ""},
		"step": {"0.1", "0", "-1", "inf", "0.37", "1e9"}, "rtol": tolerances, "atol": append(tolerances, "1e-6", "1e-6,1e-6"),
		"times": {"2,3", "5", "1e9", "3,3", "", "nan", "2.5,"}, "at": {"k=0.3", "nominal", "k=0.7", "k=0.7,k=1", "k=", "none=1", ""}, "span": {"2,4", "0,4", "4,2", "2", "2,inf", ""}, "paths": {"0", "3", "-1"}, "alpha": {"0.1", "auto", "0", "-1", "x"},
		"seed": {"2", "0"}, "problem": {"fhn", "none"}, "gradient": {"true", "false"}, "data": {"counts.csv", "counts.yaml", "none"},
		"json": {"a.json", "-", "none/a.json", "counts.yaml"}, "out": {"a.csv", "-", "a.xlsx", "counts.yaml", "a.go", "a.svg"},
	}
	verbs := map[string][]string{
		"solve":      {"model", "condition", "method", "step", "rtol", "atol", "times", "at", "span", "paths", "alpha", "seed", "problem", "json", "out"},
		"likelihood": {"model", "at", "rtol", "atol", "step", "method", "gradient", "json"},
		"generate":   {"model", "condition", "out"},
	}
	before := left(t)
	rng := rand.New(rand.NewPCG(4, 4))
	results := map[string]int{}
	for range 300 {
		verb := []string{"solve", "likelihood", "generate"}[rng.IntN(3)]
		args := []string{verb, "-model=" + model[rng.IntN(2)]}
		machine := ""
		for _, flag := range verbs[verb] {
			if rng.IntN(4) > 0 || flag == "model" && rng.IntN(3) > 0 {
				continue
			}
			value := values[flag][0] // which is valid on its own
			if rng.IntN(2) == 0 {
				value = values[flag][rng.IntN(len(values[flag]))]
			}
			if args = append(args, "-"+flag+"="+value); flag == "json" {
				machine = value
			}
		}
		if rng.IntN(10) == 0 {
			args = append(args, []string{"counts.yaml", "--", "-none", "-h"}[rng.IntN(4)])
		}
		rng.Shuffle(len(args)-1, func(i, j int) { args[i+1], args[j+1] = args[j+1], args[i+1] })
		var out strings.Builder
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		err := func() (err error) {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("%q: panic: %v\n%s", args, r, debug.Stack())
					err = fmt.Errorf("panic")
				}
			}()
			return run(ctx, args, &out)
		}()
		cancel()
		help := out.Len() > 0 && strings.HasSuffix(fmt.Sprint(err), "help requested")
		switch files := left(t); {
		case err == nil:
			results[verb]++
			data := []byte(out.String())
			if machine != "" && machine != "-" {
				if data, err = os.ReadFile(machine); err != nil {
					t.Errorf("%q: %v", args, err)
				}
			}
			var result struct{ Format string }
			if e := json.Unmarshal(data, &result); machine != "" && (e != nil || result.Format != "probode "+verb) {
				t.Errorf("%q: %v in %.200s", args, e, data)
			}
		case help:
		case strings.Contains(err.Error(), "\n") || out.Len() > 0 || files != before:
			t.Errorf("%q: error %v, printed %.200q, and left %s", args, err, out.String(), files)
		default:
			results["error"]++
		}
		for _, name := range strings.Fields(left(t)) {
			if !strings.Contains(before, name) {
				os.RemoveAll(name)
			}
		}
	}
	if results["solve"] < 3 || results["likelihood"] < 10 || results["generate"] < 10 || results["error"] < 100 {
		t.Errorf("%v commands had results or errors: want more of each", results)
	}
}
