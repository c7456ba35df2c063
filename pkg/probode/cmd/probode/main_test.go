//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/probode/probode/pkg/internal/release"
	"github.com/probode/probode/pkg/internal/text"
)

// interrupted starts this program in a role and sends it signals until it
// ends, which it has to in ten seconds.
func interrupted(t *testing.T, with os.Signal, as string, args ...string) (state *os.ProcessState, stderr string) {
	t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), role+"="+as)
	var text strings.Builder
	c.Stderr = &text
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err == nil {
		_, err = bufio.NewReader(out).ReadString('\n')
	}
	if err != nil {
		t.Fatal(err)
	}
	end := make(chan error, 1)
	go func() { end <- c.Wait() }()
	deadline := time.After(10 * time.Second)
	for {
		c.Process.Signal(with)
		select {
		case err := <-end:
			if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			return c.ProcessState, text.String()
		case <-deadline:
			c.Process.Kill()
			t.Fatalf("%s %q does not end when interrupted", as, args)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// The second interrupt ends what takes no notice of the first.
func TestSecondInterrupt(t *testing.T) {
	state, _ := interrupted(t, os.Interrupt, "hang")
	if w, ok := state.Sys().(syscall.WaitStatus); !ok || !w.Signaled() || w.Signal() != syscall.SIGINT {
		t.Errorf("ended with %v, want the signal", state)
	}
}

// The first interrupt ends a command in words, with the status of shells. A command that
// is started by nohup outlives a hangup, and so would the command of this test.
func TestInterrupt(t *testing.T) {
	for _, with := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(with) {
			continue
		}
		state, stderr := interrupted(t, with, "main", "assess", "-quiet", "-case", "dragons", "-steps", "0.001", "-draws", "100000")
		if state.ExitCode() != 130 || !strings.HasPrefix(stderr, "probode: stopped") {
			t.Errorf("%v: ended with %v, and said %q", with, state, stderr)
		}
	}
}

// A message is one line, and contains nothing that a terminal would take for a command.
func TestPrintableErrors(t *testing.T) {
	for _, args := range [][]string{{"\x1b[2J"}, {"sample", "-dir", "x", "-scheme", "a\x1bb\n"}, {"sample", "-dir", "x", "-case", "\x1b[2J"}, {"summary", "a\nb\x1b[2J"}} {
		c := exec.Command(os.Args[0], args...)
		c.Env = append(os.Environ(), role+"=quiet")
		said, err := c.CombinedOutput()
		if text := strings.TrimSuffix(string(said), "\n"); err == nil || text == "" || strings.ContainsAny(text, "\x1b\n") {
			t.Errorf("%q: %v, %q", args, err, said)
		}
	}
}

// A folder that is not there is found out before the work, and named as it was given,
// by every command that writes a file.
func TestNoFolder(t *testing.T) {
	const cascade = "../../model/testdata/cascade.yaml"
	for _, args := range [][]string{
		{"solve", "-problem", "fhn", "-step", "0.1", "-out", "nodir/a.csv"},
		{"solve", "-problem", "fhn", "-step", "0.1", "-json", "nodir/a.json"},
		{"likelihood", "-model", cascade, "-json", "nodir/a.json"},
		{"fit", "-model", cascade, "-out", "nodir/a.svg"},
		{"generate", cascade, "-out", "nodir/a.go"},
		{"certify", "-case", "lynx-hare", "-steps", "0.5", "-json", "nodir/a.json"},
		{"certify", "-case", "lynx-hare", "-steps", "0.5", "-out", "nodir/a.svg"},
		{"sample", "-case", "lynx-hare", "-dir", "draws", "-out", "nodir/a.html"},
		{"summary", "nodir/lynx", "-out", "nodir/a.html"},
		{"assess", "-case", "lynx-hare", "-steps", "0.5", "-json", "nodir/a.json"},
		{"assess", "-case", "lynx-hare", "-steps", "0.5", "-out", "nodir/a.html"},
		{"merge", "nodir/lynx.zarr", "nodir/lynx"},
	} {
		err := run(context.Background(), args, io.Discard)
		if err == nil || !strings.Contains(err.Error(), "nodir") || strings.Contains(err.Error(), ".tmp") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want one line about nodir", args, err)
		}
	}
	if _, err := os.Stat("nodir"); err == nil {
		t.Error("a folder was made")
	}
}

// A flag that is mistyped is one line, for every command.
func TestMistypedFlag(t *testing.T) {
	for _, c := range commands {
		var out strings.Builder
		err := run(context.Background(), []string{c.name, "-mehtod", "am1"}, &out)
		if err == nil || !strings.Contains(err.Error(), "-mehtod") || strings.Contains(err.Error(), "\n") || out.Len() > 0 {
			t.Errorf("%s: error %v, printed %q, want one line", c.name, err, &out)
		}
	}
}

// stderr returns what f writes there.
func stderr(t *testing.T, f func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func(f *os.File) { os.Stderr = f }(os.Stderr)
	os.Stderr = w
	f()
	w.Close()
	said, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(said)
}

// What is given and does not count is said: of a flag that is there twice the first, and
// the noise of the solver where nothing is drawn with it.
func TestFlagsThatDoNotCount(t *testing.T) {
	for args, want := range map[string]string{
		"solve -problem fhn -step 0.1 -seed 1 -step=0.2 -problem fhn":                               "warning: -step is given twice: 0.2 is used, 0.1 is ignored\n",
		"solve -problem fhn -step 0.1 -times 1\x1b[2J -times 5":                                     "warning: -times is given twice: 5 is used, 1\ufffd[2J is ignored\n",
		"sample -case influenza -scheme deterministic -alpha 1 -draws 1 -burn-in 1 -quiet -dir DIR": "warning: -alpha has no meaning with -scheme deterministic, which uses a solver without noise\n",
	} {
		said := stderr(t, func() {
			if err := run(context.Background(), strings.Fields(strings.ReplaceAll(args, "DIR", t.TempDir())), io.Discard); err != nil {
				t.Errorf("%s: %v", args, err)
			}
		})
		if said != want {
			t.Errorf("%s: said %q, want %q", args, said, want)
		}
	}
}

// A value that a flag cannot have is named, with what it can have.
func TestFlagValues(t *testing.T) {
	for args, want := range map[string]string{
		"solve -step x":                                         `invalid value "x" for flag -step: want a number: see probode solve -help`,
		"solve -step 1e5000":                                    `invalid value "1e5000" for flag -step: want a number: see`,
		"solve -seed -1":                                        `invalid value "-1" for flag -seed: want a whole number ≥ 0`,
		"solve -paths 1e3":                                      `invalid value "1e3" for flag -paths: want a whole number: see`,
		"fit -budget 5":                                         `invalid value "5" for flag -budget: want a time such as 10s`,
		"likelihood -gradient=so":                               "want true or false",
		"solve -problem fhn -step 0":                            "-step 0: want a finite number > 0",
		"solve -problem fhn -rtol NaN":                          "-rtol NaN: want numbers in [1e-15, 1); 0 is allowed only if -atol is set",
		"solve -problem fhn -rtol 0":                            "-rtol 0: want numbers in [1e-15, 1); 0 is allowed only if -atol is set",
		"solve -problem fhn -rtol 1":                            "-rtol 1: want numbers in [1e-15, 1); 0 is allowed only if -atol is set",
		"solve -problem fhn -step 1 -span 0,1e308":              "-span 0,1e308: want from,to",
		"solve -problem fhn -step 1 -at theta1=1,theta1=2":      "-at theta1=2: given twice",
		"solve -problem fhn -step 1 -alpha 1":                   "-alpha has no meaning without -paths",
		"certify -case dragons -step 0":                         "-step 0: want a finite number > 0",
		"certify -case dragons -step 1 -steps 0.5":              "-step and -steps: give only one of them",
		"certify -case dragons -draws 10":                       "there is no flag -draws: see probode certify -help",
		"certify -case dragons -alpha 1":                        "there is no flag -alpha",
		"certify -case dragons -metod dp5":                      "there is no flag -metod: did you mean -method?: see probode certify -help",
		"smaple -case dragons":                                  `no command "smaple": did you mean sample?`,
		"fit a.yaml b.yaml":                                     "fit: 2 arguments: want one model",
		"fit a.yaml -model b.yaml":                              "a.yaml and -model b.yaml: want one model",
		"version -x":                                            `"-x": want no arguments`,
		"-version -x":                                           `"-x": want no arguments`,
		"help nothing":                                          `no command "nothing"`,
		"sample -case influenza -dir x -burn-in 99999999999999": "-burn-in 99999999999999: want a number from 0 to 1000000000",
		"solve -problem fhn -step 0.1 -out x.xlsx":              "-out x.xlsx: want a name that ends in .csv, .txt, .html, .png or .svg",
	} {
		err := run(context.Background(), strings.Fields(args), io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want %q", args, err, want)
		}
	}
	for _, c := range commands {
		if c.name == "version" {
			continue
		}
		var a, b strings.Builder
		if run(context.Background(), []string{"help", c.name}, &a); a.Len() == 0 {
			t.Errorf("help %s: nothing", c.name)
		}
		if run(context.Background(), []string{c.name, "-help"}, &b); a.String() != b.String() {
			t.Errorf("help %s is not %[1]s -help", c.name)
		}
	}
}

// No flag takes an empty value, and no command an empty name, as of a shell variable that
// is not set.
func TestEmptyValues(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range commands {
		var help strings.Builder
		run(context.Background(), []string{c.name, "-help-all"}, &help)
		for _, m := range regexp.MustCompile(`(?m)^  -([a-z-]+)`).FindAllStringSubmatch(help.String(), -1) {
			for _, value := range []string{"", "  "} {
				err := run(context.Background(), []string{c.name, "-" + m[1] + "=" + value}, io.Discard)
				if err == nil || !strings.Contains(err.Error(), "-"+m[1]) || !strings.Contains(err.Error(), "want") && !strings.Contains(err.Error(), "is empty") {
					t.Errorf("%s -%s=%q: error %v", c.name, m[1], value, err)
				}
			}
		}
		if err := run(context.Background(), []string{c.name, ""}, io.Discard); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s with an empty argument: error %v", c.name, err)
		}
	}
	if files := left(t); files != "" {
		t.Errorf("%s was made", files)
	}
}

// Help fits on a screen, and names the ten flags that matter. All commands together have
// forty flags.
func TestHelpIsShort(t *testing.T) {
	all := map[string]bool{}
	for _, c := range commands {
		var short strings.Builder
		run(context.Background(), []string{c.name, "-help"}, &short)
		main := regexp.MustCompile(`(?m)^  -[a-z-]+`).FindAllString(short.String(), -1)
		if n := strings.Count(short.String(), "\n"); n > 25 || len(main) > 10 {
			t.Errorf("%s -help has %d lines and %d flags", c.name, n, len(main))
		}
		_, flags := helpOf(c.name)
		for _, name := range flags {
			all[name] = true
		}
	}
	if len(commands) > 10 || len(all) > 40 {
		t.Errorf("%d commands and %d flags: want at most 10 and 40", len(commands), len(all))
	}
}

// Help fits a terminal of 80 columns.
func TestHelpWidth(t *testing.T) {
	for _, c := range append(commands, command{name: "help"}) {
		var out strings.Builder
		run(context.Background(), []string{c.name, "-help"}, &out)
		run(context.Background(), []string{c.name, "-help-all"}, &out)
		for line := range strings.Lines(out.String()) {
			if text.Width(strings.TrimSuffix(line, "\n")) > 80 || strings.Contains(line, "NaN") {
				t.Errorf("%s -help: %q", c.name, line)
			}
		}
	}
	in := "One two\nthree " + strings.Repeat("word ", 20) + "\n\n  " + strings.Repeat("x ", 60) + "\nnext\n        " + strings.Repeat("y ", 50) + "\n        short\n"
	want := "One two three " + strings.Repeat("word ", 12) + "word\n" + strings.Repeat("word ", 6) + "word\n\n  " + strings.Repeat("x ", 60) + "\nnext\n        " +
		strings.Repeat("y ", 35) + "y\n        " + strings.Repeat("y ", 13) + "y\n        short\n"
	if got := fill(in); got != want {
		t.Errorf("filled:\n%q\nwant\n%q", got, want)
	}
}

// What could not be written is said, and is a failure: a disk may be full.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full: ", err)
	}
	defer full.Close()
	for _, args := range [][]string{{"help"}, {"version"}, {"solve", "-problem", "fhn", "-step", "0.1"},
		{"likelihood", "-model", "../../model/testdata/pk.yaml"}, {"likelihood", "../../model/testdata"}} {
		c := exec.Command(os.Args[0], args...)
		c.Env = append(os.Environ(), role+"=quiet")
		var said strings.Builder
		c.Stdout, c.Stderr = full, &said
		if err := c.Run(); err == nil || !strings.Contains(said.String(), "no space left on device") || strings.Count(said.String(), "\n") != 1 {
			t.Errorf("%q: %v, %q", args, err, &said)
		}
	}
}

// The version is told in every way that people ask for it.
func TestVersion(t *testing.T) {
	for _, ask := range []string{"version", "-version", "--version"} {
		var out strings.Builder
		if err := run(context.Background(), []string{ask}, &out); err != nil || out.String() != fmt.Sprintf("probode %s, %s, %s/%s\n", release.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH) {
			t.Errorf("%s: %q, %v", ask, &out, err)
		}
	}
}
