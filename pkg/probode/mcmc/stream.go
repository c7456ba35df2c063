package mcmc

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Noter is a Kernel that has more to tell of its chain than counts, such as what
// it has tuned. Stream writes each note, on one line, below the draws. What a
// kernel tells depends on nothing but its State.
type Noter interface {
	Notes() []string
}

// Stream draws as Run does and writes the draws to files, dir/chain-1.csv and so
// on, so that memory does not grow with the length of the run and nothing is lost
// when it is interrupted: Stream with the same arguments takes up again what is in
// dir, and in the end the files are the same to the last byte as if there had been
// no interruption, whenever it came and be it by kill -9 or loss of power. A chain
// is also the same whether it was alone or with others: see Settings.Only and
// Merge.
//
// A file is what CmdStan would write; Read, ArviZ and pandas take it:
//
//	arviz.from_cmdstan(posterior="dir/chain-*.csv", log_likelihood="log_lik")
//	pandas.read_csv("dir/chain-1.csv", comment="#")
//
// Comment lines hold Settings.Meta, seed, lengths, versions, counts and, in the
// last line, a checksum. In the names of columns, what a file could not hold is
// replaced by _; Read restores it.
//
// While a chain is under way there are chain-1.csv.part and chain-1.state instead:
// the draws so far, and all that the future of the chain depends on, saved every
// Settings.Checkpoint and when ctx is done. Then Stream returns ctx.Err(). If all
// chains of the call are finished it returns nil, at once if they were before.
//
// Stream refuses to go on, and changes nothing, if a file is damaged or of another
// version of the format; if the draws in dir were made with other settings, names,
// versions or on another kind of processor, for then they would not be the same;
// and if another process is at work on a chain. Two kernels that differ in what
// Settings.Meta does not tell are not told apart.
//
// It is an error if a chain finds no point to start from, or the disk fails; what
// was saved before stays good. Stream panics as Run does, and if MinESS is set,
// with which the length of a chain would depend on the others. Files are locked
// by means of Unix; on other systems Stream is an error.
func Stream(ctx context.Context, kernel func(chain int) Kernel, dir string, settings Settings) error {
	s := settings.withDefaults()
	if s.MinESS > 0 {
		panic("mcmc: MinESS in a run to files")
	}
	if err := checkMeta(s.Meta); err != nil {
		return err
	}
	s.begins = s.beginning()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("mcmc: %w", err)
	}

	// First every chain's files are claimed and looked at; then they are
	// compared with the settings; only then is anything written.
	var files []*file
	defer func() {
		for _, f := range files {
			f.close()
		}
	}()
	var chains []*chain // of files that are not finished
	total := s.iterations(s.Draws)
	report := newReporter(s.Progress, nil, len(s.Only)*total)
	for _, index := range s.Only {
		f, err := claim(dir, index, report.record())
		if err != nil {
			return err
		}
		f.every = s.Checkpoint
		files = append(files, f)
	}
	for _, f := range files {
		if f.done {
			report.resume(total, f.old.burnIn.plus(1, f.old.after))
			continue
		}
		c := newChain(kernel(f.chain), s.Seed, f.chain)
		if err := c.start(s.Start); err != nil {
			return err
		}
		c.file, c.record = f, f.record
		chains = append(chains, c)
	}
	var l *layout // not known if the names are not and no kernel is there to tell
	if len(chains) > 0 {
		s.Names = names(s.Names, chains)
	}
	if s.Names != nil {
		var err error
		if l, err = newLayout(s.Names, s.Generated); err != nil {
			return err
		}
	}
	report.names = s.Names
	if err := compare(dir, files, &s, l); err != nil {
		return err
	}
	for _, c := range chains {
		if c.file.old != nil {
			if err := c.file.restore(c); err != nil {
				return err
			}
			report.resume(c.iteration, c.kernel.Stats())
		}
	}
	for _, c := range chains {
		if err := c.file.ready(l, s.fields(c.index)); err != nil {
			return err
		}
	}
	for _, c := range chains {
		if err := c.file.begin(c); err != nil {
			return err
		}
	}

	for _, f := range files {
		if f.done {
			f.clear()
		}
	}
	report.at = time.Now() // starting and reading take time, too
	complete := len(chains) == 0 || advance(ctx, chains, total, &s, report)
	var failed []error
	for _, c := range chains {
		c.file.save(c)
		if c.file.err != nil {
			failed = append(failed, c.file.err)
		}
	}
	report.last()
	switch {
	case len(failed) > 1:
		return fmt.Errorf("mcmc: %w (and %d more)", failed[0], len(failed)-1)
	case failed != nil:
		return fmt.Errorf("mcmc: %w", failed[0])
	case !complete:
		return ctx.Err()
	}
	return nil
}

const (
	partSuffix  = ".part"  // of the draws of a chain that is not finished
	stateSuffix = ".state" // in place of .csv
	tmpSuffix   = ".tmp"   // of what is about to get its name

	// A state is this word, the version of the format, the length of an
	// Archive, the Archive, and the CRC-64/ECMA of all that.
	stateMagic   = "PROBODES"
	stateVersion = 1

	// flushSize is how many bytes of draws are gathered before they are
	// written.
	flushSize = 1 << 16
)

var errLocked = errors.New("another process is at work on this chain")

// A file takes the draws of one chain. The chain is, at any moment, in one of
// four conditions on the disk:
//
//   - no state: nothing has been drawn yet. There may be a .part with less than a
//     header;
//   - a state, and a .part that begins with the draws which the state knows of.
//     What follows them is drawn again;
//   - a .csv and a state: the chain is finished;
//   - a .csv: the same.
//
// One passes to the next by a rename. Whoever writes holds a lock on the .part,
// which the system lifts when the process ends, in whatever way.
type file struct {
	path  string // of the .csv
	chain int
	f     *os.File // the .part, locked
	made  bool     // by this call
	done  bool     // the .csv was there

	old   *table // what was there: the draws of the .csv, or those that the state knows of
	state *Archive

	layout    *layout
	generated []float64
	buf       []byte // draws to be written
	size      int    // bytes written
	crc       uint64 // of these

	record *record
	every  time.Duration
	saved  time.Time
	at     int // the iteration at which the state was saved
	err    error
}

func (f *file) partPath() string  { return f.path + partSuffix }
func (f *file) statePath() string { return strings.TrimSuffix(f.path, ".csv") + stateSuffix }

// claim looks at what there is of a chain and, if it is not finished, locks it.
func claim(dir string, index int, r *record) (*file, error) {
	f := &file{path: chainPath(dir, index), chain: index, record: r}
	if exists(f.path) {
		return f, f.finished()
	}
	f.made = !exists(f.partPath())
	part, err := os.OpenFile(f.partPath(), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("mcmc: %w", err)
	}
	f.f = part
	if err := lock(part); err != nil {
		f.close()
		return nil, fmt.Errorf("mcmc: %s: %w", f.partPath(), err)
	}
	// Another process may have finished the chain, or removed what there was,
	// between the opening and the lock.
	mine, err := part.Stat()
	there, e := os.Stat(f.partPath())
	switch {
	case exists(f.path):
		f.close()
		return f, f.finished()
	case err != nil || e != nil || !os.SameFile(mine, there):
		part.Close()
		return nil, fmt.Errorf("mcmc: %s: %w", f.partPath(), errLocked)
	}
	if err := f.load(mine.Size()); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// finished reads the .csv.
func (f *file) finished() error {
	var err error
	f.done = true
	f.old, err = readWhole(f.path, f.recorder())
	return err
}

// clear removes the state of a chain that is finished. If it cannot, it is in
// nobody's way.
func (f *file) clear() {
	os.Remove(f.statePath() + tmpSuffix)
	os.Remove(f.statePath())
}

// recorder returns a function that puts the draws of a file in the record.
func (f *file) recorder() func(t *table, line []byte) error {
	if f.record == nil {
		return nil
	}
	var x []float64
	return func(t *table, line []byte) (err error) {
		if f.record.wants() {
			if x, err = t.parse(x[:0], line); err != nil {
				return err
			}
			f.record.add(x[t.stats : t.stats+t.params])
			return nil
		}
		f.record.add(nil)
		return nil
	}
}

// load reads the state and the draws that it knows of.
func (f *file) load(size int64) error {
	data, err := os.ReadFile(f.statePath())
	if errors.Is(err, fs.ErrNotExist) {
		f.size = int(size)
		return nil
	}
	if err != nil {
		return fmt.Errorf("mcmc: %w", err)
	}
	payload, err := unseal(data)
	if err != nil {
		return fmt.Errorf("mcmc: %s cannot be used: %w", f.statePath(), err)
	}
	f.state = NewArchive(payload)
	f.state.Int(&f.size)
	f.state.Word(&f.crc)
	f.old, err = scan(io.NewSectionReader(f.f, 0, int64(f.size)), f.recorder())
	switch {
	case err != nil && size >= int64(f.size):
	case size < int64(f.size):
		err = fmt.Errorf("it has %d bytes, want at least %d", size, f.size)
	case f.old.crc != f.crc || f.old.sealed || f.old.columns == nil:
		err = fmt.Errorf("its checksum is %016x and should be %016x", f.old.crc, f.crc)
	}
	if err != nil {
		return fmt.Errorf("mcmc: %s cannot be used: %w", f.partPath(), err)
	}
	return nil
}

// seal wraps a state for the disk.
func seal(payload []byte) []byte {
	data := append([]byte(stateMagic), make([]byte, 16)...)
	binary.LittleEndian.PutUint64(data[8:], stateVersion)
	binary.LittleEndian.PutUint64(data[16:], uint64(len(payload)))
	data = append(data, payload...)
	return binary.LittleEndian.AppendUint64(data, crc64.Checksum(data, crcTable))
}

// unseal undoes seal.
func unseal(data []byte) ([]byte, error) {
	const head, foot = 24, 8
	if len(data) < head+foot || string(data[:8]) != stateMagic {
		return nil, errors.New("it is not the state of a chain, or ends too early")
	}
	sum := binary.LittleEndian.Uint64(data[len(data)-foot:])
	if v := binary.LittleEndian.Uint64(data[8:]); v != stateVersion {
		return nil, fmt.Errorf("format version %d, this program knows %d", v, stateVersion)
	}
	if n := binary.LittleEndian.Uint64(data[16:]); n != uint64(len(data)-head-foot) {
		return nil, fmt.Errorf("its length is %d bytes and should be %d", len(data)-head-foot, n)
	}
	if crc := crc64.Checksum(data[:len(data)-foot], crcTable); crc != sum {
		return nil, fmt.Errorf("its checksum is %016x and should be %016x", crc, sum)
	}
	return data[head : len(data)-foot], nil
}

// compare tells which setting of the draws in dir, of this call's chains or of
// others, is not that of s.
func compare(dir string, files []*file, s *Settings, l *layout) error {
	mine := map[string]bool{}
	check := func(path string, t *table) error {
		want := s.fields(t.chain - 1)
		have, columns := t.header, t.columns
		if l != nil {
			want = append(want, l.fields...)
		} else {
			have, columns = have[:min(len(have), len(want))], nil
		}
		var wantColumns []string
		if l != nil {
			wantColumns = l.columns
		}
		if key, a, b := difference(have, want, columns, wantColumns); key != "" {
			return fmt.Errorf("mcmc: %s was made with other settings: %s is %s there and %s here", path, key, a, b)
		}
		return nil
	}
	for _, f := range files {
		path := f.path
		if !f.done {
			path = f.partPath()
		}
		mine[path] = true
		if f.old == nil {
			continue
		}
		if f.old.chain != f.chain+1 {
			return fmt.Errorf("mcmc: %s holds chain %d", path, f.old.chain)
		}
		if err := check(path, f.old); err != nil {
			return err
		}
	}
	for _, suffix := range []string{".csv", ".csv" + partSuffix} {
		paths, err := chainFiles(dir, suffix)
		if err != nil {
			return err
		}
		for _, path := range paths {
			if mine[path] {
				continue
			}
			t, err := readHeader(path)
			switch {
			case errors.Is(err, fs.ErrNotExist): // it has been finished just now
				continue
			case err != nil:
				return fmt.Errorf("mcmc: %s cannot be used: %w", path, err)
			case t.columns == nil: // it has been begun just now
				continue
			}
			if err := check(path, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// readHeader reads a file up to the first draw.
func readHeader(path string) (*table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	enough := errors.New("enough")
	t, err := scan(f, func(*table, []byte) error { return enough })
	if errors.Is(err, enough) {
		err = nil
	}
	return t, err
}

// archive takes down or gives back all that the chain's future depends on.
func (f *file) archive(a *Archive, c *chain) {
	a.Int(&c.iteration)
	a.Stats(&c.burnIn)
	a.Source(c.source)
	c.kernel.State(a)
}

// restore gives the chain, which has been started, its state back.
func (f *file) restore(c *chain) error {
	f.archive(f.state, c)
	if err := f.state.Err(); err != nil {
		return fmt.Errorf("mcmc: %s cannot be used: the kernel does not know it: %w", f.statePath(), err)
	}
	f.state = nil
	return nil
}

// ready prepares the file for the next draw. Nothing is written yet.
func (f *file) ready(l *layout, fields []Field) error {
	f.layout = l
	f.generated = make([]float64, len(l.front)+len(l.back))
	if f.old == nil {
		header := l.appendHeader(nil, fields)
		if f.size > len(header) {
			return fmt.Errorf("mcmc: %s is missing beside %s: the chain cannot go on; remove both to draw it anew", f.statePath(), f.partPath())
		}
		f.buf, f.size, f.crc = header, 0, 0
	}
	f.old = nil
	return nil
}

// begin writes what a file holds before the next draw.
func (f *file) begin(c *chain) error {
	err := f.f.Truncate(int64(f.size))
	if err == nil {
		_, err = f.f.Seek(int64(f.size), io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("mcmc: %w", err)
	}
	f.made, f.at = false, -1
	f.save(c)
	if f.err != nil {
		return fmt.Errorf("mcmc: %w", f.err)
	}
	return nil
}

// row writes a draw.
func (f *file) row(x []float64) {
	f.buf = f.layout.appendRow(f.buf, x, f.generated)
	if len(f.buf) >= flushSize {
		f.flush()
	}
}

func (f *file) flush() {
	if f.err != nil {
		f.buf = f.buf[:0]
		return
	}
	_, f.err = f.f.Write(f.buf)
	f.crc = crc64.Update(f.crc, crcTable, f.buf)
	f.size += len(f.buf)
	f.buf = f.buf[:0]
}

// turn does what is due when the chain rests: it ends the file or saves the state
// from time to time. It tells whether all is well.
func (f *file) turn(c *chain, finished bool) bool {
	switch {
	case finished:
		f.finish(c)
	case time.Since(f.saved) >= f.every:
		f.save(c)
	}
	return f.err == nil
}

// save brings draws and state to the disk, the draws first.
func (f *file) save(c *chain) {
	if f.f == nil || c.iteration == f.at {
		return
	}
	f.flush()
	if f.err == nil {
		f.err = f.f.Sync()
	}
	if f.err != nil {
		return
	}
	a := NewArchive(nil)
	a.Int(&f.size)
	a.Word(&f.crc)
	f.archive(a, c)
	data := seal(a.Bytes())

	tmp, err := os.OpenFile(f.statePath()+tmpSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err == nil {
		err = replace(f.statePath(), tmp, func() error { _, err := tmp.Write(data); return err })
	}
	f.saved, f.at, f.err = time.Now(), c.iteration, err
}

// finish writes what comes after the draws and gives the file its name.
func (f *file) finish(c *chain) {
	after := c.kernel.Stats().plus(-1, c.burnIn)
	keys, values := counts(&c.burnIn, &after)
	for i, key := range keys {
		f.buf = fmt.Appendf(f.buf, "# %s = %d\n", key, *values[i])
	}
	if n, ok := c.kernel.(Noter); ok {
		for _, note := range n.Notes() {
			f.buf = fmt.Appendf(f.buf, "# note = %s\n", strings.Join(strings.Fields(note), " "))
		}
	}
	f.flush()
	f.buf = fmt.Appendf(f.buf, "# checksum = %016x\n", f.crc)
	f.flush()
	if f.err == nil {
		f.err = f.f.Sync()
	}
	if f.err == nil {
		f.err = os.Rename(f.partPath(), f.path)
	}
	if f.err == nil {
		f.err = syncDir(filepath.Dir(f.path))
	}
	if f.err != nil {
		return
	}
	f.clear()
	f.f.Close() // lifts the lock
	f.f = nil
}

// close lifts the lock. A file that this call has made and not begun goes.
func (f *file) close() {
	if f.f == nil {
		return
	}
	if f.made {
		if info, err := f.f.Stat(); err == nil && info.Size() == 0 {
			os.Remove(f.partPath())
		}
	}
	f.f.Close()
	f.f = nil
}
