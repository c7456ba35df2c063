package store

import (
	"fmt"
	"hash/crc64"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// A study holds the settings of a run and the metadata for the headers of its files.
type study struct {
	mcmc.Settings
	meta  []mcmc.Field
	start string // see beginning
	maker maker
}

// fields returns the header fields of one chain, except those that describe the columns.
func (s *study) fields(chain int) []mcmc.Field {
	number := func(key string, v int) mcmc.Field { return mcmc.Field{Key: key, Value: strconv.Itoa(v)} }
	out := []mcmc.Field{{Key: "format", Value: formatPrefix + strconv.Itoa(formatVersion)}}
	out = append(out, s.meta...)
	out = append(out,
		mcmc.Field{Key: "seed", Value: strconv.FormatUint(s.Seed, 10)},
		mcmc.Field{Key: "start", Value: s.start},
		number("chain", chain+1),
		number("num_chains", s.Chains),
		number(lengthKey, s.Draws*s.Thin),
		number("num_warmup", s.BurnIn),
		number("thin", s.Thin),
	)
	return append(out, s.maker[:]...)
}

// beginning returns a hash of the first starting point that Start returns for chain 1.
// Files with different hashes belong to different runs, because their chains began at
// different points.
func beginning(s mcmc.Settings) string {
	a := mcmc.NewArchive(nil)
	a.Floats(s.Start(0, mcmc.NewChain(0, s).Random()))
	return fmt.Sprintf("%016x", crc64.Checksum(a.Bytes(), crcTable))
}

// lengthKey is the key of the only header field that changes if a study is extended: the
// number of iterations after burn-in.
const lengthKey = "num_samples"

// ownKeys lists the keys that Meta must not contain. Run itself writes all of these keys
// except save_warmup and stan_version, which have a meaning for ArviZ.
var ownKeys = strings.Fields(`format seed start chain num_chains num_samples num_warmup thin probode go arch rounding
	num_stats num_params checksum save_warmup stan_version`)

// checkMeta returns an error if a field of Options.Meta is not allowed.
func checkMeta(meta []mcmc.Field) error {
	for i, f := range meta {
		letters := f.Key != "" && strings.IndexFunc(f.Key, func(r rune) bool {
			return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}) < 0
		switch {
		case !letters:
			return fmt.Errorf("store: key %q in Options.Meta is not allowed: want only letters, digits and _", text.Clip(f.Key))
		case slices.Contains(ownKeys, f.Key) || strings.HasPrefix(f.Key, "stan_version"):
			return fmt.Errorf("store: key %q in Options.Meta is reserved: use another key", f.Key)
		case f.Key != "note" && slices.ContainsFunc(meta[:i], func(g mcmc.Field) bool { return g.Key == f.Key }):
			return fmt.Errorf("store: key %q occurs twice in Options.Meta", f.Key)
		}
		if err := checkValue(f.Value); err != nil {
			return fmt.Errorf("store: the value of %s in Options.Meta is %w", text.Clip(f.Key), err)
		}
	}
	return nil
}

// checkValue returns an error if a value cannot stand in one line of a header.
func checkValue(value string) error {
	switch {
	case !utf8.ValidString(value):
		return fmt.Errorf("%q: want valid UTF-8", text.Clip(value))
	case value != strings.TrimSpace(value) || !printable(value):
		return fmt.Errorf("%q: want one line without control characters or surrounding spaces", text.Clip(value))
	}
	return nil
}
