// Package store keeps the draws of Markov chains in files: it runs chains that can
// be stopped, killed, moved to other machines, resumed and extended, and reads what
// they have drawn.
//
// [Run] draws into a directory, [Merge] gathers what was drawn into several, and
// [Read] gives it back. The files are what CmdStan would write; ArviZ, pandas and R
// take them as they are.
package store

import (
	"context"
	"fmt"
	"time"

	"github.com/probode/probode/pkg/internal/atomicfile"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// Options say what Run writes beside the draws, and how often.
type Options struct {
	// Meta describes the model and whatever else is to be known of the draws.
	// In a file each is a comment line, # key = value, and ArviZ has it among
	// the attributes of the data. A key consists of letters, digits and _, and is
	// none of those that Run writes itself; a value is one line without control
	// characters. The key "note", which may come more than once, is for whole
	// sentences: Read gives them back as Chains.Notes.
	//
	// A chain is resumed only if Meta is as it was.
	Meta []mcmc.Field

	// Version is that of the program, such as v1.4.0. It is recorded.
	Version string

	// Checkpoint is the time after which the state of a chain is saved again.
	// Zero means 5 s. It does not change the result.
	Checkpoint time.Duration
}

// A Noter is a Kernel that has more to tell of its chain than counts, such as what
// it has tuned. Run writes each note, on one line, below the draws. What a kernel
// tells depends on nothing but its State.
type Noter interface {
	Notes() []string
}

// An Evaluator is a Kernel that can compute the log density at its position again,
// without use of what it remembers: a chain is resumed only if that is what it was
// when the chain was saved, bit for bit. There may be several numbers, always as
// many; they depend on nothing but the State.
type Evaluator interface {
	Evaluate() []float64
}

// Run draws as mcmc.Run does and writes the draws to files, dir/chain-1.csv and so
// on, so that memory does not grow with the length of the run and nothing is lost
// when it is interrupted: Run with the same arguments resumes what is in dir, and
// in the end the files are the same to the last byte as if there had been no
// interruption, whenever it came and be it by kill -9 or loss of power. A chain
// is also the same whether it was alone or with others: see Settings.Only and
// Merge.
//
// A file is what CmdStan would write; Read, ArviZ and pandas take it:
//
//	arviz.from_cmdstan(posterior="dir/chain-*.csv", log_likelihood="log_lik")
//	pandas.read_csv("dir/chain-1.csv", comment="#")
//
// Comment lines hold Options.Meta, seed, lengths, versions, counts and, in the
// last line, a checksum. In the names of columns, what a file could not hold is
// replaced by _; Read restores it.
//
// While a chain is under way there is chain-1.csv.part instead, and from the
// beginning chain-1.state: all that the future of the chain depends on, saved every
// Options.Checkpoint and when ctx is done. Then Run returns ctx.Err(). If all
// chains of the call are finished it returns nil, at once if they were before.
//
// A run with more Draws than the one that is in dir, finished or not, extends it:
// it makes what is wanting, and the files are those of a run of that length.
//
// Run refuses to go on, and changes nothing, if a file is damaged, of another
// version of the format, or not this package's; if the draws in dir were made with
// other settings, names or fields of Meta; and if another process is at work on a
// chain. Before a chain is resumed its log density is compared with that which was
// saved, see [Evaluator], and its last milliseconds are drawn again: only if all of
// it is the same, bit for bit, does the chain go on. So a program that has changed
// in something else resumes what an earlier one began, of which the file then has a
// note; one that computes other numbers does not, and the error says whether they
// are those of another model or rounded in another way.
//
// It is an error if a chain finds no point to start from, or the disk fails; what
// was saved before stays good. Run panics as mcmc.Run does, and if MinESS is set,
// with which the length of a chain would depend on the others. Files are locked
// by means of Unix; on other systems Run is an error.
func Run(ctx context.Context, kernel func(chain int) mcmc.Kernel, dir string, settings mcmc.Settings, o Options) error {
	s := &study{Settings: settings.WithDefaults(), meta: o.Meta, maker: thisMaker(o.Version)}
	switch {
	case s.MinESS > 0:
		panic("store: MinESS in a run to files")
	case o.Checkpoint < 0:
		panic(fmt.Sprintf("store: Checkpoint is %v: want a time ≥ 0", o.Checkpoint))
	case o.Checkpoint == 0:
		o.Checkpoint = 5 * time.Second
	}
	if err := checkMeta(s.meta); err != nil {
		return err
	}
	s.start = beginning(s.Settings)
	if err := atomicfile.MkdirAll(dir); err != nil {
		return fmt.Errorf("store: %w", err)
	}

	// First every chain's files are claimed and looked at; then they are
	// compared with the settings; only then is anything written.
	var files []*file
	defer func() {
		for _, f := range files {
			f.close()
		}
	}()
	var chains, open []*mcmc.Chain
	for _, index := range s.Only {
		c := mcmc.NewChain(index, s.Settings)
		f, err := claim(dir, c, s.Draws)
		if err != nil {
			return err
		}
		f.every = o.Checkpoint
		files, chains = append(files, f), append(chains, c)
	}
	var active []*file // of chains that are not finished
	for _, f := range files {
		if f.done {
			continue
		}
		if err := f.chain.Start(kernel(f.chain.Index())); err != nil {
			return err
		}
		f.chain.Sink = f
		active, open = append(active, f), append(open, f.chain)
	}
	var l *layout // not known if the names are not and no kernel is there to tell
	if len(open) > 0 {
		s.Names = mcmc.CoordinateNames(s.Names, open)
	}
	if s.Names != nil {
		var err error
		if l, err = newLayout(s.Names, s.Generated); err != nil {
			return err
		}
	}
	if err := compare(dir, files, s, l); err != nil {
		return err
	}
	for _, f := range active {
		if f.state != nil {
			if err := f.restore(s.maker); err != nil {
				return err
			}
		}
	}
	for _, f := range active {
		if err := f.ready(l, s); err != nil {
			return err
		}
	}
	for _, f := range active {
		if err := f.begin(); err != nil {
			return err
		}
	}

	complete := mcmc.Advance(ctx, chains, s.Names, s.Settings)
	var failed []error
	for _, f := range active {
		f.save()
		if f.err != nil {
			failed = append(failed, f.err)
		}
	}
	switch {
	case len(failed) > 1:
		return fmt.Errorf("store: %w (and %d more)", failed[0], len(failed)-1)
	case failed != nil:
		return fmt.Errorf("store: %w", failed[0])
	case !complete:
		return ctx.Err()
	}
	return nil
}
