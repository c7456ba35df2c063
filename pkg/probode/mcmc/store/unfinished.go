package store

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/probode/probode/internal/plainfile"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// ReadSoFar does the same as ReadParameters, but the run need not be finished, and may be
// running, and chains may be missing. Of an unfinished chain, ReadSoFar reads the draws
// that were made before the last saved state. It takes as many of the longest chains, cut
// to the length of the shortest of them, as give the most draws, and the counts of the
// kernels are zero. The string says how many draws these are; it is empty if the run is
// finished.
func ReadSoFar(dir string, progress func(done, total int)) (chains *mcmc.Chains, unfinished string, err error) {
	parts, err := chainFiles(dir, ".csv"+partSuffix)
	if err != nil {
		return nil, "", err
	}
	whole, err := chainFiles(dir, ".csv")
	if err != nil {
		return nil, "", err
	}
	if parts == nil {
		if chains, err := ReadParameters(dir, progress); err == nil || whole == nil {
			return chains, "", err
		}
	}
	for _, part := range parts {
		whole = append(whole, strings.TrimSuffix(part, partSuffix))
	}
	slices.Sort(whole)
	s := set{where: dir, brief: true}
	asked := 0
	for _, path := range slices.Compact(whole) {
		t, err := s.readSoFar(path)
		if errors.Is(err, errNoDraws) {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		asked = max(asked, t.draws)
		for i := range t.header {
			if t.header[i].Key == lengthKey {
				t.header[i].Value = "" // an extension has begun with some of the chains
			}
		}
		if err := s.add(path, t); err != nil {
			return nil, "", err
		}
	}
	all := len(s.chains)
	least := s.longest()
	if least == 0 {
		return nil, "", fmt.Errorf("store: the chains in %s have no draws yet: %w", dir, errNoDraws)
	}
	for _, t := range s.chains {
		t.drawn, t.trailer, t.burnIn, t.after = t.drawn[:least], nil, mcmc.Stats{}, mcmc.Stats{}
		if len(t.generated) > 0 {
			t.generated = t.generated[:least]
		}
	}
	out := s.draws()
	of := "each chain"
	if n := len(s.chains); n < all {
		of = fmt.Sprintf("%d of %d chains", n, all)
	}
	return out, fmt.Sprintf("the run is not finished: these are the first %d of %d draws of %s", least, asked, of), nil
}

// longest keeps the chains that give the most draws of equal number, in their order, and
// returns this number.
func (s *set) longest() (least int) {
	var lengths []int
	s.chains = slices.DeleteFunc(s.chains, func(t *table) bool { return t == nil })
	for _, t := range s.chains {
		lengths = append(lengths, len(t.drawn))
	}
	slices.Sort(lengths)
	most := 0
	for i, n := range lengths {
		if total := n * (len(lengths) - i); total > most {
			most, least = total, n
		}
	}
	s.chains = slices.DeleteFunc(s.chains, func(t *table) bool { return len(t.drawn) < least })
	return least
}

var errNoDraws = errors.New("want a run that has passed its burn-in")

// readSoFar takes the .part file if it fits the saved state, and else the .csv file.
func (s *set) readSoFar(path string) (*table, error) {
	t, err := readPart(path, s.keep)
	if err != nil && exists(path) {
		return readWhole(path, s.keep)
	}
	return t, err
}

// readPart reads the state first: only later draws change after that.
func readPart(path string, row func(t *table, line []byte) error) (*table, error) {
	var err error
	f := &file{path: path}
	if f.state, err = readState(statePath(path)); errors.Is(err, fs.ErrNotExist) {
		return nil, errNoDraws
	}
	if err != nil {
		return nil, err
	}
	in, err := plainfile.OpenUnlinked(path + partSuffix)
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
