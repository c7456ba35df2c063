package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/probode/probode/pkg/probode/mcmc"
)

const (
	partSuffix  = ".part"  // of the draws of a chain that is not finished
	stateSuffix = ".state" // in place of .csv
	tmpSuffix   = ".tmp"   // of what is about to get its name
)

var errLocked = errors.New("another process is at work on this chain")

// A file takes the draws of one chain. The chain is, at any moment, in one of
// these conditions on the disk:
//
//   - no state: nothing has been drawn yet. There may be a .part with no more
//     than a header;
//   - a state, and a .part that begins with the draws which the state knows of.
//     What follows them is drawn again;
//   - a .csv and a state that knows of all its draws: the chain is finished, and
//     can be extended. There may be a .part: somebody has begun to extend it. If
//     the draws in it are those that the state knows of, it takes the place of the
//     .csv; else it is made again from that.
//
// One passes to the next by a rename or a removal. Whoever writes holds a lock on
// the .part, which the system lifts when the process ends, in whatever way.
type file struct {
	path  string // of the .csv
	chain *mcmc.Chain
	f     *os.File // the .part, locked
	made  bool     // by this call
	done  bool     // the .csv was there, with all the draws

	whole *table // the .csv was there, with fewer draws than are wanted
	old   *table // what was there: the draws of the .csv, or those that the state knows of
	state *state

	layout  *layout
	buf     []byte // draws to be written
	crc     uint64 // of all bytes written
	body    int64  // bytes written behind the line of the columns
	bodyCRC uint64 // of these
	headCRC uint64 // see state
	length  int64  // of the chain, in iterations after burn-in
	history []string

	every time.Duration
	saved time.Time
	at    int // the iteration at which the state was saved
	err   error
}

var _ mcmc.Sink = (*file)(nil)

func (f *file) partPath() string  { return f.path + partSuffix }
func (f *file) statePath() string { return statePath(f.path) }

// statePath returns the path of the state that belongs to a .csv.
func statePath(path string) string { return strings.TrimSuffix(path, ".csv") + stateSuffix }

// claim looks at what there is of a chain and, if draws are wanting, locks it.
func claim(dir string, c *mcmc.Chain, draws int) (*file, error) {
	f := &file{path: chainPath(dir, c.Index()), chain: c}
	if exists(f.path) {
		t, err := readHeader(f.path)
		if err != nil || t.draws >= draws {
			return f, f.finished(draws)
		}
	}
	f.made = !exists(f.partPath())
	part, err := openForWriting(f.partPath())
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	f.f = part
	if err := lock(part); err != nil {
		f.close()
		return nil, fmt.Errorf("store: %s: %w", f.partPath(), err)
	}
	// Another process may have finished the chain, or removed what there was,
	// between the opening and the lock.
	mine, err := part.Stat()
	there, e := os.Stat(f.partPath())
	if err != nil || e != nil || !os.SameFile(mine, there) {
		f.made = false
		f.close()
		if exists(f.path) {
			return f, f.finished(draws)
		}
		return nil, fmt.Errorf("store: %s: %w", f.partPath(), errLocked)
	}
	if exists(f.path) {
		if err := f.finished(draws); err != nil || f.done {
			f.close()
			return f, err
		}
	}
	if err := f.load(mine.Size()); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// finished reads the .csv, which may have fewer draws than are wanted.
func (f *file) finished(draws int) error {
	t, err := readWhole(f.path, f.recorder())
	if err != nil {
		return err
	}
	f.old = t
	if t.draws >= draws {
		f.done = true
		f.chain.Finished(t.burnIn, t.after)
	} else {
		f.whole = t
	}
	return nil
}

// recorder returns a function that tells the chain of the draws in a file.
func (f *file) recorder() func(t *table, line []byte) error {
	var x []float64
	return func(t *table, line []byte) error {
		return f.chain.Recall(func() (_ []float64, err error) {
			if x, err = t.parse(x[:0], line); err != nil {
				return nil, err
			}
			return x[t.stats : t.stats+t.params], nil
		})
	}
}

// load reads the state and the draws that it knows of.
func (f *file) load(size int64) error {
	for path, magic := range map[string]string{
		f.statePath() + tmpSuffix: stateMagic,
		f.partPath() + tmpSuffix:  "# format = " + formatPrefix,
	} {
		if err := replaceable(path, magic); err != nil {
			return fmt.Errorf("store: %w", err)
		}
	}
	data, err := readAll(f.statePath())
	if errors.Is(err, fs.ErrNotExist) {
		if f.whole != nil {
			return nil // see ready
		}
		if err := begun(f.f, f.partPath(), f.statePath()); err != nil {
			return fmt.Errorf("store: %w", err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if f.state, err = decodeState(data); err != nil {
		return fmt.Errorf("store: %s cannot be used: %w", f.statePath(), err)
	}
	if f.whole != nil {
		// Either will do. The .part is there whole if the .csv is about to be
		// removed.
		if t, err := f.known(f.f, size, nil); err == nil {
			f.old, f.whole = t, nil
			return nil
		}
		csv, err := openForReading(f.path)
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
		defer csv.Close()
		if _, err := f.known(csv, f.whole.size, nil); err != nil {
			return fmt.Errorf("store: %s cannot be used: it is not the state at the end of %s, so that the chain cannot be extended: %w", f.statePath(), f.path, err)
		}
		return nil
	}
	if f.old, err = f.known(f.f, size, f.recorder()); err != nil {
		return fmt.Errorf("store: %s cannot be used: %w", f.partPath(), err)
	}
	return nil
}

func readAll(path string) ([]byte, error) {
	in, err := openForReading(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(in)
}

// known reads the draws that the state knows of.
func (f *file) known(in io.ReaderAt, size int64, row func(t *table, line []byte) error) (*table, error) {
	t, err := scan(io.NewSectionReader(in, 0, size), f.state.body, row)
	switch {
	case t.columns == nil && size == t.size: // before errors of the header, which may be cut
		return nil, fmt.Errorf("it has %d bytes, and ends before the draws do", size)
	case t.columns != nil && size < t.headSize+f.state.body:
		return nil, fmt.Errorf("it has %d bytes, want at least %d", size, t.headSize+f.state.body)
	case err != nil:
		return nil, err
	case t.samples < f.state.length:
		return nil, fmt.Errorf("%s is %d in its header, want at least %d", lengthKey, t.samples, f.state.length)
	case t.headCRC != f.state.headCRC:
		return nil, fmt.Errorf("the checksum of its header is %016x and should be %016x", t.headCRC, f.state.headCRC)
	case t.body() != f.state.body || t.bodyCRC != f.state.bodyCRC || t.sealed:
		return nil, fmt.Errorf("the checksum of its draws is %016x and should be %016x", t.bodyCRC, f.state.bodyCRC)
	}
	return t, nil
}

// restore gives the chain, which has been started, its state back, and sees
// whether it is still the same chain: whether the log density at its position is
// the same, and whether its last turn leads there once more.
func (f *file) restore(here maker) error {
	s, c := f.state, f.chain
	give := func(state []byte) error {
		a := mcmc.NewArchive(state)
		c.State(a)
		if err := a.Err(); err != nil {
			return fmt.Errorf("store: %s cannot be used: the sampler does not know it: %w", f.statePath(), err)
		}
		return nil
	}
	if err := give(s.now); err != nil {
		return err
	}
	there := makerOf(f.old.header)
	if e, ok := c.Kernel().(Evaluator); ok {
		if d := changed(s.density, e.Evaluate()); d != nil {
			return fmt.Errorf("store: %s: the chain cannot be resumed: the log density at its position is %.17g, and was %.17g when it was saved, a relative difference of %.1g; %s",
				f.statePath(), d.is, d.was, d.relative, d.cause(there, here))
		}
	}
	if len(s.turn) > 0 {
		at, x := c.Iteration(), slices.Clone(c.Kernel().Position())
		if err := give(s.turn); err != nil {
			return err
		}
		from := c.Iteration()
		c.Replay(at)
		a := mcmc.NewArchive(nil)
		c.State(a)
		if !bytes.Equal(a.Bytes(), s.now) {
			d := changed(x, c.Kernel().Position())
			if d == nil {
				return fmt.Errorf("store: %s: the chain cannot be resumed: its last %d iterations, made again, lead to the same draw but another state of the sampler: its settings, or it, are not the ones that it was drawn with", f.statePath(), at-from)
			}
			return fmt.Errorf("store: %s: the chain cannot be resumed: its last %d iterations, made again, lead to another draw, %.17g in the place of %.17g, a relative difference of %.1g; %s",
				f.statePath(), at-from, d.is, d.was, d.relative, d.cause(there, here))
		}
	}
	f.history = s.history
	last := there.String()
	if n := len(f.history); n > 0 {
		_, last, _ = strings.Cut(f.history[n-1], drawnBy)
	}
	if last != here.String() {
		f.history = append(f.history, fmt.Sprintf("from iteration %d on%s%v", c.Iteration()+1, drawnBy, here))
	}
	return nil
}

const drawnBy = " drawn by "
