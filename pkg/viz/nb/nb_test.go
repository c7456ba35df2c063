//go:build unix

package nb

import (
	"bytes"
	"encoding/base64"
	"encoding/gob"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc"
	modelfile "github.com/probode/probode/pkg/probode/model"
	"github.com/probode/probode/pkg/viz"
)

// The cells below run in a process of their own, as they do in a notebook, with
// the two named pipes of a kernel. The real kernel executes the notebooks.
var cells = map[string]func(){
	"show": func() {
		for i := range 2 {
			Show(line(fmt.Sprint("Figure ", i)))
		}
		Show(viz.Frames{Label: "h", Names: []string{"0.1", "0.2"}, Figures: []viz.Figure{line("A"), line("A")}})
	},
	"play":         func() { Play("dragons", map[string]any{"h": 0.25}, "along") },
	"play nothing": func() { Play("no such figure", nil) },
	"play wrongly": func() { Play("posterior", map[string]any{"seed": "two"}) },
	"play less":    func() { Play("step", nil, "picture", "surface") },
	"bad figure":   func() { Show(viz.Figure{Title: "empty"}) },
	"table": func() {
		Table([]string{"method", "h", "error"}, []any{"AB1 <x>", 0.1, 1.234567e-5}, []any{"AM0", 0.05})
	},
	"chains": func() {
		c := &mcmc.Chains{Names: []string{"k"}, Notes: []string{"a note"}, Draws: make([][][]float64, 2)}
		for i := range 4 {
			c.Draws[0] = append(c.Draws[0], []float64{float64(i)})
			c.Draws[1] = append(c.Draws[1], []float64{float64(i)})
		}
		Show(c, sample.Comparison{{Sampler: "deterministic", Chains: c, Solves: 2, ESS: 4}})
	},
	"model":           func() { Show(Must(modelfile.Load("../../probode/model/testdata/pk.yaml"))) },
	"nothing to show": func() { Show(3) },
	"watched": func() {
		_, hook := progress.Begin(Context(), "paths")
		_, early := progress.Begin(Context(), "early")
		hook(1, 1000, "") // too early to be seen
		time.Sleep(1100 * time.Millisecond)
		for i := range 900 {
			hook(100+i, 1000, "")
			if i%300 == 0 {
				time.Sleep(110 * time.Millisecond)
			}
		}
		hook(1000, 1000, "")
		hook(1, 1000, "") // it is over
		early(3, 10, "R̂ <1.02>")
		Check(nil)
	},
	"assessment": func() { Show(assessment()) },
	"interrupt": func() {
		Context() // from here on an interrupt ends the work and not the process
		_, hook := progress.Begin(Context(), "steps")
		done := Must(func() (int, error) {
			for i := 1; ; i++ {
				hook(i, 1_000_000, "")
				select {
				case <-Context().Done():
					return 7, fmt.Errorf("steps: %w", Context().Err())
				case <-time.After(20 * time.Millisecond):
				}
			}
		}())
		Table([]string{"done"}, []any{done})
	},
	"interrupt nothing": func() {
		Context()
		note("begun")
		Must(func() (*int, error) {
			<-Context().Done()
			return nil, Context().Err()
		}())
	},
	"error": func() { Must(0, errors.New("calibrate: α at the edge")) },
	"ensemble": func() {
		Show(&probode.Ensemble{
			Problem: &probode.Problem{X0: []float64{1}, States: []string{"V"}}, T: []float64{0, 1},
			Mean: [][]float64{{1, 2}}, SD: [][]float64{{0, 1}}, Deterministic: [][]float64{{1, 2}}, N: 8, Failed: 2, Failure: errors.New("diverged"),
		})
	},
	"panic": func() {
		p := &probode.Problem{Name: "mine", X0: []float64{1}, Span: [2]float64{0, 1},
			F: func(dx []float64, _ float64, _, theta []float64) { dx[0] = theta[0] }}
		Must(probode.Integrate(Context(), p, adams.Bashforth{}, 10, probode.Settings{StepSize: 0.1}))
	},
	"memo": func() { square(3) },
	"memo changed": func() {
		zero := 0.0
		v := Memo("changed", nil, func() (pointing, error) { return pointing{P: &zero, X: []float64{1}}, nil })
		fmt.Println(*v.P, v.X)
	},
	"memo circle": func() {
		v := Memo("circle", nil, func() (*ring, error) { r := &ring{N: 5}; r.Next = r; return r, nil })
		fmt.Println(v.Next.N)
	},
	"memo unregistered": func() {
		v := Memo("unregistered", nil, func() ([]any, error) { return []any{pointing{X: []float64{2}}}, nil })
		fmt.Println(v[0].(pointing).X)
	},
	"memo panics": func() {
		v := Memo("panics", nil, func() (panics, error) { return 7, nil })
		fmt.Println(int(v))
	},
}

func TestMain(m *testing.M) {
	if name := os.Getenv("NB_TEST_CELL"); name != "" {
		cells[name]()
		return
	}
	os.Exit(m.Run())
}

type result struct {
	sent           []protocol.DisplayData
	stdout, stderr string
	failed         bool
}

// shown is what a front end has in the end, those with one id in one place.
func (r result) shown() []map[protocol.MIMEType]any {
	var out []map[protocol.MIMEType]any
	place := map[string]int{}
	for _, d := range r.sent {
		if i, ok := place[d.DisplayID]; ok && d.DisplayID != "" {
			out[i] = d.Data
			continue
		}
		place[d.DisplayID] = len(out)
		out = append(out, d.Data)
	}
	return out
}

// run runs a cell as GoNB does: what has not been read from the pipe when the
// process ends is lost. It interrupts the cell after the first n messages that
// are not asked for by Sync, if n > 0.
func run(t *testing.T, name string, n int, env ...string) result {
	t.Helper()
	dir := t.TempDir()
	to, from := filepath.Join(dir, "to"), filepath.Join(dir, "from")
	for _, p := range []string{to, from} {
		if err := syscall.Mkfifo(p, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Opened for both directions, since to open only one waits for the other.
	in, err := os.OpenFile(to, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.OpenFile(from, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	var r result
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "NB_TEST_CELL="+name,
		protocol.GONB_PIPE_ENV+"="+to, protocol.GONB_PIPE_BACK_ENV+"="+from, "PROBODE_MEMO="+dir)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var reader sync.WaitGroup
	reader.Go(func() {
		dec, enc := gob.NewDecoder(in), gob.NewEncoder(out)
		for {
			var d protocol.DisplayData
			if err := dec.Decode(&d); err != nil {
				if !errors.Is(err, os.ErrClosed) && err != io.EOF {
					t.Error(err)
				}
				return
			}
			if v, ok := d.Data[protocol.MIMECommValue]; ok {
				enc.Encode(&protocol.CommValue{Address: protocol.GonbuiSyncAckAddress, Value: v.(protocol.CommValue).Value})
				continue
			}
			r.sent = append(r.sent, d)
			if len(r.sent) == n {
				cmd.Process.Signal(os.Interrupt)
			}
		}
	})
	r.failed = cmd.Wait() != nil
	in.Close()
	out.Close()
	reader.Wait()
	r.stdout, r.stderr = stdout.String(), stderr.String()
	return r
}

func plain(t *testing.T, r result) []string {
	t.Helper()
	var out []string
	for _, d := range r.shown() {
		out = append(out, d[protocol.MIMETextPlain].(string))
	}
	return out
}

func equal(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("shown: %q, want %q", got, want)
	}
}

// assessment is one of a parameter and a step.
func assessment() *assess.Report {
	nan := math.NaN()
	return &assess.Report{
		Model: "decay", Threshold: 0.1, Unseen: nan, Drawn: "4 × 500 draws", Reference: "DP5",
		Params: []assess.Marginal{{Name: "k", Median: assess.CenterSpread{Center: 1, Spread: 2}, HeavyTails: true}},
		Candidates: []*assess.Candidate{{Method: "AB1", Mesh: "h = 0.1", Order: 1, Size: 0.1, Alpha: nan, Verdict: assess.Matters, Inference: &assess.Inference{
			Sampler: "tempering", Weighted: true,
			Effects: []assess.Effect{{Median: assess.Shift{Bias: -0.3, BiasSE: 0.01, Ratio: 1, RatioSE: 0.01, Verdict: assess.Matters}, Verdict: assess.Matters}},
		}}},
		Claims: []assess.Claim{{Kind: "something", Sentence: "a warning"}},
	}
}

// The words come first, then the figure and the tables.
func TestAssessment(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	r := run(t, "assessment", 0)
	shown := plain(t, r)
	if got := shown[0]; !strings.HasPrefix(got, "AB1, h = 0.1: the solver's error matters.") || !strings.HasSuffix(got, "\n• a warning") {
		t.Errorf("words: %q", got)
	}
	equal(t, shown[1:],
		"Figure: decay: what the solver's error does to the posterior",
		"bias of medians  AB1, h = 0.1\nk                −0.300 ± 0.010",
		"reference posterior  median  half of 68 %  mean  sd\nk                    1       2             –     –")
}

// Chains are a table, the warnings and the notes; a comparison is a table.
func TestChains(t *testing.T) {
	shown := plain(t, run(t, "chains", 0))
	if len(shown) != 4 || !strings.HasPrefix(shown[0], "   mean  MCSE") || !strings.Contains(shown[0], "\nk   1.5") ||
		!strings.HasPrefix(shown[1], "Warnings:\n• ") || shown[2] != "Notes of the run:\n• a note" {
		t.Errorf("chains: %q", shown)
	}
	if last := shown[len(shown)-1]; !strings.Contains(last, "deterministic  1.5\u00a0±\u00a01.2") || !strings.Contains(last, "500") {
		t.Errorf("comparison: %q", last)
	}
	if r := run(t, "nothing to show", 0); !r.failed || !strings.Contains(r.stderr, "nb: a int cannot be shown") {
		t.Errorf("an int is shown: %+v", r)
	}
}

// An ensemble is its figure, and a line about the paths that failed.
func TestEnsemble(t *testing.T) {
	equal(t, plain(t, run(t, "ensemble", 0)), "Figure: V against t", "2 of 10 paths failed. The first: diverged")
}

// A panic in a function of the model says what is missing. GoNB 0.11.4 dies of a line in
// which two colons stand before "main.go:7".
func TestPanic(t *testing.T) {
	r := run(t, "panic", 0)
	if !r.failed || !strings.Contains(r.stderr, "mine: at t = 0, x = [1], theta = []: ") || !strings.Contains(r.stderr, ": theta has no element 0: did you forget Theta?\n\tat ") {
		t.Errorf("%+v", r)
	}
}

// A model is its equations, as LaTeX, and two tables.
func TestModel(t *testing.T) {
	r := run(t, "model", 0)
	shown := plain(t, r)
	if len(shown) != 3 || !strings.Contains(shown[0], `\frac{\mathrm{d}\,\mathrm{gut}}`) ||
		!strings.Contains(shown[1], "vmax             8  log10               0.01 to 1000") ||
		!strings.Contains(shown[2], "high       blood           13        0.5  48") {
		t.Errorf("%q", shown)
	}
	if tex, ok := r.sent[0].Data["text/latex"].(string); !ok || !strings.HasPrefix(tex, `$$\begin{aligned}`) {
		t.Errorf("LaTeX: %v", r.sent[0].Data)
	}
}

// A long call shows itself without being asked, and leaves nothing behind.
func TestWatched(t *testing.T) {
	r := run(t, "watched", 0)
	// The first bar moves at once and after each of the three pauses, and goes; then
	// the second comes and goes. A slow machine may pause elsewhere as well.
	if n := len(r.sent); n < 6 || n > 50 {
		t.Fatalf("%d messages: %+v", n, r.sent)
	}
	var labels []string
	for i, d := range r.sent {
		label, _, _ := strings.Cut(d.Data[protocol.MIMETextPlain].(string), ":")
		if i == 0 || d.DisplayID != r.sent[i-1].DisplayID || label != labels[len(labels)-1] {
			labels = append(labels, label)
		}
	}
	equal(t, labels, "paths", "", "early", "")
	if got := r.sent[1].Data[protocol.MIMETextPlain].(string); !strings.Contains(got, " of 1000, ") || !strings.HasSuffix(got, " left") {
		t.Errorf("bar %q, want rate and remaining time", got)
	}
	if got := r.sent[len(r.sent)-2].Data[protocol.MIMETextHTML].(string); !strings.HasSuffix(got, "early: R̂ &lt;1.02&gt;") {
		t.Errorf("bar %q, want what is being done", got)
	}
}

func TestCSV(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(file, []byte("m,h,e\nAB1,0.1,2\nAB1,0.2,4\nAM0,0.1,NaN\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	c := OpenCSV(file)
	if got := c.Where("m", "AB1", "h", "0.2").Floats("e"); !slices.Equal(got, []float64{4}) {
		t.Errorf("where: %v", got)
	}
	if got := c.Starting("AB1").Column("h"); !slices.Equal(got, []string{"0.1", "0.2"}) {
		t.Errorf("starting: %v", got)
	}
	if got := c.Starting("AM0").Floats("e"); len(got) != 1 || !math.IsNaN(got[0]) {
		t.Errorf("NaN is read as %v", got)
	}
	defer func() {
		if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), `no column "x"`) {
			t.Errorf("a column that is not there: %v", r)
		}
	}()
	c.Floats("x")
}

func TestMemoSaysSo(t *testing.T) {
	dir := "PROBODE_MEMO=" + t.TempDir()
	equal(t, plain(t, run(t, "memo", 0, dir)), "Memo “square” was computed, and is kept on disk for next time.")
	r := run(t, "memo", 0, dir)
	equal(t, plain(t, r), `Memo “square” was read from disk, not computed. nb.Forget("square") removes it.`)
	if s := r.sent[0].Data[protocol.MIMETextHTML].(string); strings.Contains(s, string(os.PathSeparator)+"tmp") {
		t.Errorf("a path in %s", s)
	}
}

// What cannot be kept is not lost: the cell goes on with it, and says why.
func TestMemoCannotKeep(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ cell, folder, why, stdout string }{
		{"memo", filepath.Join(file, "memo"), "writing to the memo folder failed: not a directory", ""},
		{"memo changed", t.TempDir(), "encoding/gob does not restore this nb.pointing: store its numbers, or a figure made from them", "0 [1]\n"},
		{"memo circle", t.TempDir(), "its pointers form a cycle", "5\n"},
		{"memo unregistered", t.TempDir(), "gob: type not registered for interface: nb.pointing", "[2]\n"},
		{"memo panics", t.TempDir(), "not today", "7\n"},
	} {
		r := run(t, c.cell, 0, "PROBODE_MEMO="+c.folder)
		if r.failed || r.stdout != c.stdout {
			t.Errorf("%s: printed %q and %q", c.cell, r.stdout, r.stderr)
		}
		got := plain(t, r)
		if len(got) != 1 || !strings.HasSuffix(got[0], "” was computed, but it cannot be kept on disk: "+c.why+".") {
			t.Errorf("%s: shown %q", c.cell, got)
		}
		if left, _ := os.ReadDir(c.folder); len(left) > 0 {
			t.Errorf("%s: left %v", c.cell, left)
		}
	}
}

func TestShow(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	r := run(t, "show", 0)
	if r.failed || r.stderr != "" {
		t.Fatal(r.stderr)
	}
	equal(t, plain(t, r), "Figure: Figure 0", "Figure: Figure 1", "Figure: A, by h")
	for _, d := range r.shown() {
		_, picture, _ := strings.Cut(d[protocol.MIMETextHTML].(string), "base64,")
		picture, _, _ = strings.Cut(picture, `"`)
		if _, err := png.Decode(base64.NewDecoder(base64.StdEncoding, strings.NewReader(picture))); err != nil {
			t.Error(err)
		}
		if s := d[protocol.MIMETextHTML].(string); !strings.Contains(s, "<img") || !strings.Contains(s, echarts) {
			t.Errorf("no picture, or no way to ECharts, in %.200s", s)
		}
	}
	for i, d := range run(t, "show", 0).sent {
		if d.Data[protocol.MIMETextHTML] != r.sent[i].Data[protocol.MIMETextHTML] {
			t.Errorf("output %d differs the second time", i)
		}
	}
	if r := run(t, "bad figure", 0); !r.failed || !strings.HasPrefix(r.stderr, "viz: ") || len(r.sent) > 0 {
		t.Errorf("an empty figure: %+v", r)
	}
}

// The output of Play holds a picture of the named charts, the values of the knobs, and the
// way to the program. A wrong name or value ends the cell.
func TestPlay(t *testing.T) {
	r := run(t, "play", 0)
	if r.failed || len(r.shown()) != 1 {
		t.Fatal(r.stderr)
	}
	got := r.shown()[0][protocol.MIMETextHTML].(string)
	for _, want := range []string{`<div data-play="dragons" data-values="{&#34;h&#34;:0.25}" data-charts="along">`,
		`<img alt="Two likelihoods of the same data: log-likelihood − its maximum against β₁, with β₀ = 10 β₁; reference, this solver, peaks, β₁ of the slider"`, liveFigures, echarts} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%d times %s", strings.Count(got, want), want)
		}
	}
	for _, cell := range []string{"play nothing", "play wrongly", "play less"} {
		if r := run(t, cell, 0); !r.failed || len(r.sent) > 0 {
			t.Errorf("%s: %+v", cell, r)
		}
	}
}

func TestTable(t *testing.T) {
	d := run(t, "table", 0).shown()[0]
	want := "method      h       error\nAB1 <x>   0.1  1.235·10⁻⁵\nAM0      0.05"
	if s := d[protocol.MIMETextPlain]; s != want {
		t.Errorf("\n%s\nwant\n%s", s, want)
	}
	s := d[protocol.MIMETextHTML].(string)
	for _, part := range []string{`<th style="text-align:left">method</th>`, "AB1 &lt;x&gt;", `<td style="text-align:right">0.05</td>`} {
		if !strings.Contains(s, part) {
			t.Errorf("no %s in %s", part, s)
		}
	}
}

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 1: "1", -0.25: "−0.25", 0.123456: "0.1235", 12345: "12345", 1234567: "1234567",
		1.5e-7: "1.5·10⁻⁷", 2e10: "2·10¹⁰", math.Inf(-1): "−Inf",
	} {
		if got := number(x); got != want {
			t.Errorf("number(%v) = %s, want %s", x, got, want)
		}
	}
}

// An interrupt ends the work, not the cell.
func TestInterrupt(t *testing.T) {
	r := run(t, "interrupt", 2)
	if r.failed || r.stderr != "" {
		t.Fatalf("interrupted cell failed: %s", r.stderr)
	}
	got := plain(t, r)
	equal(t, got, "", "Interrupted: any output below comes from the part of the computation that was completed.", "done\n   7")

	r = run(t, "interrupt nothing", 1)
	if !r.failed || r.stderr != "interrupted before there was anything to show\n" {
		t.Errorf("interrupted without a result: %+v", r)
	}
	if r := run(t, "error", 0); !r.failed || r.stderr != "calibrate: α at the edge\n" {
		t.Errorf("error: %+v", r)
	}
}

// In a notebook the pipe stays open for the later outputs of the kernel; other
// programs have none, and print.
func TestOutsideNotebook(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "NB_TEST_CELL=table", protocol.GONB_PIPE_ENV+"=")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "method ") {
		t.Errorf("%v: %s", err, out)
	}
	if Context() == nil || Context().Err() != nil {
		t.Error("the context of a cell has ended before the cell")
	}
}
