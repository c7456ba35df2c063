package store

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/probode/probode/internal/plainfile"
	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// The names of the columns that Stan, R's posterior, ArviZ and pyPESTO write.
var (
	logPosteriors = []string{"lp__", "lp", "log_posterior"}
	chainNumbers  = []string{".chain", "chain", "chain__"}
)

// ReadCSV reads draws that another program wrote: tables with a header row, a column for each
// of the parameters in names, and a row for each draw. Lines that begin with # are comments, so
// the files of CmdStan can be read as they are.
//
// Each file is a chain, unless a column called .chain, chain or chain__ says to which chain a
// row belongs. A column belongs to a parameter if the two names differ only in the way in which
// indices are written: beta[1,2] and beta.1.2 are the same. The map renamed gives the parameter
// for columns with other names.
//
// Quantities holds lp__, if there is a column called lp__, lp or log_posterior. If there is a
// column called weight or log_weight, LogWeights holds the weights.
//
// Notes says which columns were not used, but for those of the sampler, whose names end in __. Rows with a parameter that is not finite, and the
// ends of chains that are longer than the shortest, are left out, and Notes says how many. An
// error names a parameter without a column, a cell that is not a number, or its file.
func ReadCSV(paths, names []string, renamed map[string]string) (*mcmc.Chains, error) {
	r := &foreignDraws{names: names, renamed: renamed, index: map[string]int{}}
	for i, path := range paths {
		if err := r.file(path, i); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return r.chains()
}

// foreignDraws collects the draws of the tables.
type foreignDraws struct {
	names   []string
	renamed map[string]string
	index   map[string]int // of the chains, by name
	draws   [][][]float64
	logPost [][][]float64
	weights [][]float64
	header  []string // of the first table
	unused  []string
	bad     int // rows that are not finite
}

// A foreignTable says what the columns of a table hold.
type foreignTable struct {
	param          []int // column of each parameter
	logPost, chain int   // −1 without such a column
	weight         int
	isLog          bool // the weights are logarithms
}

func (r *foreignDraws) file(path string, number int) error {
	f, err := plainfile.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := csv.NewReader(bufio.NewReaderSize(f, 1<<16))
	in.Comment, in.ReuseRecord, in.TrimLeadingSpace = '#', true, true
	row, err := in.Read()
	if err == io.EOF {
		return errors.New("it is empty: want a header row with the names of the columns")
	}
	if err != nil {
		return err
	}
	if r.header == nil {
		r.header = slices.Clone(row)
	} else if !slices.Equal(r.header, row) {
		return errors.New("its columns differ from those of the first file")
	}
	t, err := r.columns(r.header)
	if err != nil {
		return err
	}
	for {
		row, err := in.Read()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = r.row(row, t, number)
		}
		if err != nil {
			line, _ := in.FieldPos(0)
			if parse := new(csv.ParseError); errors.As(err, &parse) {
				return err // it names the line
			}
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// canonical returns the name of a column with indices in the form of a.1.2.
func canonical(name string) string {
	if base, indices, ok := strings.Cut(strings.TrimSuffix(name, "]"), "["); ok && strings.HasSuffix(name, "]") {
		return base + "." + strings.ReplaceAll(strings.ReplaceAll(indices, " ", ""), ",", ".")
	}
	return name
}

func (r *foreignDraws) columns(header []string) (foreignTable, error) {
	t := foreignTable{weight: -1}
	used := make([]bool, len(header))
	find := func(names ...string) int {
		for _, name := range names {
			if i := slices.Index(header, name); i >= 0 && !used[i] {
				used[i] = true
				return i
			}
		}
		return -1
	}
	for _, from := range slices.Sorted(maps.Keys(r.renamed)) {
		if !slices.Contains(header, from) {
			return t, fmt.Errorf("there is no column %s to rename: its columns are %s", from, text.List(header))
		}
		if to := r.renamed[from]; !slices.Contains(r.names, to) {
			return t, fmt.Errorf("%s is not a parameter: want one of %s", to, text.List(r.names))
		}
	}
	for _, name := range r.names {
		at := -1
		for i, column := range header {
			given, is := r.renamed[column]
			if used[i] || is && given != name || !is && canonical(column) != canonical(name) {
				continue
			}
			if at >= 0 {
				return t, fmt.Errorf("the columns %s and %s are both %s", header[at], column, name)
			}
			at = i
		}
		if at < 0 {
			return t, fmt.Errorf("there is no column for %s: its columns are %s", name, text.List(header))
		}
		used[at] = true
		t.param = append(t.param, at)
	}
	t.logPost, t.chain = find(logPosteriors...), find(chainNumbers...)
	if t.weight = find("log_weight"); t.weight >= 0 {
		t.isLog = true
	} else {
		t.weight = find("weight")
	}
	r.unused = nil
	for i, name := range header {
		if !used[i] && !strings.HasSuffix(name, "__") { // Stan's own
			r.unused = append(r.unused, name)
		}
	}
	return t, nil
}

func (r *foreignDraws) row(row []string, t foreignTable, number int) error {
	parse := func(i int) (float64, error) {
		v, err := strconv.ParseFloat(row[i], 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return 0, fmt.Errorf("%s is %q: want a number", r.header[i], text.Clip(row[i]))
		}
		return v, nil
	}
	theta := make([]float64, len(t.param))
	finite := true
	for k, i := range t.param {
		v, err := parse(i)
		if err != nil {
			return err
		}
		theta[k] = v
		finite = finite && !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	var logPost, weight float64
	var err error
	if t.logPost >= 0 {
		if logPost, err = parse(t.logPost); err != nil {
			return err
		}
	}
	if t.weight >= 0 {
		if weight, err = parse(t.weight); err != nil {
			return err
		}
		if !t.isLog {
			if weight < 0 {
				return fmt.Errorf("%s is %v: want a number ≥ 0", r.header[t.weight], weight)
			}
			weight = math.Log(weight)
		}
		if math.IsNaN(weight) || math.IsInf(weight, 1) {
			return fmt.Errorf("%s is %q: want a finite number", r.header[t.weight], text.Clip(row[t.weight]))
		}
	}
	if !finite {
		r.bad++
		return nil
	}
	key := fmt.Sprint(number)
	if t.chain >= 0 {
		key += " " + row[t.chain]
	}
	c, known := r.index[key]
	if !known {
		c = len(r.draws)
		if c == mcmc.MaxChains {
			return fmt.Errorf("the draws have more than %d chains", mcmc.MaxChains)
		}
		r.index[key] = c
		r.draws, r.logPost, r.weights = append(r.draws, nil), append(r.logPost, nil), append(r.weights, nil)
	}
	r.draws[c] = append(r.draws[c], theta)
	if t.logPost >= 0 {
		r.logPost[c] = append(r.logPost[c], []float64{logPost})
	}
	if t.weight >= 0 {
		r.weights[c] = append(r.weights[c], weight)
	}
	return nil
}

func (r *foreignDraws) chains() (*mcmc.Chains, error) {
	if len(r.draws) == 0 {
		return nil, errors.New("there are no draws")
	}
	out := &mcmc.Chains{Names: slices.Clone(r.names)}
	least, total := len(r.draws[0]), 0
	for _, c := range r.draws {
		least, total = min(least, len(c)), total+len(c)
	}
	for i, c := range r.draws {
		out.Draws = append(out.Draws, c[:least])
		if r.logPost[i] != nil {
			out.Quantities, out.Generated = []string{"lp__"}, append(out.Generated, r.logPost[i][:least])
		}
		if r.weights[i] != nil {
			out.LogWeights = append(out.LogWeights, r.weights[i][:least])
		}
	}
	note := func(format string, a ...any) { out.Notes = append(out.Notes, fmt.Sprintf(format, a...)) }
	if r.unused != nil {
		note("columns that are not used: %s", text.List(r.unused))
	}
	if r.bad > 0 {
		note("warning: %d of %d rows are left out, because a parameter is not finite", r.bad, r.bad+total)
	}
	if cut := total - least*len(r.draws); cut > 0 {
		note("warning: %d of %d rows are left out, because the shortest chain has %d", cut, total, least)
	}
	return out, nil
}
