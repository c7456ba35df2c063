package store_test

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode/mcmc/store"
)

func TestReadCSV(t *testing.T) {
	for _, test := range []struct {
		name    string
		files   []string
		renamed map[string]string
		draws   [][][]float64
		logPost [][][]float64
		weights [][]float64
		notes   []string
	}{
		{
			name:    "CmdStan",
			files:   []string{"# model = m\nlp__,accept_stat__,a,b.1,y_hat.1\n# Adaptation terminated\n-3,1,1,2,9\n-4,1,3,4,9\n#\n# Elapsed\n", "lp__,accept_stat__,a,b.1,y_hat.1\n-5,1,5,6,9\n-6,1,7,8,9\n"},
			draws:   [][][]float64{{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}},
			logPost: [][][]float64{{{-3}, {-4}}, {{-5}, {-6}}},
			notes:   []string{"columns that are not used: y_hat.1"},
		},
		{
			name:  "R's posterior, with quotes and chains",
			files: []string{"\"b[1]\",\"a\",\".chain\",\".iteration\"\n2,1,1,1\n6,5,2,1\n4,3,1,2\n"},
			draws: [][][]float64{{{1, 2}}, {{5, 6}}},
			notes: []string{"columns that are not used: .iteration", "warning: 1 of 3 rows are left out, because the shortest chain has 1"},
		},
		{
			name:    "other names, weights and a row that is not finite",
			files:   []string{"alpha,beta,weight\n1,2,0\nNaN,2,1\n3,4,1\n"},
			renamed: map[string]string{"alpha": "a", "beta": "b[1]"},
			draws:   [][][]float64{{{1, 2}, {3, 4}}},
			weights: [][]float64{{math.Inf(-1), 0}},
			notes:   []string{"warning: 1 of 3 rows are left out, because a parameter is not finite"},
		},
	} {
		c, err := store.ReadCSV(files(t, test.files), []string{"a", "b[1]"}, test.renamed)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if !reflect.DeepEqual(c.Draws, test.draws) || !reflect.DeepEqual(c.Generated, test.logPost) || !reflect.DeepEqual(c.LogWeights, test.weights) || !reflect.DeepEqual(c.Notes, test.notes) {
			t.Errorf("%s: got %v, lp__ %v, log weights %v, notes %q", test.name, c.Draws, c.Generated, c.LogWeights, c.Notes)
		}
	}
}

func TestReadCSVErrors(t *testing.T) {
	for want, test := range map[string]struct {
		files   []string
		renamed map[string]string
	}{
		"there is no column for a: its columns are x, b": {files: []string{"x,b\n1,2\n"}},
		"the columns b.1 and b[1] are both b.1":          {files: []string{"a,b.1,b[1]\n1,2,3\n"}},
		"there is no column z to rename":                 {files: []string{"a,b\n1,2\n"}, renamed: map[string]string{"z": "a"}},
		"c is not a parameter: want one of a, b":         {files: []string{"a,b\n1,2\n"}, renamed: map[string]string{"a": "c"}},
		"line 3: b is \"x\": want a number":              {files: []string{"a,b\n1,2\n1,x\n"}},
		"wrong number of fields":                         {files: []string{"a,b\n1,2\n1\n"}},
		"its columns differ from those of the first":     {files: []string{"a,b\n1,2\n", "b,a\n1,2\n"}},
		"weight is -1: want a number ≥ 0":                {files: []string{"a,b,weight\n1,2,-1\n"}},
		"it is empty":                                    {files: []string{""}},
		"there are no draws":                             {files: []string{"a,b\n"}},
	} {
		names := []string{"a", "b"}
		if strings.Contains(want, "b.1") {
			names[1] = "b.1"
		}
		if _, err := store.ReadCSV(files(t, test.files), names, test.renamed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got the error %v: want %q", err, want)
		}
	}
}

func files(t *testing.T, texts []string) (paths []string) {
	dir := t.TempDir()
	for i, text := range texts {
		path := filepath.Join(dir, string(rune('a'+i))+".csv")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}
