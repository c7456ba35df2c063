// Command probode asks what the error of an ODE solver does to a posterior,
// and runs long studies. See probode help.
package main

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

// A command writes its result to out. What is wrong with its arguments is an
// error of one line.
type command struct {
	name, does string
	run        func(ctx context.Context, args []string, out io.Writer) error
}

var commands = []command{
	{"assess", "does the solver's error matter for this posterior, and at which step?", assess},
	{"sample", "draw from a posterior into a directory; the same command again goes on", sample},
	{"merge", "gather the chains of several directories into one", merge},
	{"summary", "the table of what a directory holds", summary},
	{"sbc", "simulation-based calibration of a scheme", sbc},
	{"speed", "effective draws per second of every scheme", speed},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.Is(err, context.Canceled):
		text := strings.TrimSuffix(err.Error(), context.Canceled.Error())
		if text == "" {
			text = "stopped"
		}
		fmt.Fprintln(os.Stderr, "probode:", strings.TrimSuffix(text, ": "))
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "probode:", strings.TrimPrefix(err.Error(), "probode: "))
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "-help" || args[0] == "--help" {
		usage(out)
		return nil
	}
	for _, c := range commands {
		if c.name == args[0] {
			return c.run(ctx, args[1:], out)
		}
	}
	var names []string
	for _, c := range commands {
		names = append(names, c.name)
	}
	return fmt.Errorf("no command %q: want %s", args[0], strings.Join(names, ", "))
}

func usage(out io.Writer) {
	fmt.Fprintln(out, "What does the error of my ODE solver do to my answer?")
	fmt.Fprintln(out)
	for _, c := range commands {
		fmt.Fprintf(out, "  probode %-8s %s\n", c.name, c.does)
	}
	fmt.Fprintln(out, "\nprobode COMMAND -help tells the flags.")
}
