package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/probode/probode/internal/atomicfile"
	"github.com/probode/probode/internal/plainfile"
	"github.com/probode/probode/pkg/probode/mcmc"
)

type set struct {
	where      string // the directories, for errors
	only       []int  // the indices of the chains to collect; empty: all chains
	brief      bool   // leave out the quantities whose names do not end in __
	progress   func(done, total int)
	first      *table // the first file, with which the others are compared
	firstPath  string
	chains     []*table
	paths      []string
	unfinished []string // the paths of the files of chains that are not finished

	read  int64 // bytes of the chains that have been read
	total int   // bytes of all chains
}

// addAll adds the finished chains, or those of s.only.
func (s *set) addAll(dir string, row func(t *table, line []byte) error) error {
	paths, err := chainFiles(dir, ".csv")
	if err != nil {
		return err
	}
	unfinished, err := chainFiles(dir, ".csv"+partSuffix)
	if err != nil {
		return err
	}
	s.unfinished = append(s.unfinished, unfinished...)
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			s.total += int(info.Size())
		}
	}
	for _, path := range paths {
		if len(s.only) > 0 && !slices.ContainsFunc(s.only, func(k int) bool { return path == chainPath(dir, k) }) {
			continue
		}
		t, err := readWhole(path, row)
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
		s.read += t.size
		if err := s.add(path, t); err != nil {
			return err
		}
	}
	return nil
}

func (s *set) add(path string, t *table) error {
	if s.first == nil {
		s.first, s.firstPath = t, path
		s.chains, s.paths = make([]*table, t.chains), make([]string, t.chains)
	}
	if d := difference(s.first.header, t.header, s.first.columns, t.columns); d != nil {
		return fmt.Errorf("store: %s and %s are not from the same run: %s is %s in the first and %s in the second", s.firstPath, path, d.key, d.a, d.b)
	}
	k := t.chain - 1
	if k >= t.chains || filepath.Base(path) != chainPath("", k) {
		return fmt.Errorf("store: %s contains chain %d of %d: want the number of the chain in the name of the file, as in chain-1.csv", path, t.chain, t.chains)
	}
	if old := s.chains[k]; old != nil && (old.sum != t.sum || old.size != t.size) {
		return fmt.Errorf("store: %s and %s contain different draws of the same chain", s.paths[k], path)
	}
	if s.chains[k] == nil {
		s.chains[k], s.paths[k] = t, path
	}
	return nil
}

func (s *set) keep(t *table, line []byte) error {
	most := len(t.columns)
	if s.brief {
		most = t.stats + t.params
	}
	var err error
	if t.cells, err = t.parse(t.cells[:0], line, most); err != nil {
		return err
	}
	from, to := t.stats, t.stats+t.params
	if t.drawn == nil {
		n := min(t.draws, int(s.total)/(2*len(t.columns))) // a number takes two bytes or more
		t.drawn = make([][]float64, 0, n)
		if most > t.params {
			t.generated = make([][]float64, 0, n)
		}
	}
	if len(t.space) < most {
		t.space = make([]float64, max(1, 1<<16/most)*most) // for many draws, so that none is copied when their number grows
		if s.progress != nil {
			s.progress(int(s.read+t.size), s.total)
		}
	}
	row := append(append(append(t.space[:0:most], t.cells[from:to]...), t.cells[:from]...), t.cells[to:]...)
	t.space = t.space[most:]
	t.drawn = append(t.drawn, row[:t.params:t.params])
	if most > t.params {
		t.generated = append(t.generated, row[t.params:])
	}
	return nil
}

func (s *set) complete() error {
	for _, k := range s.only {
		if k < 0 || k >= len(s.chains) || s.chains[k] == nil {
			return fmt.Errorf("store: %s is missing or not finished", chainPath(s.where, k))
		}
	}
	if len(s.only) > 0 {
		return nil
	}
	if s.first == nil && len(s.unfinished) == 0 {
		return fmt.Errorf("store: no files called chain-1.csv, chain-2.csv, … were found in %s", s.where)
	}
	if s.first == nil {
		return fmt.Errorf("store: no chain in %s is finished", s.where)
	}
	const most = 6 // how many are named
	var missing []string
	n := 0
	for k, t := range s.chains {
		if t != nil {
			continue
		}
		if n++; n > most {
			continue
		}
		name := chainPath("", k)
		if slices.ContainsFunc(s.unfinished, func(p string) bool { return filepath.Base(p) == name+partSuffix }) {
			name += " (not finished)"
		}
		missing = append(missing, name)
	}
	if n > most {
		missing = append(missing, fmt.Sprintf("and %d more", n-most))
	}
	if n > 0 {
		return fmt.Errorf("store: %s lacks %d of the %d chains: %s", s.where, n, len(s.chains), strings.Join(missing, ", "))
	}
	return nil
}

// Read reads the draws that Run has written to dir. If indices are given, Read reads only
// the chains with these indices, counted from 0. Read returns an error and no draws if a
// chain is missing or not finished, if a file is damaged, or if the files are not from
// the same run.
//
// The parameters and quantities have the names that were passed to Run. Quantities whose
// names end in __ come before the other quantities. Meta holds Options.Meta without its
// notes. Notes holds these notes and the notes of the chains (see Options.Notes).
func Read(dir string, only ...int) (*mcmc.Chains, error) {
	return (&set{where: dir, only: only}).chainsIn(dir)
}

// ReadParameters is like Read, but leaves out the quantities whose names do not end in __,
// of which there may be hundreds for each parameter. If progress is not nil, it is called
// with the number of bytes read so far and with the size of all files.
func ReadParameters(dir string, progress func(done, total int)) (*mcmc.Chains, error) {
	return (&set{where: dir, brief: true, progress: progress}).chainsIn(dir)
}

func (s *set) chainsIn(dir string) (*mcmc.Chains, error) {
	err := s.addAll(dir, s.keep)
	if s.progress != nil {
		s.progress(1, 1)
	}
	if err == nil {
		err = s.complete()
	}
	if err != nil {
		return nil, err
	}

	return s.draws(), nil
}

func (s *set) draws() *mcmc.Chains {
	s.chains = slices.DeleteFunc(s.chains, func(t *table) bool { return t == nil }) // those not asked for
	t := s.first
	from, to := t.stats, t.stats+t.params
	out := &mcmc.Chains{Names: t.names[from:to:to]}
	quantities := slices.Clone(t.names[:from])
	if !s.brief {
		quantities = append(quantities, t.names[to:]...)
	}
	if len(quantities) > 0 {
		out.Quantities = quantities
	}
	for _, c := range s.chains {
		out.Draws = append(out.Draws, c.drawn)
		if out.Quantities != nil {
			out.Generated = append(out.Generated, c.generated)
		}
		out.BurnIn = append(out.BurnIn, c.burnIn)
		out.Stats = append(out.Stats, c.after)
	}
	for _, f := range t.header[1:] {
		if f.Key == "seed" { // the first field that does not belong to Meta
			break
		}
		if f.Key == "note" {
			out.Notes = append(out.Notes, f.Value)
		} else {
			out.Meta = append(out.Meta, f)
		}
	}
	for _, c := range s.chains {
		for _, f := range c.trailer {
			if f.Key == "note" {
				out.Notes = append(out.Notes, fmt.Sprintf("chain %d: %s", c.chain, f.Value))
			}
		}
	}
	return out
}

// Length returns the number of draws that each chain of the study in dir has, or will
// have when the study is finished. If there is no study in dir, Length returns 0.
func Length(dir string) int {
	longest := 0
	for _, suffix := range []string{".csv", ".csv" + partSuffix} {
		paths, _ := chainFiles(dir, suffix) // a directory that does not exist holds no study
		for _, path := range paths {
			if t, err := readHeader(path); err == nil {
				longest = max(longest, t.draws)
			}
		}
	}
	return longest
}

// Field returns the value of the field `key` of Options.Meta with which the study in dir
// was begun, or "" if there is no such study or field.
func Field(dir, key string) string {
	for _, suffix := range []string{".csv", ".csv" + partSuffix} {
		paths, _ := chainFiles(dir, suffix)
		for _, path := range paths {
			if t, err := readHeader(path); err == nil {
				value, _ := lookup(t.header, key)
				return value
			}
		}
	}
	return ""
}

// Merge copies the chains of one run from several directories to dst, for example if
// each chain ran on a different machine. Merge copies the files of draws unchanged.
// Merge also copies the state files, which Run needs to extend the study. Merge creates
// dst if necessary. Chains that are already in dst count as part of the run. Merge
// returns an error and copies nothing if a chain is missing, if a file is damaged, or if
// the files are not from the same run.
func Merge(dst string, src ...string) error {
	dirs := slices.Clone(src)
	if _, err := os.Stat(dst); err == nil {
		dirs = append([]string{dst}, dirs...)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("store: %w", err)
	}
	s := set{where: strings.Join(dirs, ", ")}
	for _, dir := range dirs {
		if err := s.addAll(dir, nil); err != nil {
			return err
		}
	}
	if err := s.complete(); err != nil {
		return err
	}
	for _, path := range s.paths {
		if _, err := readState(statePath(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := atomicfile.MkdirAll(dst); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	for k, path := range s.paths {
		if filepath.Dir(path) == filepath.Clean(dst) {
			continue
		}
		// The state is copied before the draws. If the copying is interrupted after the
		// state has been written, dst contains a state but no draws, which is harmless.
		err := copyFile(statePath(chainPath(dst, k)), statePath(path))
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			err = copyFile(chainPath(dst, k), path)
		}
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
	}
	return nil
}

func copyFile(dst, src string) error {
	in, err := plainfile.OpenUnlinked(src)
	if err != nil {
		return err
	}
	defer in.Close()
	return atomicfile.Replace(dst, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}
