package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes/marginal"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/reference"
)

// samplers lists the samplers that can be named in flags. Each sampler has the settings
// that the commands use by default.
var samplers = []sample.Sampler{
	sample.DelayedAcceptance{Second: probode.Setup{Mesh: reference.Accurate{}}},
	sample.Deterministic{},
	sample.NUTS{},
	sample.SplitHMC{},
	sample.Tempering{},
	sample.Hamiltonian{},
	sample.PCNWithinGibbs{},
	sample.PseudoMarginal{},
	sample.PseudoMarginal{Correlation: 0.99},
	sample.DelayedAcceptance{},
	sample.DelayedAcceptance{Noise: true},
	sample.ExpectedLikelihood{},
	sample.RedrawOnAccept{},
	marginal.Integrated{},
	marginal.Integrated{DALTON: true},
}

// samplerName returns the name of a sampler as it is written in flags.
func samplerName(s sample.Sampler) string {
	return strings.NewReplacer(", ", "-", " ", "-").Replace(s.String())
}

func samplerNames() string {
	var names []string
	for _, s := range samplers {
		names = append(names, samplerName(s))
	}
	return strings.Join(names, ", ")
}

func samplerNamed(name string) (sample.Sampler, error) {
	for _, s := range samplers {
		if samplerName(s) == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("-scheme %s: want %s", name, samplerNames())
}

// warnIdle writes a warning if flags for the noise of the solver are given, but the sampler
// uses a solver without noise.
func warnIdle(flags *flag.FlagSet, name string, s sample.Sampler) {
	if s.Target().Noisy() {
		return
	}
	if idle := needs(flags, "with -scheme "+name+", which uses a solver without noise", "alpha", "noise"); idle != nil {
		fmt.Fprintln(os.Stderr, "warning:", idle)
	}
}

// maxDraws is the largest allowed number of draws. No study needs more than maxDraws draws.
const maxDraws = 1_000_000_000

// maxThin is the largest allowed number of iterations per draw, far more than is needed
// to make successive draws nearly independent.
const maxThin = 1_000_000

// maxWorkers is the largest allowed number of workers. No machine has more than
// maxWorkers processors.
const maxWorkers = 4096

// first returns the first error that is not nil. cmp.Or would do the same, but
// staticcheck assumes that cmp.Or never returns nil.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
