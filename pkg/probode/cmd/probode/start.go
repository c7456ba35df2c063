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

// maxEnds is the largest size of a file written by fit -json, in bytes.
const maxEnds = 256 << 20

// mostEnds is the largest number of points that the search for modes takes from a fit.
const mostEnds = 8

// starts returns the points at which the search for modes begins. If the argument `start`
// is the name of a file written by fit -json, the result contains the best points in this
// file. If `start` is "nominal", the result is one point with the nominal parameters. If
// `start` is "" or "prior", the result is nil.
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

// inside converts vectors of parameters to points at which a search on the posterior can
// begin. Each vector in the argument `all` contains the values of all parameters.
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

// undetermined reads the profiles in a file written by fit -json. The result is a
// sentence with the names of the parameters that the data do not determine. The result is
// empty if the file cannot be read, or if the data alone close the interval of every
// profile in the file.
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

// startsAt returns a function that starts the chains at the given points. The result is
// nil if no points are given. The result is also nil if the best mode has a Gaussian
// approximation, because the chains can then start around this mode. The argument `found`
// is nil if no modes were found.
func startsAt(from [][]float64, found *bayes.Modes) func(chain int, rng *rand.Rand) []float64 {
	if from == nil || found != nil && found.Highest().Cov != nil {
		return nil
	}
	return func(chain int, _ *rand.Rand) []float64 { return slices.Clone(from[chain%len(from)]) }
}

// best reads the best points from a file written by fit -json, and converts them to
// points at which a search on the posterior can begin. The log-likelihood of each point
// is at most 10 below the highest log-likelihood in the file. The points need not be
// optima, because the search for modes will improve them. If the log-likelihoods of
// several points differ by less than 0.01, best() keeps only the first of these points.
func (m *model) best(name string) (points [][]float64, err error) {
	if m.loaded == nil {
		return nil, errors.New("the parameters in the file belong to a model: give the model file with -model")
	}
	ends, err := readEnds(name)
	if err != nil {
		return nil, err
	}
	last := math.Inf(1)
	var all [][]float64
	for _, e := range ends {
		if e.LogLikelihood > last-0.01 || e.LogLikelihood < ends[0].LogLikelihood-10 {
			continue
		}
		last = e.LogLikelihood
		theta, err := m.loaded.Theta(e.Parameters)
		if err != nil {
			return nil, err
		}
		all = append(all, theta)
	}
	return m.inside(all)
}

// startsOf returns the points that the flag -start specifies. Searches begin at these
// points. Each point holds the values of all parameters on the linear scale. If the flag
// names a file written by fit -json, startsOf returns the points in this file whose
// log-likelihoods differ from the highest log-likelihood by at most `below`.
func startsOf(p *modelfile.File, start string, below float64) ([][]float64, error) {
	switch start {
	case "":
		return nil, nil
	case "nominal":
		return [][]float64{p.Nominal()}, nil
	}
	ends, err := readEnds(start)
	if err != nil {
		return nil, err
	}
	var points [][]float64
	for _, e := range ends {
		if ends[0].LogLikelihood-e.LogLikelihood > below {
			continue
		}
		theta, err := p.Theta(e.Parameters)
		if err != nil {
			return nil, err
		}
		points = append(points, theta)
	}
	return points, nil
}

// equal reports whether the relative difference between two values of a parameter is at
// most 0.001.
func equal(a, b float64) bool { return math.Abs(a-b) <= 1e-3*max(math.Abs(a), math.Abs(b)) }

// readEnds reads a file written by fit -json, and returns the points at which the
// searches of the fit ended. If several searches ended at the same optimum, readEnds
// returns this optimum only once.
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
