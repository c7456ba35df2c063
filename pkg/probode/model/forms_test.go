package model

import (
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// A table of measurements is the same table with other ends of lines, with a byte order
// mark, with quotes, blanks, empty rows and cells, comments, tabs, another order of columns or
// rows, and as a PEtab table. What follows is compared with the first form: condition,
// observable, time and value of each measurement, in the order of time.
func TestTablesInOtherForms(t *testing.T) {
	const model = `time: {variable: day}
parameters:
  - {parameterId: k, nominalValue: 1}
odes:
  - {stateId: x, rightHandSide: -k * x, initialValue: 1}
observables:
  - {observableId: a, observableFormula: x, noiseFormula: 1}
  - {observableId: b, observableFormula: 2 * x, noiseFormula: 1}
conditions:
  - {conditionId: c1}
  - {conditionId: c2, k: 2}
data: d.csv
`
	const table = "conditionId,day,a,b\nc1,0,1,2.5\nc1,1.5,NA,-0.25\nc2,2,1e-3,NaN\nc2,3,,4\n"
	read := func(table string) (list map[string]float64) {
		t.Helper()
		p, err := LoadFS(fstest.MapFS{"m.yaml": {Data: []byte(model)}, "d.csv": {Data: []byte(table)}}, "m.yaml")
		if err != nil {
			t.Errorf("%q: %v", table, err)
			return nil
		}
		list = map[string]float64{}
		for _, d := range p.Models[0].Data {
			list[strings.Join([]string{d.Condition, d.Observable, strconv.FormatFloat(d.Time, 'g', -1, 64)}, " ")] = d.Value
		}
		if len(p.Warnings) > 0 || len(list) != len(p.Models[0].Data) {
			t.Errorf("%q: %v, %v", table, p.Warnings, p.Models[0].Data)
		}
		return list
	}
	want := map[string]float64{"c1 a 0": 1, "c1 b 0": 2.5, "c1 b 1.5": -0.25, "c2 a 2": 1e-3, "c2 b 3": 4}
	for what, form := range map[string]string{
		"as it is":           table,
		"without a last end": strings.TrimSuffix(table, "\n"),
		"\\r\\n":             strings.ReplaceAll(table, "\n", "\r\n"),
		"byte order mark":    "\ufeff" + table,
		"tabs":               strings.ReplaceAll(table, ",", "\t"),
		"blanks":             strings.ReplaceAll(strings.ReplaceAll(table, ",", " , "), "\n", "  \n"),
		"quotes":             strings.NewReplacer("day", `"day"`, "c1,", `"c1",`, "2.5", `"2.5"`).Replace(table),
		"empty rows":         strings.ReplaceAll(table, "\nc", "\n\n,,,\nc"),
		"comments":           "# 1, 2\n#\t3\n" + strings.Replace(table, "\nc2", "\n# c2,1,1,1\nc2", 1),
		"empty columns":      strings.ReplaceAll(table, "\n", ",,\n"),
		"other words":        strings.NewReplacer("NA", "null", "NaN", "N/A").Replace(table),
		"time":               strings.Replace(table, "day", "time", 1),
		"other columns":      "a,day,conditionId,b\n1,0,c1,2.5\n,1.5,c1,-0.25\n0.001,2,c2\n,3,c2,4\n",
		"other rows":         "conditionId,day,a,b\nc2,3,,4\nc1,1.5,,-0.25\nc1,0,1,\nc2,2,.001e0,\nc1,0,,2.5\n",
		"PEtab": "observableId\tsimulationConditionId\tmeasurement\ttime\na\tc1\t1\t0\nb\tc1\t2.5\t0\nb\tc1\t-0.25\t1.5\n" +
			"a\tc2\t1e-3\t2\nb\tc2\t+4.0\t3e0\n",
	} {
		got := read(form)
		for key, v := range want {
			if got[key] != v || len(got) != len(want) {
				t.Errorf("%s: %v, want %v", what, got, want)
				break
			}
		}
	}
	for what, c := range map[string]struct{ table, want string }{
		"\\r":                {strings.ReplaceAll(table, "\n", "\r"), "d.csv:1: lines end with a carriage return alone"},
		"semicolons":         {strings.ReplaceAll(table, ",", ";"), "the columns seem to be separated by semicolons; use commas or tabs"},
		"a decimal comma":    {strings.NewReplacer(",", "\t", "2.5", "2,5").Replace(table), `d.csv:2: b is "2,5": want a finite number`},
		"a hexadecimal":      {strings.Replace(table, "2.5", "0x10", 1), `d.csv:2: b is "0x10": want a finite number`},
		"an infinite value":  {strings.Replace(table, "2.5", "inf", 1), `d.csv:2: b is "inf": want a finite number`},
		"a number too large": {strings.Replace(table, "2.5", "1e999", 1), `d.csv:2: b is "1e999": want a finite number`},
		"a column twice":     {strings.Replace(table, "a,b", "a,a", 1), "d.csv:1: column a appears twice"},
		"no time":            {strings.Replace(table, "c1,1.5", "c1,", 1), "d.csv:3: day is empty"},
		"no condition":       {strings.Replace(table, "c1,1.5", ",1.5", 1), "d.csv:3: conditionId is empty"},
		"an open quote":      {strings.Replace(table, "c1,1.5", `c1,"1.5`, 1), "d.csv:3: cannot read this row of the table"},
		"no measurement":     {"conditionId,day,a\nc1,1,\n", "d.csv: the table has no measurements"},
		"only a header":      {"conditionId,day,a\n", "d.csv: the table has no measurements"},
		"nothing":            {"", "d.csv: empty: want a table with a header"},
		"binary":             {"a\x00,\xff\n", "d.csv"},
	} {
		_, err := LoadFS(fstest.MapFS{"m.yaml": {Data: []byte(model)}, "d.csv": {Data: []byte(c.table)}}, "m.yaml")
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with %q", what, err, c.want)
		}
	}
}
