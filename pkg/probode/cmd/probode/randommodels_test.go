package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode/mcmc/diag"
	"github.com/probode/probode/pkg/probode/mcmc/store"
)

var (
	randomModels = flag.Int("models", 30, "how many random models TestRandomModels draws from")
	firstModel   = flag.Int("first", 0, "number of the first random model")
	randomDraws  = flag.Int("draws", 250, "draws from each chain of a random model; 0 means the default of sample")
	randomTime   = flag.Duration("patience", patience, "time limit of a random model")
	randomFolder = flag.String("keep", "", "folder for the files of random models")
)

// Draws of sample, as a user gets them who gives only a model file, against a quadrature of the
// posterior that shares no code with them: a closed form or a solver of its own, priors of its
// own, and a search for modes of its own. The default is thirty models with a few draws, one of
// each family, which takes two minutes on two cores. Many models, with as many draws as sample
// makes:
//
//	go test -run TestRandomModels -v -timeout 5h -args -models 300 -draws 0
//
// A verdict needs a p-value of 1e-6. A model has at most twelve, so a false alarm in thirty
// models happens with a probability of 4e-4.
func TestRandomModels(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	n, goal, most, counts := *randomModels, 0.05, 3_000_000, map[string]int{}
	if *randomDraws == 0 {
		goal, most = 0.02, 30_000_000 // doses and pulses need more evaluations than others
	}
	for i := *firstModel; i < *firstModel+n; i++ {
		m, begin := newRandomModel(i), time.Now()
		if i == 24 && *randomDraws > 0 {
			m = newRandomModel(54) // of the same family; the quadrature of 24 takes minutes
		}
		dir := t.TempDir()
		if *randomFolder != "" {
			dir = filepath.Join(*randomFolder, fmt.Sprint(i))
			if err := os.MkdirAll(dir, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		q := quadrature{quantiles: m.quantiles, logL: m.logL, cells: 128, goal: goal, most: most, seed: 1}
		truth, err := q.run()
		if err != nil {
			t.Errorf("model %d, %s: the quadrature: %v", i, m.family, err)
			continue
		}
		quadrature := time.Since(begin)
		verdict, words := judge(t, m, truth, dir)
		counts[verdict]++
		if verdict == "wrong in silence" || verdict == "failed" {
			t.Errorf("model %d, %s: %s\n%s", i, m.family, verdict, m.text)
		}
		t.Logf("model %d, %s, %d parameters: %s; %v, of which %v are for %d evaluations of the quadrature\n%s",
			i, m.family, len(m.params), verdict, time.Since(begin).Round(time.Millisecond), quadrature.Round(time.Millisecond), q.calls, words)
	}
	t.Log(counts)
	if cautions := counts["right with a caution"] + counts["wrong with a caution"]; cautions > n/50 {
		t.Errorf("%d of %d models come with a caution: want at most 2 %%", cautions, n)
	}
}

// judge draws from the model and compares the draws with the truth. If they differ at the level
// of 1 %, it makes eight times as many draws. They are wrong if then a probability below a
// quantile has a p-value under 1e-6.
func judge(t *testing.T, m *randomModel, truth []margin, dir string) (verdict, words string) {
	file, run := textFile(t, dir, "m.yaml", m.text), filepath.Join(dir, "run")
	draw := func(draws int) (string, error) {
		var out bytes.Buffer
		args := []string{"-model", file, "-dir", run, "-quiet"}
		if draws > 0 {
			args = append(args, "-draws", fmt.Sprint(draws))
		}
		r := sampleRun{out: &out, patience: *randomTime}
		err := r.run(t.Context(), args)
		return out.String(), err
	}
	said, err := draw(*randomDraws)
	if err != nil {
		return "failed", said + err.Error() + "\n"
	}
	caution := ""
	for _, line := range strings.Split(said, "\n") {
		// That tails are heavy, or that draws pile up at the end of a range, is true of the posterior.
		if _, words, is := strings.Cut(line, "caution: "); is && !strings.HasPrefix(words, "the tails of ") && !strings.Contains(words, " pile up at ") {
			caution = " with a caution"
		}
	}
	p, words := differences(t, m, truth, run)
	if p < 0.01 {
		if _, err := draw(8 * store.Length(run)); err != nil {
			return "failed", said + words + err.Error() + "\n"
		}
		var more string
		p, more = differences(t, m, truth, run)
		words += "with more draws:\n" + more
	}
	switch {
	case p > 1e-6:
		return "right" + caution, said + words
	case caution == "":
		return "wrong in silence", said + words
	default:
		return "wrong" + caution, said + words
	}
}

// differences returns the smallest p-value of the draws, and describes the quantiles that
// differ most from the truth.
func differences(t *testing.T, m *randomModel, truth []margin, run string) (least float64, words string) {
	chains, err := store.ReadParameters(run, nil)
	if err != nil {
		t.Fatal(err)
	}
	least = 1
	for k, id := range m.params {
		x := chains.Parameter(slices.Index(chains.Names, id))
		all := slices.Sorted(slices.Values(slices.Concat(x...)))
		for j, p := range tails {
			below, share := make([][]float64, len(x)), 0.0
			for c := range x {
				below[c] = make([]float64, len(x[c]))
				for i, v := range x[c] {
					if v <= truth[k].at[j] {
						below[c][i] = 1
						share += 1 / float64(len(all))
					}
				}
			}
			// The truth has an error, too, as if it were the share of finitely many draws.
			want := truth[k].below[j]
			n := min(diag.BulkESS(below), float64(len(all)))
			n = 1 / (1/n + truth[k].errors[j]*truth[k].errors[j]/(want*(1-want)))
			value := pValue(n, share, want)
			if least = min(least, value); value < 0.01 {
				words += fmt.Sprintf("%s: a share %.4f of the draws is below the %g-quantile, want %.4f: %.0f effective draws, p = %.2g; the quantile differs by %.3f sd\n",
					id, share, p, want, n, value, (diag.Quantile(all, p)-truth[k].at[j])/truth[k].sd)
			}
		}
	}
	return least, words
}

// pValue returns the probability that, of n independent draws, a share as far from want or
// farther would be in a set of the probability want.
func pValue(n, share, want float64) float64 {
	if share > want {
		return min(1, 2*distuv.Beta{Alpha: n * share, Beta: n*(1-share) + 1}.CDF(want))
	}
	return min(1, 2*distuv.Beta{Alpha: n*share + 1, Beta: n * (1 - share)}.Survival(want))
}
