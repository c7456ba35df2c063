package mcmc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/probode/probode/pkg/probode"
)

// The draws of a chain are kept in a file of comma-separated values such as
// CmdStan writes, which ArviZ, pandas and R read as it is:
//
//	# format = probode-draws-1
//	# model = FitzHugh–Nagumo        what the caller has to say, Settings.Meta
//	# seed = 1
//	# start = 6f2c8a914be03d57       a hash of where chain 1 would begin
//	# chain = 1                      counted from 1 in files
//	# num_chains = 4
//	# num_samples = 5000             iterations after burn-in
//	# num_warmup = 1000              iterations of burn-in
//	# thin = 5                       so that there are 5000/5 draws
//	# probode = v1.4.0               versions, and the processor's kind
//	# go = go1.26.0
//	# arch = amd64
//	# num_stats = 1                  the columns come in this order:
//	# num_params = 2                 quantities in …__, parameters, quantities
//	# name.3 = "log σ, β"            the name of a column that is called otherwise
//	lp__,theta,log_σ__β,y_hat.1,y_hat.2
//	-3.25,0.5,1e-07,2,NaN            a draw, numbers in their shortest exact form
//	…
//	# warmup_proposed = 1000         counts of the iterations of burn-in
//	# …
//	# proposed = 5000                and of those after it
//	# …
//	# checksum = 9f0c8a7d6e5b4c3d    CRC-64/ECMA of all bytes before this line
//
// Nothing in it depends on time, place or the other chains.

const (
	formatPrefix  = "probode-draws-"
	formatVersion = 1
)

var crcTable = crc64.MakeTable(crc64.ECMA)

// A Field is something to be known of a run, under a name: the model, the method,
// a setting. In a file of draws it is a comment line, # key = value, and ArviZ
// has it among the attributes of the data. A key consists of letters, digits and
// _, and is none of those that Stream writes itself; a value is one line. The
// key "note", which may come more than once, is for whole sentences: Read gives
// them back as Chains.Notes.
type Field struct{ Key, Value string }

// fields returns what is said at the top of the file of a chain.
func (s *Settings) fields(chain int) []Field {
	number := func(key string, v int) Field { return Field{key, strconv.Itoa(v)} }
	out := []Field{{"format", formatPrefix + strconv.Itoa(formatVersion)}}
	out = append(out, s.Meta...)
	return append(out,
		Field{"seed", strconv.FormatUint(s.Seed, 10)},
		Field{"start", s.begins},
		number("chain", chain+1),
		number("num_chains", s.Chains),
		number("num_samples", s.Draws*s.Thin),
		number("num_warmup", s.BurnIn),
		number("thin", s.Thin),
		Field{"probode", probode.Version()},
		Field{"go", strings.ReplaceAll(runtime.Version(), " ", "_")},
		Field{"arch", runtime.GOARCH},
	)
}

// beginning returns a hash of the point where Start has the first chain begin: two
// runs that begin in other places are not the same.
func (s *Settings) beginning() string {
	a := NewArchive(nil)
	a.Floats(s.Start(0, rand.New(stream(s.Seed, 0))))
	return fmt.Sprintf("%016x", crc64.Checksum(a.Bytes(), crcTable))
}

// ownKeys are those that Meta may not use: what this file writes, and what ArviZ
// takes for a description of the rows.
var ownKeys = strings.Fields(`format seed start chain num_chains num_samples num_warmup thin probode go arch
	num_stats num_params checksum save_warmup stan_version`)

// checkMeta tells what is wrong with the caller's fields.
func checkMeta(meta []Field) error {
	for i, f := range meta {
		letters := f.Key != "" && strings.IndexFunc(f.Key, func(r rune) bool {
			return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}) < 0
		switch {
		case !letters:
			return fmt.Errorf("mcmc: key %q in Settings.Meta: want letters, digits and _ only", f.Key)
		case slices.Contains(ownKeys, f.Key) || strings.HasPrefix(f.Key, "stan_version"):
			return fmt.Errorf("mcmc: key %q in Settings.Meta has a meaning of its own: want another one", f.Key)
		case f.Key != "note" && slices.ContainsFunc(meta[:i], func(g Field) bool { return g.Key == f.Key }):
			return fmt.Errorf("mcmc: key %q is twice in Settings.Meta", f.Key)
		case !utf8.ValidString(f.Value):
			return fmt.Errorf("mcmc: value %q of %s in Settings.Meta: want valid UTF-8", f.Value, f.Key)
		case strings.ContainsAny(f.Value, "\n\r") || f.Value != strings.TrimSpace(f.Value):
			return fmt.Errorf("mcmc: value %q of %s in Settings.Meta: want one line without blanks at its ends", f.Value, f.Key)
		}
	}
	return nil
}

// A layout says which column of a file holds what.
type layout struct {
	fields  []Field
	columns []string
	// front and back are the quantities that stand in front of the
	// parameters and behind them.
	front, back []int
}

// newLayout finds names for the columns. Quantities whose names end in __ come
// first, as with CmdStan: ArviZ puts them among the sample statistics.
func newLayout(names, quantities []string) (*layout, error) {
	var l layout
	for i, name := range quantities {
		if strings.HasSuffix(name, "__") {
			l.front = append(l.front, i)
		} else {
			l.back = append(l.back, i)
		}
	}
	var all []string
	for _, i := range l.front {
		all = append(all, quantities[i])
	}
	all = append(all, names...)
	for _, i := range l.back {
		all = append(all, quantities[i])
	}
	l.fields = []Field{{"num_stats", strconv.Itoa(len(l.front))}, {"num_params", strconv.Itoa(len(names))}}
	l.columns = columnNames(all, len(l.front), len(l.front)+len(names))
	for k, name := range l.columns {
		if j := slices.Index(l.columns[:k], name); j >= 0 {
			return nil, fmt.Errorf("mcmc: %q and %q would both be called %q in a file: want names that differ in letters and digits", all[j], all[k], name)
		}
		if name != all[k] {
			l.fields = append(l.fields, Field{fmt.Sprintf("name.%d", k+1), strconv.Quote(all[k])})
		}
	}
	return &l, nil
}

// columnNames makes names that can be the header of a file: letters of any script
// stay, but what separates, quotes or comments in a file or divides a path in the
// formats that ArviZ saves to becomes _. A dot is for ArviZ what stands before an
// index: where names make up an array in full, as y.1, y.2 and y.3, or a.1.1 and
// a.1.2, they stay; other dots become _ too. Those from, …, to−1 are parameters.
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
		case k >= from && k < to && strings.HasSuffix(name, "__"):
			name = strings.TrimRight(name, "_") + "_" // no sample statistic
		case name == "" || name == "chain" || name == "draw":
			name += "_" // ArviZ has its own of these
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
	}
	return out
}

// appendFields writes comment lines.
func appendFields(buf []byte, fields []Field) []byte {
	for _, f := range fields {
		buf = fmt.Appendf(buf, "# %s = %s\n", f.Key, f.Value)
	}
	return buf
}

// appendHeader writes all that comes before the draws.
func (l *layout) appendHeader(buf []byte, fields []Field) []byte {
	buf = appendFields(appendFields(buf, fields), l.fields)
	buf = append(buf, strings.Join(l.columns, ",")...)
	return append(buf, '\n')
}

// appendRow writes a draw.
func (l *layout) appendRow(buf []byte, x, generated []float64) []byte {
	number := func(v float64) {
		buf = strconv.AppendFloat(buf, v, 'g', -1, 64)
		buf = append(buf, ',')
	}
	for _, i := range l.front {
		number(generated[i])
	}
	for _, v := range x {
		number(v)
	}
	for _, i := range l.back {
		number(generated[i])
	}
	buf[len(buf)-1] = '\n'
	return buf
}

// counts names the counts of a chain in the order of the file.
func counts(burnIn, stats *Stats) (keys []string, values []*int) {
	for i, s := range []*Stats{burnIn, stats} {
		for j, m := range []*Moves{&s.Moves, &s.Latent} {
			prefix := []string{"warmup_", ""}[i] + []string{"", "latent_"}[j]
			keys = append(keys, prefix+"proposed", prefix+"accepted", prefix+"failed")
			values = append(values, &m.Proposed, &m.Accepted, &m.Failed)
		}
	}
	return keys, values
}

// A table is what a file of draws says about itself.
type table struct {
	header  []Field
	columns []string
	rows    int
	trailer []Field
	size    int64  // bytes read
	crc     uint64 // of these, up to the line of the checksum
	sealed  bool   // there is such a line
	sum     uint64 // which says this

	chain, chains, draws, stats, params int
	burnIn, after                       Stats
	names                               []string // of the columns, as the caller had them
}

// get returns the value of a field in the header, "" if there is none.
func (t *table) get(key string) string {
	for _, f := range t.header {
		if f.Key == key {
			return f.Value
		}
	}
	return ""
}

// scan reads a file of draws, or as much of it as there is. Each draw is passed
// to row, if that is not nil, in the form of the file. With an error comes what
// was read before it.
func scan(in io.Reader, row func(t *table, line []byte) error) (*table, error) {
	t := new(table)
	r := bufio.NewReaderSize(in, 1<<16)
	var line []byte
	for {
		line = line[:0]
		var err error
		for more := true; more; {
			var part []byte
			part, err = r.ReadSlice('\n')
			line = append(line, part...)
			more = errors.Is(err, bufio.ErrBufferFull)
		}
		if err != nil && err != io.EOF {
			return t, err
		}
		t.size += int64(len(line))
		whole := err == nil
		text, comment := bytes.CutPrefix(bytes.TrimSuffix(line, []byte("\n")), []byte("# "))
		if sum, ok := bytes.CutPrefix(text, []byte("checksum = ")); ok && comment && whole {
			if t.sealed {
				return t, errors.New("two checksums")
			}
			t.sealed = true
			if t.sum, err = strconv.ParseUint(string(sum), 16, 64); err != nil || len(sum) != 16 {
				return t, fmt.Errorf("checksum %q", sum)
			}
			continue
		}
		if t.sealed && len(line) > 0 {
			return t, errors.New("something follows the checksum")
		}
		t.crc = crc64.Update(t.crc, crcTable, line)
		if !whole { // the end, or a line that was not written to its end
			return t, nil
		}
		if comment {
			key, value, ok := strings.Cut(string(text), " = ")
			if !ok {
				return t, fmt.Errorf("comment %q, want key = value", text)
			}
			if t.columns == nil {
				t.header = append(t.header, Field{key, value})
			} else {
				t.trailer = append(t.trailer, Field{key, value})
			}
			if len(t.header) == 1 && t.columns == nil {
				if err := checkFormat(key, value); err != nil {
					return t, err
				}
			}
			continue
		}
		if t.columns == nil {
			t.columns = strings.Split(string(text), ",")
			if err := t.interpret(); err != nil {
				return t, err
			}
			continue
		}
		t.rows++
		if row != nil {
			if err := row(t, text); err != nil {
				return t, fmt.Errorf("draw %d: %w", t.rows, err)
			}
		}
	}
}

func checkFormat(key, value string) error {
	v, ok := strings.CutPrefix(value, formatPrefix)
	n, err := strconv.Atoi(v)
	if key != "format" || !ok || err != nil {
		return fmt.Errorf("first line %q, want format = %s%d", key+" = "+value, formatPrefix, formatVersion)
	}
	if n != formatVersion {
		return fmt.Errorf("format version %d, this program knows %d", n, formatVersion)
	}
	return nil
}

// interpret takes the numbers out of the header.
func (t *table) interpret() error {
	if len(t.header) == 0 {
		return fmt.Errorf("no header, want format = %s%d in the first line", formatPrefix, formatVersion)
	}
	var samples, thin int
	for _, n := range []struct {
		key   string
		least int
		v     *int
	}{
		{"chain", 1, &t.chain}, {"num_chains", 1, &t.chains}, {"num_samples", 0, &samples}, {"thin", 1, &thin},
		{"num_stats", 0, &t.stats}, {"num_params", 0, &t.params},
	} {
		var err error
		if *n.v, err = strconv.Atoi(t.get(n.key)); err != nil || *n.v < n.least {
			return fmt.Errorf("%s is %q, want a number ≥ %d", n.key, t.get(n.key), n.least)
		}
	}
	if t.chains > MaxChains {
		return fmt.Errorf("num_chains is %d, want at most %d", t.chains, MaxChains)
	}
	t.draws = samples / thin
	if t.stats+t.params > len(t.columns) {
		return fmt.Errorf("%d columns, want at least %d", len(t.columns), t.stats+t.params)
	}
	t.names = slices.Clone(t.columns)
	for _, f := range t.header {
		if k, ok := strings.CutPrefix(f.Key, "name."); ok {
			i, err := strconv.Atoi(k)
			name, bad := strconv.Unquote(f.Value)
			if err != nil || bad != nil || i < 1 || i > len(t.names) {
				return fmt.Errorf("%s = %s, want the number of a column and its quoted name", f.Key, f.Value)
			}
			t.names[i-1] = name
		}
	}
	return nil
}

// check tells why a file is not a whole one.
func (t *table) check() error {
	switch {
	case t.columns == nil || !t.sealed:
		return errors.New("it ends too early")
	case t.sum != t.crc:
		return fmt.Errorf("its checksum is %016x and should be %016x", t.crc, t.sum)
	case t.rows != t.draws:
		return fmt.Errorf("%d draws, want %d", t.rows, t.draws)
	}
	keys, values := counts(&t.burnIn, &t.after)
	for i, key := range keys {
		at := slices.IndexFunc(t.trailer, func(f Field) bool { return f.Key == key })
		if at < 0 {
			return fmt.Errorf("no %s", key)
		}
		var err error
		if *values[i], err = strconv.Atoi(t.trailer[at].Value); err != nil {
			return fmt.Errorf("%s = %q, want a number", key, t.trailer[at].Value)
		}
	}
	return nil
}

// parse appends the numbers of a draw to dst.
func (t *table) parse(dst []float64, line []byte) ([]float64, error) {
	n := 0
	for rest, more := line, true; more; n++ {
		var cell []byte
		cell, rest, more = bytes.Cut(rest, []byte(","))
		v, err := strconv.ParseFloat(string(cell), 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number", cell)
		}
		dst = append(dst, v)
	}
	if n != len(t.columns) {
		return nil, fmt.Errorf("%d numbers, want %d", n, len(t.columns))
	}
	return dst, nil
}

// readWhole reads the file of a finished chain and checks it.
func readWhole(path string, row func(t *table, line []byte) error) (*table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("mcmc: %w", err)
	}
	defer f.Close()
	t, err := scan(f, row)
	if err == nil {
		err = t.check()
	}
	if err != nil {
		return nil, fmt.Errorf("mcmc: %s cannot be used: %w", path, err)
	}
	return t, nil
}

// difference names the first setting, the number of the chain aside, in which two
// headers differ. Columns that are not known, nil, are not compared.
func difference(a, b []Field, aColumns, bColumns []string) (key, va, vb string) {
	const none = "nothing"
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return b[i].Key, none, b[i].Value
		case i >= len(b):
			return a[i].Key, a[i].Value, none
		case a[i].Key != b[i].Key:
			if !slices.ContainsFunc(b, func(f Field) bool { return f.Key == a[i].Key }) {
				return a[i].Key, a[i].Value, none
			}
			if !slices.ContainsFunc(a, func(f Field) bool { return f.Key == b[i].Key }) {
				return b[i].Key, none, b[i].Value
			}
			return "order of settings", a[i].Key, b[i].Key
		case a[i].Key != "chain" && a[i].Value != b[i].Value:
			return a[i].Key, a[i].Value, b[i].Value
		}
	}
	if aColumns != nil && bColumns != nil {
		for i := range max(len(aColumns), len(bColumns)) {
			va, vb = none, none
			if i < len(aColumns) {
				va = aColumns[i]
			}
			if i < len(bColumns) {
				vb = bColumns[i]
			}
			if va != vb {
				return fmt.Sprintf("column %d", i+1), va, vb
			}
		}
	}
	return "", "", ""
}

// chainPath returns the path of the file of a chain, counted from 0.
func chainPath(dir string, chain int) string {
	return filepath.Join(dir, fmt.Sprintf("chain-%d.csv", chain+1))
}

// chainFiles returns the paths of the chain files in dir that end in suffix,
// ordered by chain.
func chainFiles(dir, suffix string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("mcmc: %w", err)
	}
	var chains []int
	for _, e := range entries {
		n, ok := strings.CutPrefix(strings.TrimSuffix(e.Name(), suffix), "chain-")
		if k, err := strconv.Atoi(n); ok && err == nil && k > 0 && chainPath("", k-1)+strings.TrimPrefix(suffix, ".csv") == e.Name() {
			chains = append(chains, k-1)
		}
	}
	slices.Sort(chains)
	for _, k := range chains {
		paths = append(paths, chainPath(dir, k)+strings.TrimPrefix(suffix, ".csv"))
	}
	return paths, nil
}

// A set gathers the files of the chains of one run.
type set struct {
	where     string // named in errors
	first     *table // the one added first, by which the others are judged
	firstPath string
	chains    []*table
	paths     []string
}

func (s *set) add(path string, t *table) error {
	if s.first == nil {
		s.first, s.firstPath = t, path
		s.chains, s.paths = make([]*table, t.chains), make([]string, t.chains)
	}
	if key, a, b := difference(s.first.header, t.header, s.first.columns, t.columns); key != "" {
		return fmt.Errorf("mcmc: %s and %s are not of one run: %s is %s in the first and %s in the second", s.firstPath, path, key, a, b)
	}
	k := t.chain - 1
	if k >= t.chains || filepath.Base(path) != chainPath("", k) {
		return fmt.Errorf("mcmc: %s holds chain %d of %d: want the file under the name of its chain", path, t.chain, t.chains)
	}
	if old := s.chains[k]; old != nil && (old.sum != t.sum || old.size != t.size) {
		return fmt.Errorf("mcmc: %s and %s are the same chain with other draws", s.paths[k], path)
	}
	if s.chains[k] == nil {
		s.chains[k], s.paths[k] = t, path
	}
	return nil
}

// complete tells which chains are missing.
func (s *set) complete(unfinished []string) error {
	if s.first == nil && len(unfinished) == 0 {
		return fmt.Errorf("mcmc: no chain-1.csv, chain-2.csv, … in %s", s.where)
	}
	if s.first == nil {
		return fmt.Errorf("mcmc: no chain in %s is finished", s.where)
	}
	var missing []string
	for k, t := range s.chains {
		if t == nil {
			name := chainPath("", k)
			if slices.ContainsFunc(unfinished, func(p string) bool { return filepath.Base(p) == name+partSuffix }) {
				name += " (not finished)"
			}
			missing = append(missing, name)
		}
	}
	if missing != nil {
		return fmt.Errorf("mcmc: %s lacks %d of %d chains: %s", s.where, len(missing), len(s.chains), strings.Join(missing, ", "))
	}
	return nil
}

// Read reads the draws that Stream has written to dir. It is an error, and there
// are no draws, if a chain is missing or not finished, if a file is damaged, or if
// the files are not of one run.
//
// Names are those that the caller of Stream gave; quantities whose names end in
// __ come first. Meta is Settings.Meta but for its notes, which are in Notes with
// what the kernels had to tell, see Noter.
func Read(dir string) (*Chains, error) {
	paths, err := chainFiles(dir, ".csv")
	if err != nil {
		return nil, err
	}
	unfinished, err := chainFiles(dir, ".csv"+partSuffix)
	if err != nil {
		return nil, err
	}
	s := set{where: dir}
	numbers := make([][]float64, len(paths))
	for k, path := range paths {
		t, err := readWhole(path, func(t *table, line []byte) (err error) {
			numbers[k], err = t.parse(numbers[k], line)
			return err
		})
		if err == nil {
			err = s.add(path, t)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := s.complete(unfinished); err != nil {
		return nil, err
	}

	// The files are in the order of the chains and there is one for each.
	t := s.chains[0]
	from, to := t.stats, t.stats+t.params
	out := &Chains{Names: t.names[from:to:to]}
	if quantities := slices.Concat(t.names[:from], t.names[to:]); len(quantities) > 0 {
		out.Quantities = quantities
	}
	for k, c := range s.chains {
		var draws, generated [][]float64
		for row := range slices.Chunk(numbers[k], len(t.columns)) {
			if out.Quantities != nil {
				generated = append(generated, slices.Concat(row[:from], row[to:]))
			}
			draws = append(draws, row[from:to:to])
		}
		out.Draws = append(out.Draws, draws)
		if out.Quantities != nil {
			out.Generated = append(out.Generated, generated)
		}
		out.BurnIn = append(out.BurnIn, c.burnIn)
		out.Stats = append(out.Stats, c.after)
	}
	for _, f := range t.header[1:] {
		if f.Key == "seed" { // the first that is not of Meta
			break
		}
		if f.Key == "note" {
			out.Notes = append(out.Notes, f.Value)
		} else {
			out.Meta = append(out.Meta, f)
		}
	}
	for k, c := range s.chains {
		for _, f := range c.trailer {
			if f.Key == "note" {
				out.Notes = append(out.Notes, fmt.Sprintf("chain %d: %s", k+1, f.Value))
			}
		}
	}
	return out, nil
}

// Merge gathers in dst the chains of one run that Stream has written to several
// directories, as when every chain ran on a machine of its own. The files are
// copied as they are; dst is made if need be, and chains that it has already
// count as well. It is an error, and nothing is copied, if a chain is missing, if
// a file is damaged, or if the files are not of one run.
func Merge(dst string, src ...string) error {
	dirs := slices.Clone(src)
	if _, err := os.Stat(dst); err == nil {
		dirs = append([]string{dst}, dirs...)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("mcmc: %w", err)
	}
	s := set{where: strings.Join(dirs, ", ")}
	var unfinished []string
	for _, dir := range dirs {
		paths, err := chainFiles(dir, ".csv")
		if err != nil {
			return err
		}
		for _, path := range paths {
			t, err := readWhole(path, nil)
			if err == nil {
				err = s.add(path, t)
			}
			if err != nil {
				return err
			}
		}
		more, err := chainFiles(dir, ".csv"+partSuffix)
		if err != nil {
			return err
		}
		unfinished = append(unfinished, more...)
	}
	if err := s.complete(unfinished); err != nil {
		return err
	}
	if err := os.MkdirAll(dst, 0o755); err != nil {
		return fmt.Errorf("mcmc: %w", err)
	}
	for k, path := range s.paths {
		if filepath.Dir(path) == filepath.Clean(dst) {
			continue
		}
		if err := copyFile(chainPath(dst, k), path); err != nil {
			return fmt.Errorf("mcmc: %w", err)
		}
	}
	return nil
}

func copyFile(dst, src string) error {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	// A name of its own, for others may be gathering the same files.
	tmp, err := os.CreateTemp(filepath.Dir(dst), filepath.Base(dst)+tmpSuffix)
	if err != nil {
		return err
	}
	if err := tmp.Chmod(0o644); err != nil {
		return err
	}
	return replace(dst, tmp, func() error {
		_, err := io.Copy(tmp, in)
		return err
	})
}

// replace writes the file tmp and gives it the name path, so that there is either
// the old file or the new one under that name, whatever happens.
func replace(path string, tmp *os.File, write func() error) error {
	err := write()
	if err == nil {
		err = tmp.Sync()
	}
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes what has been renamed in a directory outlast a loss of power.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
