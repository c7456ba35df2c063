package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/catalog"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/store"
)

// drawsFrom reads draws of the parameters in names: a directory that sample wrote, a Zarr store
// that merge wrote, or tables that match a pattern. The list rename has the form column=parameter,…
func drawsFrom(from, rename string, names []string) (*mcmc.Chains, error) {
	renamed := map[string]string{}
	for _, pair := range strings.Split(rename, ",") {
		column, name, ok := strings.Cut(pair, "=")
		if rename != "" && (!ok || column == "" || name == "") {
			return nil, fmt.Errorf("-rename %s: want column=parameter, with a comma between several", text.Clip(rename))
		}
		renamed[strings.TrimSpace(column)] = strings.TrimSpace(name)
	}
	if rename == "" {
		renamed = nil
	}
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		var c *mcmc.Chains
		if filepath.Ext(from) == ".zarr" {
			c, err = store.ReadZarr(from, names)
		} else {
			c, err = store.ReadParameters(from, nil)
		}
		if err == nil && !slices.Equal(c.Names, names) {
			err = fmt.Errorf("the draws have the parameters %s: want %s", strings.Join(c.Names, ", "), strings.Join(names, ", "))
		}
		if err != nil {
			return nil, fmt.Errorf("-from %s: %w", text.Clip(from), err)
		}
		return c, nil
	}
	files, err := filepath.Glob(from)
	if err != nil || files == nil {
		return nil, fmt.Errorf("-from %s: there is no such file", text.Clip(from))
	}
	c, err := store.ReadCSV(files, names, renamed)
	if err != nil {
		return nil, fmt.Errorf("-from: %w", err)
	}
	return c, nil
}

// madeBy returns the solver that is described by METHOD,RTOL or METHOD,RTOL,ATOL or
// METHOD,step=H.
func madeBy(description string) (probode.Setup, error) {
	fail := func() (probode.Setup, error) {
		return probode.Setup{}, fmt.Errorf("-made-by %s: want a method and its tolerances, such as dp5,1e-6 or bdf,1e-6,1e-8, or its step, such as rk4,step=0.1", text.Clip(description))
	}
	parts := strings.Split(description, ",")
	var tolerances []float64
	for len(parts) > 1 {
		last := strings.TrimSpace(parts[len(parts)-1])
		size, isStep := strings.CutPrefix(last, "step=")
		v, err := strconv.ParseFloat(cmp.Or(size, last), 64)
		if err != nil || isStep && tolerances != nil {
			break
		}
		if !(v > 0) || v >= 1 && !isStep {
			return fail()
		}
		parts = parts[:len(parts)-1]
		if tolerances = append(tolerances, v); isStep {
			m, err := catalog.Parse(strings.Join(parts, ","))
			return probode.Setup{Method: m, Mesh: probode.Uniform(v)}, err
		}
	}
	if len(tolerances) == 0 || len(tolerances) > 2 {
		return fail()
	}
	m, err := catalog.Parse(strings.Join(parts, ","))
	if err != nil {
		return probode.Setup{}, fmt.Errorf("-made-by: %w", err)
	}
	slices.Reverse(tolerances)
	t := probode.Tolerance{Relative: tolerances[0]}
	if len(tolerances) > 1 {
		t.Absolute = tolerances[1:]
	}
	return probode.Setup{Method: m, Mesh: probode.Adaptive{Tolerance: t}}, nil
}
