package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/probode/probode/internal/shell"
	"github.com/probode/probode/pkg/internal/text"
)

// A manual is the help of a command.
type manual struct {
	short string   // what the command does, and examples
	flags []string // the flags that -help lists
	long  string   // what -help-all says in addition
}

// parseModel is parse for commands whose only argument is the model.
func parseModel(flags *flag.FlagSet, args []string, help manual, out io.Writer) error {
	err := parse(flags, args, help, out)
	switch {
	case err != nil || flags.NArg() == 0:
		return err
	case flags.NArg() > 1:
		return fmt.Errorf("%s: %d arguments: want one model", flags.Name(), flags.NArg())
	case given(flags, "model"):
		return fmt.Errorf("%s and -model %s: want one model", text.Clip(flags.Arg(0)), text.Clip(flags.Lookup("model").Value.String()))
	}
	return flags.Set("model", flags.Arg(0))
}

// parse accepts flags before and after other arguments.
func parse(flags *flag.FlagSet, args []string, help manual, out io.Writer) error {
	flags.SetOutput(io.Discard) // errors are one line, written by main
	flags.Usage = func() {}
	all := flags.Bool("help-all", false, "explain everything, and list all flags")
	flags.VisitAll(func(f *flag.Flag) {
		if _, is := f.Value.(*once); !is {
			f.Value = &once{Value: f.Value}
		}
	})
	err := anywhere(flags, args)
	switch {
	case *all:
		fmt.Fprint(out, fill(help.short+"\n"+help.long))
		listFlags(flags, out)
		return flag.ErrHelp
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(out, fill(help.short+"\n"))
		mainFlags(flags, help.flags, out)
		fmt.Fprintf(out, "\nprobode %s -help-all lists all flags, and says more.\n", flags.Name())
		return err
	case err == nil:
		err = shell.NoBlanks(flags)
	}
	if err != nil {
		if unknown, is := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); is {
			err = fmt.Errorf("there is no flag -%s", text.Clip(unknown))
			if near := nearestFlag(flags, unknown); near != "" {
				err = fmt.Errorf("%w: did you mean -%s?", err, near)
			}
		}
		return fmt.Errorf("%w: see probode %s -help", err, flags.Name())
	}
	flags.VisitAll(func(f *flag.Flag) {
		if o := f.Value.(*once); o.lost != "" {
			fmt.Fprintf(os.Stderr, "warning: -%s is given twice: %s is used, %s is ignored\n", f.Name, text.Clip(o.Value.String()), text.Clip(o.lost))
			o.lost = ""
		}
	})
	return nil
}

func nearestFlag(flags *flag.FlagSet, name string) string {
	var names []string
	flags.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	return text.Nearest(name, names)
}

func anywhere(flags *flag.FlagSet, args []string) error {
	var others []string
	for {
		if err := flags.Parse(args); err != nil {
			return err
		}
		n := flags.NArg()
		if n == 0 || n < len(args) && args[len(args)-n-1] == "--" {
			others = append(others, flags.Args()...)
			return flags.Parse(append([]string{"--"}, others...))
		}
		others, args = append(others, flags.Arg(0)), flags.Args()[1:]
	}
}

func inRange(flag string, value, least, most int) error {
	if value < least || value > most {
		return fmt.Errorf("-%s %d: want a number from %d to %d", flag, value, least, most)
	}
	return nil
}

// once is a flag that should be given once; `lost` is an earlier and different value,
// which is ignored.
type once struct {
	flag.Value
	given bool
	lost  string // the value that is ignored
}

func (o *once) Set(text string) error {
	before := o.Value.String()
	if err := o.Value.Set(text); err != nil {
		return errors.New(wanted(o.Value, err))
	}
	if o.given && o.Value.String() != before {
		o.lost = before
	}
	o.given = true
	return nil
}

func wanted(v flag.Value, err error) string {
	if g, is := v.(flag.Getter); is {
		switch g.Get().(type) {
		case float64:
			return "want a number"
		case int:
			return "want a whole number"
		case uint64:
			return "want a whole number ≥ 0"
		case bool:
			return "want true or false"
		case time.Duration:
			return "want a time such as 10s or 5m"
		}
	}
	return err.Error()
}

func (o *once) IsBoolFlag() bool {
	b, is := o.Value.(interface{ IsBoolFlag() bool })
	return is && b.IsBoolFlag()
}

func given(flags *flag.FlagSet, name string) (is bool) {
	flags.Visit(func(f *flag.Flag) { is = is || f.Name == name })
	return is
}

// needs refuses the named flags, which have no effect in the situation `why`, for example
// "without -paths".
func needs(flags *flag.FlagSet, why string, names ...string) error {
	for _, name := range names {
		if given(flags, name) {
			return fmt.Errorf("-%s has no meaning %s", name, why)
		}
	}
	return nil
}

// groups are the headings of a long list of flags. Other flags are under the last one.
var groups = []struct {
	title string
	names []string
}{
	{"The model", []string{"model", "outside", "condition", "case", "problem", "data", "span", "times", "at"}},
	{"The solver", []string{"method", "step", "steps", "rtol", "atol", "alpha"}},
	{"The draws", []string{"scheme", "start", "draws", "chains", "chain", "burn-in", "seed", "paths"}},
	{"The judgement", []string{"threshold", "confidence", "budget", "enough"}},
	{"What is written", nil},
}

// mainFlags lists flags with the first part of their descriptions.
func mainFlags(flags *flag.FlagSet, names []string, out io.Writer) {
	var rows [][]string
	for _, name := range names {
		value, usage := flag.UnquoteUsage(unwrapped(flags.Lookup(name)))
		usage, _, _ = strings.Cut(usage, ";")
		rows = append(rows, []string{"  -" + name + " " + value, usage})
	}
	fmt.Fprint(out, text.Table(rows, func(int) bool { return true }))
}

func listFlags(flags *flag.FlagSet, out io.Writer) {
	sections := map[int]*flag.FlagSet{}
	total, last := 0, len(groups)-1
	flags.VisitAll(func(*flag.Flag) { total++ })
	flags.VisitAll(func(f *flag.Flag) {
		k := last
		for i, g := range groups {
			if total >= 12 && slices.Contains(g.names, f.Name) {
				k = i
			}
		}
		if sections[k] == nil {
			sections[k] = flag.NewFlagSet("", flag.ContinueOnError)
		}
		sections[k].Var(unwrapped(f).Value, f.Name, f.Usage)
		sections[k].Lookup(f.Name).DefValue = f.DefValue
	})
	for k, g := range groups {
		some := sections[k]
		if some == nil {
			continue
		}
		if total >= 12 {
			fmt.Fprintf(out, "%s:\n", g.title)
		}
		var b strings.Builder
		some.SetOutput(&b)
		some.PrintDefaults()
		fmt.Fprint(out, fill(strings.ReplaceAll(b.String(), "\t", "    ")))
		if total >= 12 {
			fmt.Fprintln(out)
		}
	}
}

// unwrapped has the value whose type decides how a flag is shown.
func unwrapped(f *flag.Flag) *flag.Flag {
	g := *f
	if o, is := f.Value.(*once); is {
		g.Value = o.Value
	}
	return &g
}

// fill wraps paragraphs at 80 columns. Indented lines are examples and tables, except for
// descriptions of flags, which have eight spaces.
func fill(help string) string {
	const most = 79
	var b strings.Builder
	column := 0
	end := func() {
		if column > 0 {
			b.WriteByte('\n')
			column = 0
		}
	}
	for line := range strings.Lines(help) {
		line = strings.TrimSuffix(line, "\n")
		words := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(words)]
		prose := indent == "" || len(indent) == 8 && text.Width(line) > most
		if !prose || words == "" || indent != "" {
			end()
		}
		if !prose || words == "" {
			b.WriteString(line + "\n")
			continue
		}
		for _, w := range strings.Fields(words) {
			if column > 0 && column+1+text.Width(w) > most {
				end()
			}
			if column == 0 {
				b.WriteString(indent)
				column = len(indent)
			} else {
				b.WriteByte(' ')
				column++
			}
			b.WriteString(w)
			column += text.Width(w)
		}
		if indent != "" {
			end()
		}
	}
	end()
	return b.String()
}

func list(text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return strings.Split(text, ",")
}

func numbers(values string) ([]float64, error) {
	var out []float64
	for _, one := range list(values) {
		v, err := strconv.ParseFloat(strings.TrimSpace(one), 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%q is not a finite number", text.Clip(one))
		}
		out = append(out, v)
	}
	if out == nil {
		return nil, errors.New("want at least one number")
	}
	return out, nil
}

// assignments reads name=value,… and quotes `known` as the list of allowed names.
func assignments(flag, values string, names []string, known string, set func(i int, v float64)) error {
	seen := map[int]bool{}
	for _, one := range list(values) {
		name, value, ok := strings.Cut(one, "=")
		i := slices.Index(names, strings.TrimSpace(name))
		v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		switch {
		case !ok:
			return fmt.Errorf("-%s %s: want name=value", flag, text.Clip(one))
		case i < 0:
			return fmt.Errorf("-%s %s: %q is not a parameter: want one of %s", flag, text.Clip(one), text.Clip(name), known)
		case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
			return fmt.Errorf("-%s %s: want a finite number", flag, text.Clip(one))
		case seen[i]:
			return fmt.Errorf("-%s %s: given twice", flag, text.Clip(one))
		}
		seen[i] = true
		set(i, v)
	}
	return nil
}
