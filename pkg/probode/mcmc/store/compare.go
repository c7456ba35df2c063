package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/mcmc"
)

type mismatch struct{ key, a, b string }

// difference ignores chains and programs. The settings of the chains come first, because
// other fields may follow from them: a solver from the modes that were found with a seed.
// Notes come after all settings, and a different number of draws comes last. Columns are
// compared unless one of the lists is nil.
func difference(a, b []mcmc.Field, aColumns, bColumns []string) *mismatch {
	const none = "nothing"
	var length *mismatch
	compared := func(fields []mcmc.Field) []mcmc.Field {
		rank := func(f mcmc.Field) int {
			switch f.Key {
			case "seed", "num_chains", "num_warmup", "thin":
				return 0
			case "note":
				return 2
			}
			return 1
		}
		kept := slices.DeleteFunc(slices.Clone(fields), func(f mcmc.Field) bool { return isMaker(f.Key) || f.Key == "chain" })
		slices.SortStableFunc(kept, func(a, b mcmc.Field) int { return cmp.Compare(rank(a), rank(b)) })
		return kept
	}
	a, b = compared(a), compared(b)
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return clip(b[i].Key, none, b[i].Value)
		case i >= len(b):
			return clip(a[i].Key, a[i].Value, none)
		case a[i].Key != b[i].Key:
			if !slices.ContainsFunc(b, func(f mcmc.Field) bool { return f.Key == a[i].Key }) {
				return clip(a[i].Key, a[i].Value, none)
			}
			if !slices.ContainsFunc(a, func(f mcmc.Field) bool { return f.Key == b[i].Key }) {
				return clip(b[i].Key, none, b[i].Value)
			}
			return clip("order of settings", a[i].Key, b[i].Key)
		case a[i].Value != b[i].Value && a[i].Key == lengthKey:
			length = clip(lengthKey, a[i].Value, b[i].Value)
		case a[i].Value != b[i].Value:
			return clip(a[i].Key, a[i].Value, b[i].Value)
		}
	}
	if aColumns != nil && bColumns != nil {
		for i := range max(len(aColumns), len(bColumns)) {
			va, vb := none, none
			if i < len(aColumns) {
				va = aColumns[i]
			}
			if i < len(bColumns) {
				vb = bColumns[i]
			}
			if va != vb {
				return clip(fmt.Sprintf("column %d", i+1), va, vb)
			}
		}
	}
	return length
}

// clip shows only the text around the first difference of long values.
func clip(key, a, b string) *mismatch {
	const most, before = 80, 20
	if len(a) > most || len(b) > most {
		i := 0
		for i < len(a) && i < len(b) && a[i] == b[i] {
			i++
		}
		if i > before {
			i -= before
			for i > 0 && a[i]&0xc0 == 0x80 { // in the middle of a character
				i--
			}
			a, b = "…"+a[i:], "…"+b[i:]
		}
	}
	return &mismatch{text.Clip(key), text.Clip(a), text.Clip(b)}
}

// compare checks every chain in dir, even those that this run does not run. The files may
// have fewer draws.
func compare(dir string, files []*file, s *study, l *layout) error {
	mine := map[string]bool{}
	check := func(path string, t *table) error {
		want := s.fields(t.chain - 1)
		have, columns := t.header, t.columns
		var wantColumns []string
		if l != nil {
			want, wantColumns = append(want, l.fields...), l.columns
		} else {
			have, columns = have[:min(len(have), len(want))], nil
		}
		d := difference(have, want, columns, wantColumns)
		switch {
		case d == nil:
			return nil
		case d.key != lengthKey:
			return fmt.Errorf("store: %s was made with different settings: %s is %s in the file and %s now", path, d.key, d.a, d.b)
		case t.draws > s.Draws:
			return fmt.Errorf("store: %s has more draws than the new settings ask for (%s is %s in the file and %s now): a study can be extended, but not shortened", path, d.key, d.a, d.b)
		}
		return nil
	}
	for _, f := range files {
		path := f.path
		if !f.done {
			path = f.partPath()
		}
		if f.whole != nil {
			path = f.path
		}
		mine[path], mine[f.partPath()] = true, true
		if f.old == nil {
			continue
		}
		if f.old.chain != f.chain.Index()+1 {
			return fmt.Errorf("store: %s contains chain %d", path, f.old.chain)
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
				return fmt.Errorf("store: %s cannot be used: %w", path, err)
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
