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

type study struct {
	mcmc.Settings
	meta  []mcmc.Field
	start string // see beginning
	maker []mcmc.Field
}

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
	return append(out, s.maker...)
}

// beginning hashes the first starting point of chain 1, so that runs with other starting
// points differ.
func beginning(s mcmc.Settings) string {
	a := mcmc.NewArchive(nil)
	a.Floats(s.Start(0, mcmc.NewChain(0, s).Random()))
	return fmt.Sprintf("%016x", crc64.Checksum(a.Bytes(), crcTable))
}

// lengthKey is the only header field that extending a study changes.
const lengthKey = "num_samples"

// ownKeys must not be in Meta. save_warmup and stan_version have a meaning for ArviZ, and
// Run writes the others.
var ownKeys = strings.Fields(`format seed start chain num_chains num_samples num_warmup thin probode go arch
	num_stats num_params checksum save_warmup stan_version`)

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

func checkValue(value string) error {
	switch {
	case !utf8.ValidString(value):
		return fmt.Errorf("%q: want valid UTF-8", text.Clip(value))
	case value != strings.TrimSpace(value) || !printable(value):
		return fmt.Errorf("%q: want one line without control characters or surrounding spaces", text.Clip(value))
	}
	return nil
}
