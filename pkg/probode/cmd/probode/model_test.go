package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// parsed returns the model of a command line.
func parsed(t *testing.T, args ...string) (*model, *bayes.Posterior, error) {
	t.Helper()
	flags := flag.NewFlagSet("test", flag.ContinueOnError)
	m := newModel(flags)
	if err := parse(flags, args, "", new(strings.Builder)); err != nil {
		return m, nil, err
	}
	p, err := m.build()
	return m, p, err
}

// tableFile writes a file of data and returns its path.
func tableFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data.csv")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const pelts = "year,hare,lynx\n1900,30,4\n1901,47.2,6.1\n1902,70.2,9.8\n"

func lotka(data string, more ...string) []string {
	return append([]string{"-problem", "lotka-volterra-20", "-data", data, "-time", "year", "-columns", "hare=prey,lynx=predator",
		"-errors", "lognormal(sigma)", "-prior", "a=positive(1,0.5)", "-prior", "sigma = lognormal(-1, 1)", "-step", "0.5"}, more...)
}

func TestModelOfProblem(t *testing.T) {
	data := tableFile(t, pelts)
	_, p, err := parsed(t, lotka(data, "-unknown-start", "-prior", "prey0=lognormal(2.3,1)", "-fix", "predator0=4", "-fix", "b=0.03", "-method", "am1,current")...)
	if err != nil {
		t.Fatal(err)
	}
	x := p.Experiments[0]
	if got, want := fmt.Sprint(p.Method, p.StepSize(), p.Alpha, x.Problem.Span, x.Problem.Theta, x.Data.Names), "AM1 (current) 0.5 0 [1900 1902] [0.5 0.03 0.5 0.05 20 4] [prey predator]"; got != want {
		t.Errorf("model %s, want %s", got, want)
	}
	var names []string
	for _, q := range p.Params {
		names = append(names, q.Name)
	}
	if !slices.Equal(names, []string{"a", "sigma", "prey0"}) {
		t.Errorf("parameters %v", names)
	}

	// With a known start the problem's own time is kept, as the state belongs to it.
	_, p, err = parsed(t, lotka(data, "-t0", "1899.5", "-alpha", "halfnormal(2)", "-errors", "lognormal(sigma),gaussian(0.5)", "-method", "RK4")...)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(p.Experiments[0].Problem.Span, p.AlphaParam, len(p.Params), len(p.Experiments[0].Errors), p.Method), "[1899.5 1902]alpha3 2 RK4"; got != want {
		t.Errorf("model %s, want %s", got, want)
	}
	_, p, err = parsed(t, lotka(data)...)
	if err != nil || p.Experiments[0].Problem.Span != [2]float64{0, 1902} {
		t.Errorf("span %v, error %v", p.Experiments[0].Problem.Span, err)
	}
}

// α of auto is found at the mode, one that was given is left alone.
func TestModelAlpha(t *testing.T) {
	data := tableFile(t, pelts)
	args := lotka(data, "-unknown-start", "-fix", "prey0=30", "-fix", "predator0=4")
	m, _, err := parsed(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.posterior(context.Background())
	if err != nil || !(p.Alpha > 0) {
		t.Errorf("alpha %v, error %v", p.Alpha, err)
	}
	m, _, err = parsed(t, append(args, "-alpha", "0")...)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := m.posterior(context.Background()); err != nil || p.Alpha != 0 {
		t.Errorf("alpha %v, error %v", p.Alpha, err)
	}
}

func TestModelOfCase(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..")
	for _, c := range cases.All() {
		_, p, err := parsed(t, "-case", c.Name, "-step", "0.25")
		if err != nil {
			t.Fatal(err)
		}
		if p.StepSize() != 0.25 || len(p.Params) < 1 {
			t.Errorf("%s: step %g, %d parameters", c.Name, p.StepSize(), len(p.Params))
		}
	}
	_, p, err := parsed(t, "-case", "fitzhugh-nagumo", "-data", filepath.Join(root, "reproduce", "data.csv"), "-method", "ab2", "-alpha", "auto")
	if err != nil || p.Alpha != 0 || p.Method.String() != "AB2" {
		t.Errorf("alpha %v, method %v, error %v", p.Alpha, p.Method, err)
	}
	for name, want := range map[string]probode.Scaling{"local": probode.ScaleLocal, "method": probode.ScaleStep} {
		if _, p, err = parsed(t, "-case", "pk-mm", "-noise", name); err != nil || p.Scaling != want {
			t.Errorf("-noise %s: %v, %v", name, p.Scaling, err)
		}
	}
	if _, _, err = parsed(t, "-case", "pk-mm", "-noise", "some"); err == nil || !strings.Contains(err.Error(), "-noise some: want local or method") {
		t.Errorf("-noise some: %v", err)
	}
}

// A case has its own method, a problem AM1 unless there is another.
func TestModelMethod(t *testing.T) {
	influenza := []string{"-case", "influenza", "-data", "../../../../notebooks/data/influenza.csv"}
	for _, c := range []struct {
		args []string
		want string
	}{
		{influenza, "RK4"},
		{append(influenza, "-method", "ab2"), "AB2"},
		{lotka(tableFile(t, pelts)), "AM1 (newton)"},
	} {
		_, p, err := parsed(t, c.args...)
		if err != nil || p.Method.String() != c.want {
			t.Errorf("%q: method %v, error %v, want %s", c.args, p.Method, err, c.want)
		}
	}
}

// The largest counts that are let through are such as mcmc.Settings takes: a
// hundred times the draws, and burn-in, of all chains have room in an int.
func TestCounts(t *testing.T) {
	for _, chains := range []int{1, 4, mcmc.MaxChains} {
		for _, draws := range []int{0, 1, maxDraws} {
			m := &model{chains: chains, draws: draws}
			burnIn := math.MaxInt / 2 / chains
			thin := burnIn / max(draws, 1000) / 100
			if err := m.checkCounts(burnIn, thin); err != nil {
				t.Error(err)
			}
			all := new(big.Int).Mul(big.NewInt(100*int64(draws)), big.NewInt(int64(thin)))
			all.Add(all, big.NewInt(int64(burnIn))).Mul(all, big.NewInt(int64(chains)))
			if !all.IsInt64() {
				t.Errorf("%d chains of %d draws: %v iterations", chains, draws, all)
			}
			for want, counts := range map[string][2]int{
				"-burn-in": {burnIn + 1, 1}, "-burn-in -1: want a number from 0": {-1, 1},
				"-thin": {0, thin + 1}, "-thin 0: want a number from 1": {0, 0},
			} {
				if err := m.checkCounts(counts[0], counts[1]); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("burn-in %d, thin %d: error %v, want %q", counts[0], counts[1], err, want)
				}
			}
		}
	}
}

func TestPriors(t *testing.T) {
	// A quantile tells the family and the order of its arguments.
	for text, want := range map[string]string{
		"normal(1,2)": "1.000", "positive(0,1)": "0.674", "halfnormal(2)": "1.349", "lognormal(1,2)": "2.718",
		"exponential(2)": "0.347", "gamma(2,4)": "0.420", "invgamma(2,4)": "2.383", "beta(1,3)": "0.206", "uniform(-1,3)": "1.000",
		" Normal( 1 , 2 ) ": "1.000",
	} {
		d, err := parsePrior(text, families)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := fmt.Sprintf("%.3f", d.Quantile(0.5)); got != want {
			t.Errorf("%s has the median %s, want %s", text, got, want)
		}
	}
}

// Errors are one line that names the flag, what was given and what is wanted.
func TestModelErrors(t *testing.T) {
	data := tableFile(t, pelts)
	ok := lotka(data)
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "-case, -problem or -model"},
		{[]string{"-case", "lynx"}, "-case lynx: want lynx-hare, influenza, fitzhugh-nagumo"},
		{[]string{"-case", "influenza", "-prior", "a=normal(0,1)"}, "-prior has no meaning with -case"},
		{[]string{"-case", "influenza", "-problem", "sir"}, "only one of them"},
		{[]string{"-problem", "lotka"}, `-problem: no problem "lotka": want one of brusselator`},
		{[]string{"-problem", "sir"}, "-data: want"},
		{append(ok, "-data", "nowhere.csv"), "-data nowhere.csv:"},
		{append(ok, "-time", "t"), `no column "t"`},
		{append(ok, "-columns", "hare=cat,lynx=predator"), `-columns hare=cat,lynx=predator: no state "cat"`},
		{append(ok, "-columns", "hare=prey,lynx"), "for all columns, or for none"},
		{append(ok, "-columns", "hare,lynx,year"), "3 columns for the 2 states"},
		{append(ok, "-errors", "laplace(1)"), "-errors laplace(1): want gaussian(sd)"},
		{append(ok, "-errors", "gaussian(-1)"), "-errors gaussian(-1)"},
		{append(ok, "-errors", "gaussian(tau),lognormal(sigma)"), `"tau" has no prior`},
		{append(ok, "-errors", "lognormal(sigma),poisson,poisson"), "3 distributions for 2 columns"},
		{append(ok, "-prior", "e=normal(0,1)"), `-prior e=normal(0,1): no parameter "e"`},
		{append(ok, "-prior", "a=normal(0,1)"), "a has a prior already"},
		{append(ok, "-prior", "b=normal(0)"), "-prior b=normal(0): 1 numbers: want normal(mean,sd)"},
		{append(ok, "-prior", "b=normal(0,-1)"), "numbers > 0"},
		{append(ok, "-prior", "b=uniform(2,1)"), "from < to"},
		{append(ok, "-prior", "b=cauchy(0,1)"), "want normal(mean,sd), positive(mean,sd)"},
		{append(ok, "-prior", "b"), "want name=value"},
		{append(ok, "-fix", "z=1"), `no parameter "z"`},
		{append(ok, "-fix", "b=one"), "-fix b=one: want a number"},
		{append(ok, "-method", "am9"), `-method: method "am9": want ab1 to ab5`},
		{append(ok, "-method", "ab2,current"), `-method: method "ab2,current"`},
		{append(ok, "-alpha", "-1"), "-alpha -1: want a number ≥ 0"},
		{append(ok, "-alpha", "normal(0,1)"), "-alpha normal(0,1): want a number ≥ 0, auto or a prior without negative values: want positive(mean,sd), halfnormal(sd), lognormal"},
		{append(ok, "-alpha", "foo"), "without negative values: want positive(mean,sd), halfnormal(sd), lognormal"},
		{append(ok, "-alpha", "uniform(-1,1)"), "-alpha uniform(-1,1): want a prior without negative values"},
		{append(ok, "-errors", "lognormal(sigma),gaussian(tau)", "-prior", "tau=normal(0,1)"), "-prior tau=normal(0,1): want positive(mean,sd), halfnormal(sd), lognormal"},
		{append(ok, "-errors", "lognormal(sigma),gaussian(tau)", "-prior", "tau=uniform(-1,1)"), "-prior tau=uniform(-1,1): tau is a number of -errors lognormal(sigma),gaussian(tau): want a prior without negative values"},
		{append(ok, "-columns", "lynx"), `-columns lynx: no state "lynx": want column=state, with the states prey, predator`},
		{append(ok, "-step", "-1"), "-step -1"},
		{append(ok, "-errors", "gaussian(a)"), "-errors gaussian(a): a is a parameter of the equations"},
		{append(ok, "-fix", "b=1", "-fix", "b=2"), "-fix b=2: b has a value already"},
		{append(ok, "-t0", "1901"), "-t0 1901: the data reach from t = 1900 to 1902"},
		{append(ok, "-chains", "0"), "-chains 0"},
		{append(ok, "-chains", "1000001"), "-chains 1000001: want a number from 1 to 1000000"},
		{append(ok, "-draws", "-5"), "-draws -5"},
		{append(ok, "-draws", "1000000001"), "-draws 1000000001: want a number from 0 to 1000000000"},
	} {
		_, _, err := parsed(t, c.args...)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want one line with %q", c.args, err, c.want)
		}
	}
}
