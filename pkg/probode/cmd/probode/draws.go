package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/probode/probode/pkg/probode/bayes/marginal"
	"github.com/probode/probode/pkg/probode/bayes/sample"
)

var samplers = []sample.Sampler{
	sample.Deterministic{},
	sample.NUTS{},
	sample.Tempering{},
	sample.Hamiltonian{},
	sample.PCNWithinGibbs{},
	sample.PseudoMarginal{},
	sample.RedrawOnAccept{},
	sample.Deterministic{Integral: marginal.Fenrir},
	sample.Deterministic{Integral: marginal.DALTON},
}

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

func warnIdle(flags *flag.FlagSet, name string, s sample.Sampler) {
	if s.Algorithm().Target.Noisy() {
		return
	}
	if idle := needs(flags, "with -scheme "+name+", which uses a solver without noise", "alpha"); idle != nil {
		fmt.Fprintln(os.Stderr, "warning:", idle)
	}
}

const maxDraws = 1_000_000_000

// mostChains can be kept in memory.
const mostChains = 4096

// first is cmp.Or, of which staticcheck assumes that it never returns nil.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
