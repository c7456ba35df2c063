// Command probode determines how the error of an ODE solver changes a posterior, and
// carries out long sampling studies. See probode help.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/probode/probode/internal/shell"
	"github.com/probode/probode/pkg/internal/release"
	"github.com/probode/probode/pkg/internal/text"
)

type command struct {
	name, does string
	run        func(ctx context.Context, args []string, out io.Writer) error
}

var commands = []command{
	{"solve", "solve a problem, and summarise many probabilistic paths", solve},
	{"likelihood", "compute the log-likelihood of a model, and its gradient", likelihood},
	{"fit", "fit a model to its data, with searches from many starts", fit},
	{"generate", "write a model as Go code, or as a model file", generate},
	{"certify", "estimate the effect of the solver's error without sampling", certifyVerb},
	{"assess", "find out at which step sizes the solver's error matters", assessVerb},
	{"sample", "draw from a posterior, or resume an earlier run", sampleVerb},
	{"merge", "collect the chains of several directories in one directory", merge},
	{"summary", "print a summary of the draws in a directory", summary},
	{"version", "print the version of the program", version},
}

func main() {
	ctx, stop := shell.Interruptible()
	defer stop()
	out := &checked{w: os.Stdout}
	err := run(ctx, os.Args[1:], out)
	if err == nil && out.err != nil {
		err = fmt.Errorf("the output is not complete: %w", out.err)
	}
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "probode:", err)
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "probode:", text.Printable(strings.TrimPrefix(err.Error(), "probode: ")))
		os.Exit(1)
	}
}

// checked keeps its first error, after which it writes nothing, so that callers of print
// functions need not check.
type checked struct {
	w   io.Writer
	err error
}

func (c *checked) Write(p []byte) (n int, err error) {
	if c.err == nil {
		n, c.err = c.w.Write(p)
	}
	return n, c.err
}

// run wraps context.Canceled if the command is interrupted, and says how far it was.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 2 && args[0] == "help" {
		args = []string{args[1], "-help"}
	}
	if len(args) == 0 || len(args) == 1 && slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		usage(out)
		return nil
	}
	if args[0] == "-version" || args[0] == "--version" {
		args = append([]string{"version"}, args[1:]...)
	}
	for _, c := range commands {
		if c.name == args[0] {
			err := c.run(ctx, args[1:], out)
			if in := stopped(""); errors.Is(err, context.Canceled) && !errors.As(err, &in) {
				return stopped("stopped")
			}
			return err
		}
	}
	var names []string
	for _, c := range commands {
		names = append(names, c.name)
	}
	if near := text.Nearest(args[0], names); near != "" {
		return fmt.Errorf("no command %q: did you mean %s?", text.Clip(args[0]), near)
	}
	return fmt.Errorf("no command %q: want %s", text.Clip(args[0]), strings.Join(names, ", "))
}

func version(_ context.Context, args []string, out io.Writer) error {
	if len(args) > 0 {
		return fmt.Errorf("version: %q: want no arguments", text.Clip(args[0]))
	}
	fmt.Fprintf(out, "probode %s, %s, %s/%s\n", release.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}

func usage(out io.Writer) {
	fmt.Fprint(out, `What does the error of my ODE solver do to my answer?

  probode fit yeast.yaml -json fit.json                 # does the model fit?
  probode sample yeast.yaml -start fit.json -dir run    # draw from its posterior
  probode summary run                                   # what do the data say?
  probode assess yeast.yaml -method dp5 -rtol 1e-3      # does my solver matter?

`)
	for _, c := range commands {
		fmt.Fprintf(out, "  probode %-10s %s\n", c.name, c.does)
	}
	fmt.Fprintln(out, "\nprobode COMMAND -help explains a command.")
}
