// Package shell is what the reproduction and the observatory share of manners: how
// they begin and are interrupted, and what they say of a flag that is not one.
package shell

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// Main is that of a program: it runs run with the arguments of the command line until
// the first interrupt, and prints its error behind name. Help is no failure.
func Main(name string, run func(ctx context.Context, args []string) error) {
	ctx, stop := interruptible()
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		if ctx.Err() != nil {
			os.Exit(130) // as shells have it of an interrupt
		}
		os.Exit(1)
	}
}

// interruptible returns a context that ends with the first interrupt, be it Ctrl-C,
// SIGTERM, or SIGHUP when the terminal is closed. The second one ends the process,
// whatever it is at.
func interruptible() (context.Context, context.CancelFunc) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// Parse parses args, which are flags and nothing else. Help goes to the output of
// flags, with the error flag.ErrHelp; any other error is one line, which names the
// flags that there are.
func Parse(flags *flag.FlagSet, args []string) error {
	out, usage := flags.Output(), flags.Usage
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	err := flags.Parse(args)
	flags.SetOutput(out)
	flags.Usage = usage
	switch {
	case errors.Is(err, flag.ErrHelp):
		if usage == nil {
			usage = func() {
				fmt.Fprintf(out, "usage of %s:\n", flags.Name())
				flags.PrintDefaults()
			}
		}
		usage()
		return err
	case err != nil:
		return fmt.Errorf("%w: want %s", err, names(flags))
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q: want %s", flags.Arg(0), names(flags))
	}
	return nil
}

// names lists the flags.
func names(flags *flag.FlagSet) string {
	var all []string
	flags.VisitAll(func(f *flag.Flag) { all = append(all, "-"+f.Name) })
	return strings.Join(all, ", ")
}
