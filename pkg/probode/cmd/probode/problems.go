package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/probode/probode/pkg/internal/text"
	modelfile "github.com/probode/probode/pkg/probode/model"
)

// problemsBelow returns the YAML files in a folder or, if it has none, in its folders. It
// returns nil for the folder of a single problem.
func problemsBelow(dir string) (files []string, err error) {
	if info, err := os.Stat(dir); dir == "" || err != nil || !info.IsDir() {
		return nil, nil // load will say why
	}
	own, err := modelfile.Problems(dir)
	switch {
	case err != nil || len(own) == 1:
		return nil, err
	case own != nil:
		return own, nil
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		full := filepath.Join(dir, e.Name())
		if info, err := os.Stat(full); err != nil || !info.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		in, err := modelfile.Problems(full)
		if err != nil {
			return nil, fmt.Errorf("%s: cannot be read: %w", text.Clip(full), reason(err))
		}
		files = append(files, in...)
	}
	return files, err
}

// longest is the longest time for a problem of a folder.
const longest = time.Minute

func problemTable(ctx context.Context, files []string, outside bool, out io.Writer) error {
	rows := [][]string{{"problem", "states", "estimated", "conditions", "points", "log-likelihood", "error", "seconds", "refused"}}
	show, loaded, computed := display("problems"), 0, 0
	for i, f := range files {
		row, ok := tryProblem(ctx, f, outside)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if row[1] != "" {
			loaded++
		}
		if ok {
			computed++
		}
		rows = append(rows, row)
		show(i+1, len(files), "")
	}
	fmt.Fprint(out, text.Table(rows, func(c int) bool { return c == 0 || c == 8 }))
	_, err := fmt.Fprintf(out, "\n%d of %d problems could be read, and the log-likelihood was computed for %d\n", loaded, len(files), computed)
	return err
}

func tryProblem(ctx context.Context, file string, outside bool) (row []string, ok bool) {
	name := filepath.Base(filepath.Dir(file))
	if base := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)); base != name && base != "problem" {
		name += "/" + base
	}
	row = make([]string, 9)
	row[0] = text.Clip(name)
	begin := time.Now()
	refused := func(err error) ([]string, bool) {
		row[7], row[8] = fmt.Sprintf("%.2f", time.Since(begin).Seconds()), text.Printable(err.Error())
		return row, false
	}
	p, err := loadFile(file, outside)
	if err != nil {
		return refused(err)
	}
	list, err := p.Instances()
	if err != nil {
		return refused(err)
	}
	states := 0
	for _, m := range p.Models {
		states = max(states, len(m.States))
	}
	free, points := p.Size()
	for i, n := range []int{states, free, len(list), points} {
		row[1+i] = strconv.Itoa(n)
	}
	l, err := p.LogLikelihood(modelfile.LikelihoodSettings{})
	if err != nil {
		return refused(err)
	}
	within, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("the log-likelihood took longer than %v", longest))
	defer cancel()
	v, err := l.At(within, p.Nominal(), false)
	if err != nil {
		if within.Err() != nil {
			err = context.Cause(within)
		}
		return refused(err)
	}
	row[5], row[6], row[7] = fmt.Sprintf("%.8f", v.LogLikelihood), fmt.Sprintf("%.0e", math.Max(v.Error, 1e-12)), fmt.Sprintf("%.2f", time.Since(begin).Seconds())
	return row, true
}
