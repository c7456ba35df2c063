package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/probode/probode/internal/plainfile"
	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/bayes"
	modelfile "github.com/probode/probode/pkg/probode/model"
)

const maxEnds = 256 << 20 // bytes of a file by fit -json

const mostEnds = 8

// starts returns the best points of a file by fit -json, the nominal point, or nil for ""
// and "prior".
func (m *model) starts(start string) (from [][]float64, err error) {
	if start == "" || start == "prior" {
		return nil, nil
	}
	if m.loaded == nil {
		return nil, errors.New("want prior: all other values require -model")
	}
	all, err := startsOf(m.loaded, start, math.Inf(1))
	if err != nil {
		return nil, err
	}
	return m.inside(all[:min(len(all), mostEnds)])
}

func (m *model) inside(all [][]float64) (points [][]float64, err error) {
	for _, theta := range all {
		point, err := m.loaded.Start(theta)
		if err != nil {
			return nil, err
		}
		points = append(points, append(point, m.unknownAlpha...))
	}
	return points, nil
}

// undetermined returns a sentence, or "" if the file cannot be read or the data close
// every interval.
func undetermined(start string) string {
	var fit struct {
		Profiles []struct {
			Parameter string `json:"parameter"`
			LowerOpen bool   `json:"lower_open"`
			UpperOpen bool   `json:"upper_open"`
			LowerAt   []any  `json:"lower_at"`
			UpperAt   []any  `json:"upper_at"`
		} `json:"profiles"`
	}
	data, err := plainfile.Read(start, maxEnds)
	if err != nil || json.Unmarshal(data, &fit) != nil {
		return ""
	}
	var names []string
	for _, q := range fit.Profiles {
		if q.LowerOpen || q.UpperOpen || len(q.LowerAt)+len(q.UpperAt) > 0 {
			names = append(names, text.Clip(q.Parameter))
		}
	}
	if names == nil {
		return ""
	}
	return fmt.Sprintf("According to the profiles in %s, the data do not determine %s. In the directions that the data leave undetermined, the posterior depends on the prior and its bounds.\n", text.Clip(start), strings.Join(names, ", "))
}

// startsAt returns nil if there are no points, or if chains can start around the Gaussian
// approximation at the best mode.
func startsAt(from [][]float64, found *bayes.Modes) func(chain int, rng *rand.Rand) []float64 {
	if from == nil || found != nil && found.Highest().Cov != nil {
		return nil
	}
	return func(chain int, _ *rand.Rand) []float64 { return slices.Clone(from[chain%len(from)]) }
}

// best returns the points within 10 of the highest log-likelihood, which the search will
// improve, and one of those within 0.01 of each other.
func (m *model) best(name string) (points [][]float64, err error) {
	if m.loaded == nil {
		return nil, errors.New("the parameters in the file belong to a model: give the model file with -model")
	}
	all, err := pointsOf(m.loaded, name, 10, 0.01)
	if err != nil {
		return nil, err
	}
	return m.inside(all)
}

// startsOf returns the points of -start, from a fit those within `below` of the best.
func startsOf(p *modelfile.File, start string, below float64) ([][]float64, error) {
	switch start {
	case "":
		return nil, nil
	case "nominal":
		return [][]float64{p.Nominal()}, nil
	}
	return pointsOf(p, start, below, 0)
}

// pointsOf returns the points of a fit within `below` of the highest log-likelihood, and one
// of those within `apart` of each other.
func pointsOf(p *modelfile.File, file string, below, apart float64) (points [][]float64, err error) {
	ends, err := readEnds(file)
	if err != nil {
		return nil, err
	}
	last := math.Inf(1)
	for _, e := range ends {
		if e.LogLikelihood > last-apart || e.LogLikelihood < ends[0].LogLikelihood-below {
			continue
		}
		last = e.LogLikelihood
		theta, err := p.Theta(e.Parameters)
		if err != nil {
			return nil, err
		}
		points = append(points, theta)
	}
	return points, nil
}

func equal(a, b float64) bool { return math.Abs(a-b) <= 1e-3*max(math.Abs(a), math.Abs(b)) }

// readEnds returns an optimum of several searches once.
func readEnds(name string) ([]modelfile.End, error) {
	data, err := plainfile.Read(name, maxEnds)
	if err != nil {
		return nil, reason(err)
	}
	all, err := modelfile.ReadEnds(bytes.NewReader(data))
	var ends []modelfile.End
	for _, e := range all {
		known := func(other modelfile.End) bool { return maps.EqualFunc(e.Parameters, other.Parameters, equal) }
		if !e.Optimum || !slices.ContainsFunc(ends, known) {
			ends = append(ends, e)
		}
	}
	return ends, err
}
