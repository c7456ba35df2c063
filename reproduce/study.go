package main

import (
	"context"
	"fmt"
	"html"
	"strings"
	"time"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/cases"
)

type experiment struct {
	name    string
	title   string
	tables  []string // the files it writes, without .csv
	compute func(ctx context.Context, s *study) error
	section func(s *study, sec *section, tables []*table) // made from the files; fig1 draws its paths again from the seed
}

type study struct {
	seed       uint64
	quick      bool
	minPaths   int // -paths
	iterations int // -iterations
	workers    int
	out        string
	dataFile   string     // "" for the built-in data
	neuron     cases.Case // the model of Figure 2
	data       *bayes.Data
	only       []*experiment
	took       map[string]time.Duration
}

// paths is at least the flag -paths.
func (s *study) paths(full, quick int) int {
	if s.quick {
		full = quick
	}
	return max(full, s.minPaths)
}

func (s *study) dataName() string {
	if s.dataFile == "" {
		return "built-in"
	}
	return html.EscapeString(s.dataFile)
}

// flags are those that differ from the defaults, for the command that the report prints.
func (s *study) flags() string {
	var b strings.Builder
	if s.seed != 1 {
		fmt.Fprintf(&b, " -seed %d", s.seed)
	}
	if s.quick {
		b.WriteString(" -quick")
	}
	if s.dataFile != "" {
		fmt.Fprintf(&b, " -data %s", html.EscapeString(s.dataFile))
	}
	if s.minPaths > 0 {
		fmt.Fprintf(&b, " -paths %d", s.minPaths)
	}
	if s.iterations > 0 {
		fmt.Fprintf(&b, " -iterations %d", s.iterations)
	}
	return b.String()
}
