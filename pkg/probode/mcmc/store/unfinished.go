package store

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode/mcmc"
)

// ReadSoFar does the same as Read, but the run need not be finished, and may be running.
// Of an unfinished chain, ReadSoFar reads the draws that were made before the last saved
// state. If there are such chains, all chains are cut to the length of the shortest, a
// note says so, and the counts of the kernels are zero.
func ReadSoFar(dir string) (*mcmc.Chains, error) {
	parts, err := chainFiles(dir, ".csv"+partSuffix)
	if err != nil {
		return nil, err
	}
	if parts == nil {
		return Read(dir)
	}
	whole, err := chainFiles(dir, ".csv")
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		whole = append(whole, strings.TrimSuffix(part, partSuffix))
	}
	slices.Sort(whole)
	s := set{where: dir}
	least, asked := -1, 0
	for _, path := range slices.Compact(whole) {
		t, err := readSoFar(path)
		if err != nil {
			return nil, err
		}
		asked = max(asked, t.draws)
		for i := range t.header {
			if t.header[i].Key == lengthKey {
				t.header[i].Value = "" // an extension has begun with some of the chains
			}
		}
		if err := s.add(path, t); err != nil {
			return nil, err
		}
		if n := len(t.numbers) / len(t.columns); least < 0 || n < least {
			least = n
		}
	}
	if err := s.complete(); err != nil {
		return nil, err
	}
	if least == 0 {
		return nil, fmt.Errorf("store: the chains in %s have no draws yet: want a run that has passed its burn-in", dir)
	}
	for _, t := range s.chains {
		t.numbers, t.trailer, t.burnIn, t.after = t.numbers[:least*len(t.columns)], nil, mcmc.Stats{}, mcmc.Stats{}
	}
	out := s.draws()
	out.Notes = append(out.Notes, fmt.Sprintf("the run is not finished: these are the first %d of %d draws of each chain", least, asked))
	return out, nil
}

// The function readSoFar() reads the draws of a chain from its .part file if this file
// and the saved state fit together, and otherwise from the .csv file.
func readSoFar(path string) (*table, error) {
	row := func(t *table, line []byte) (err error) {
		t.numbers, err = t.parse(t.numbers, line)
		return err
	}
	t, err := readPart(path, row)
	if err != nil && exists(path) {
		return readWhole(path, row)
	}
	return t, err
}

// The function readPart() reads the draws in a .part file that were made before the state
// was saved. The state is read first: only draws that follow those of the state change.
func readPart(path string, row func(t *table, line []byte) error) (*table, error) {
	data, err := readAll(statePath(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("store: %s has no draws yet: want a run that has passed its burn-in", path+partSuffix)
	}
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	f := &file{path: path}
	if f.state, err = decodeState(data); err != nil {
		return nil, fmt.Errorf("store: %s cannot be used: %w", statePath(path), err)
	}
	in, err := openForReading(path + partSuffix)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	t, err := f.known(in, info.Size(), row)
	if err != nil {
		return nil, fmt.Errorf("store: %s cannot be used: %w", path+partSuffix, err)
	}
	return t, nil
}
