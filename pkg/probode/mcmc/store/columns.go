package store

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/mcmc"
)

type layout struct {
	fields  []mcmc.Field
	columns []string
	names   []string // of the columns, as the caller gave them
	// The fields `front` and `back` list the quantities whose columns come before and after
	// the columns of the parameters.
	front, back []int
}

// newLayout puts quantities whose names end in __ first, as CmdStan does; ArviZ takes
// them as sample statistics.
func newLayout(names, quantities []string) (*layout, error) {
	var l layout
	for i, name := range quantities {
		if strings.HasSuffix(name, "__") {
			l.front = append(l.front, i)
		} else {
			l.back = append(l.back, i)
		}
	}
	for _, i := range l.front {
		l.names = append(l.names, quantities[i])
	}
	l.names = append(l.names, names...)
	for _, i := range l.back {
		l.names = append(l.names, quantities[i])
	}
	l.fields = []mcmc.Field{{Key: "num_stats", Value: strconv.Itoa(len(l.front))}, {Key: "num_params", Value: strconv.Itoa(len(names))}}
	l.columns = columnNames(l.names, len(l.front), len(l.front)+len(names))
	for k, name := range l.columns {
		if j := slices.Index(l.columns[:k], name); j >= 0 {
			return nil, fmt.Errorf("store: %q and %q would both be called %q in a file: want names that differ in their letters or digits", text.Clip(l.names[j]), text.Clip(l.names[k]), text.Clip(name))
		}
		if name != l.names[k] {
			l.fields = append(l.fields, mcmc.Field{Key: fmt.Sprintf("name.%d", k+1), Value: strconv.Quote(l.names[k])})
		}
	}
	return &l, nil
}

// columnNames allows letters of any alphabet. Underscores replace what a program could
// misread: spaces, unprintable characters, quotation marks, commas, #, / and \. ArviZ
// takes a number after a dot as an index, so dots stay only in names of a complete array
// such as y.1, y.2 and y.3. names[from:to] are parameters.
func columnNames(names []string, from, to int) []string {
	out := make([]string, len(names))
	type array struct {
		rank, members int
		most          []int
		seen          map[string]bool
		broken        bool
	}
	arrays := map[string]*array{}
	for k, name := range names {
		name = strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune("\",'#/\\\ufffd", r) {
				return '_'
			}
			return r
		}, name)
		switch {
		case name == "" || name == "chain" || name == "draw":
			name += "_" // ArviZ uses these names itself
		}
		out[k] = name

		parts := strings.Split(name, ".")
		a := arrays[parts[0]]
		if a == nil {
			a = &array{rank: len(parts) - 1, most: make([]int, len(parts)-1), seen: map[string]bool{}}
			arrays[parts[0]] = a
		}
		a.broken = a.broken || parts[0] == "" || len(parts)-1 != a.rank || a.seen[name]
		a.seen[name] = true
		a.members++
		for i, p := range parts[1:] {
			v, err := strconv.Atoi(p)
			if err != nil || v < 1 || strconv.Itoa(v) != p {
				a.broken = true
			}
			if !a.broken {
				a.most[i] = max(a.most[i], v)
			}
		}
	}
	for k, name := range out {
		base, _, dotted := strings.Cut(name, ".")
		a := arrays[base]
		size := 1.0
		for _, n := range a.most {
			size *= float64(n)
		}
		if dotted && (a.broken || float64(a.members) != size) {
			out[k] = strings.ReplaceAll(name, ".", "_")
		}
		if k >= from && k < to && strings.HasSuffix(out[k], "__") {
			out[k] = strings.TrimRight(out[k], "_") + "_" // or ArviZ takes it for a sample statistic
		}
	}
	return out
}
