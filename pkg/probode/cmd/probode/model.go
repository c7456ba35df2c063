package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/catalog"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/methods"
	modelfile "github.com/probode/probode/pkg/probode/model"
)

const modelHelp = `The model is a model file, the YAML file of a PEtab problem or its folder, or one of the
cases that come with the program:

  -case lynx-hare         hares and lynxes, 1900 to 1920
  -case influenza         boys in bed in a boarding school
  -case fitzhugh-nagumo   the problem of the paper
  -case dragons           a phantom mode, smaller than the true one
  -case dragons-uniform   the same with other priors: the phantom is larger
  -case alias             an oscillator observed too rarely: two true modes
  -case pk-mm             a drug with Michaelis–Menten elimination
  -case boluses           two short infusions

pkg/probode/model/MODELFILE.md describes model files. -data names another data table.
`

// modelFile has the flags of commands that take a model file.
type modelFile struct {
	file, data string
	outside    bool
	outputs    []outFile // they must not replace the files that are read
}

func (m *modelFile) define(flags *flag.FlagSet) {
	flags.StringVar(&m.file, "model", "", "model `file`, PEtab problem or SBML file; -model may be left out")
	flags.StringVar(&m.data, "data", "", "`file` with other data; a table with a header row")
	flags.BoolVar(&m.outside, "outside", false, "allow the model file to name files outside its folder")
}

// load writes the warnings, and refuses outputs that would replace a file of the model.
func (m *modelFile) load() (*modelfile.File, error) {
	if m.file == "" {
		return nil, errors.New("want a model file, or the folder of a PEtab problem")
	}
	p, err := loadFile(m.file, m.outside)
	if err != nil {
		if folder := filepath.Dir(m.file); folder != "." {
			return nil, fmt.Errorf("-model in %s: %w", text.Clip(folder), err) // the error does not repeat it
		}
		return nil, fmt.Errorf("-model: %w", err)
	}
	if err := spare(m.outputs, append(slices.Clone(p.Files), m.data)...); err != nil {
		return nil, err
	}
	if m.data != "" {
		if p, err = p.WithData(m.data, ""); err != nil {
			return nil, fmt.Errorf("-data: %w", err)
		}
	}
	warn(p)
	return p, nil
}

type model struct {
	solving
	modelFile
	preset        string // -case
	alpha         string
	seed          uint64
	chains, draws int

	withSteps bool // the command has a ladder of steps

	loaded       *modelfile.File // of -model
	unknownAlpha []float64       // the median of the prior that -alpha gives to α, the last parameter; nil if α is known
}

func newModel(flags *flag.FlagSet) *model {
	m := newExact(flags)
	flags.StringVar(&m.alpha, "alpha", "", "noise `scale` of the solver; a number, auto (calibrated at the mode of the posterior), or a prior; default: the scale of the case, or auto")
	flags.IntVar(&m.chains, "chains", 4, "`number` of chains")
	flags.IntVar(&m.draws, "draws", 0, "`number` of draws per chain; 0 means that the command decides")
	return m
}

// newExact is for commands that do not draw from a posterior.
func newExact(flags *flag.FlagSet) *model {
	m := &model{solving: solving{flags: flags}, chains: 1}
	m.modelFile.define(flags)
	flags.StringVar(&m.preset, "case", "", "built-in `model`; one of "+strings.Join(cases.Names(), ", "))
	flags.StringVar(&m.method, "method", "", "`method` of the solver; "+catalog.Help+"; default: the method of the case, or radau5 for a model file")
	flags.Float64Var(&m.step, "step", 0, "`size` of the steps; default: the step size of the case")
	flags.Uint64Var(&m.seed, "seed", 1, "seed of all random `numbers`")
	return m
}

// posterior calibrates α at the mode of the deterministic posterior for -alpha auto, and
// without -alpha if the model does not define α.
func (m *model) posterior(ctx context.Context) (*bayes.Posterior, error) {
	p, err := m.build()
	if err != nil {
		return nil, err
	}
	if p.Alpha != 0 || p.AlphaParam != "" || m.set("alpha") && m.alpha != "auto" {
		return p, nil
	}
	q, scale, err := modes.Calibrate(ctx, p, calibrate.Settings{Seed: m.seed})
	if err != nil {
		return nil, fmt.Errorf("-alpha auto: %w", err)
	}
	for _, w := range scale.Warnings {
		fmt.Fprintln(os.Stderr, "warning: -alpha auto:", w)
	}
	return q, nil
}

// build leaves α at zero if it must be calibrated.
func (m *model) build() (*bayes.Posterior, error) {
	if err := m.checkCounts(0); err != nil {
		return nil, err
	}
	if err := spare(m.outputs, m.data); err != nil {
		return nil, err
	}
	if (m.preset == "") == (m.file == "") {
		return nil, errors.New("want either a model file or -case: see -help")
	}
	from := m.ofFile
	if m.preset != "" {
		from = m.ofCase
	}
	p, err := from()
	if err != nil {
		return nil, err
	}
	if p.Setup, err = m.by(p.Setup); err != nil {
		return nil, err
	}
	if m.set("step") {
		setups, err := m.setups(p.Setup)
		if err != nil {
			return nil, err
		}
		p.Setup, p.GridAt = setups[0], nil
	}
	if m.set("alpha") {
		if err := m.setAlpha(p); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// noiseless returns the posterior that build() returns, but without noise. Without -step,
// error control chooses the steps at every θ. The default is catalog.Default.
func (m *model) noiseless() (*bayes.Posterior, error) {
	p, err := m.build()
	if err != nil || m.set("step") && !m.stepped() {
		return p, err
	}
	setups, err := m.setups(catalog.Default())
	if err == nil && len(setups) > 1 {
		err = errors.New("-rtol and -atol: want one number each")
	}
	if err != nil {
		return nil, err
	}
	return p.SolvedBy(setups[0]), nil
}

func (m *model) setAlpha(p *bayes.Posterior) error {
	if m.alpha == "auto" {
		p.Alpha = 0
		return nil
	}
	if alpha, is, err := noiseScale(m.alpha); err != nil || is {
		p.Alpha = alpha
		return err
	}
	prior, err := modelfile.ParsePrior(m.alpha)
	if err != nil {
		return fmt.Errorf("-alpha %s: want a number ≥ 0, auto or a prior: %w", m.alpha, err)
	}
	if prior.Quantile(0) < 0 {
		return fmt.Errorf("-alpha %s: want a prior that excludes negative values", m.alpha)
	}
	m.unknownAlpha = []float64{prior.Quantile(0.5)}
	p.Params = append(p.Params, bayes.Param{Name: "alpha", Prior: prior})
	if p.GridAt != nil {
		p.GridAt = append(p.GridAt, m.unknownAlpha...)
	}
	p.AlphaParam = "alpha"
	return nil
}

func (m *model) ofCase() (*bayes.Posterior, error) {
	c, err := cases.Named(m.preset)
	if err != nil {
		return nil, fmt.Errorf("-case %s: want %s", m.preset, strings.Join(cases.Names(), ", "))
	}
	if m.data == "" {
		return c.Posterior(), nil
	}
	data, err := bayes.ReadFile(m.data, c.Time, c.Columns...)
	if err != nil {
		return nil, fmt.Errorf("-data %s: %w", m.data, err)
	}
	return c.Model(data), nil
}

func (m *model) ofFile() (*bayes.Posterior, error) {
	f, err := m.load()
	if err != nil {
		return nil, err
	}
	p, err := f.Posterior()
	if err != nil {
		return nil, fmt.Errorf("-model: %w", err)
	}
	m.loaded = f
	p.Setup = probode.Setup{Method: methods.Radau{}, Mesh: probode.Frozen{Tolerance: probode.Tolerance{Relative: 1e-6}}}
	if m.withSteps { // the command compares steps, and makes the grids
		p.Mesh, p.GridAt = nil, nil
	}
	return p, nil
}

func warn(p *modelfile.File) {
	const most = 5
	for i, w := range p.Warnings {
		if i == most {
			fmt.Fprintf(os.Stderr, "warning: and %d more\n", len(p.Warnings)-i)
			break
		}
		fmt.Fprintln(os.Stderr, "warning:", text.Printable(w))
	}
}

func loadFile(name string, outside bool) (*modelfile.File, error) {
	if outside {
		return modelfile.LoadOutside(name)
	}
	return modelfile.Load(name)
}

func valuesAt(p *modelfile.File, at string) ([]float64, error) {
	theta, names := p.Nominal(), []string{}
	for _, q := range p.Params {
		names = append(names, q.ID)
	}
	if strings.TrimSpace(at) == "nominal" {
		return theta, nil
	}
	if list(at) == nil {
		return nil, errors.New("-at: want nominal, or name=value,…")
	}
	return theta, assignments("at", at, names, some(p.Params), func(i int, v float64) { theta[i] = v })
}

// some returns at most twelve names, those of estimated parameters first.
func some(params []modelfile.Parameter) string {
	var names []string
	for _, estimated := range []bool{true, false} {
		for _, q := range params {
			if q.Estimate == estimated {
				names = append(names, text.Clip(q.ID))
			}
		}
	}
	const most = 12
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("… (%d)", len(names)))
	}
	return strings.Join(names, ", ")
}

// experimentOf returns the first experiment for "": see modelfile.File.Instances.
func experimentOf(p *modelfile.File, condition string) (*modelfile.Instance, error) {
	list, err := p.Instances()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range list {
		if condition == "" || e.Condition == condition {
			return e, nil
		}
		if e.Condition != "" {
			names = append(names, text.Clip(e.Condition))
		}
	}
	if e, err := p.Unmeasured(condition); e != nil || err != nil {
		return e, err
	}
	if names == nil {
		return nil, fmt.Errorf("-condition %s: the model has no conditions", text.Clip(condition))
	}
	if len(names) > 8 {
		names = append(names[:8], "…")
	}
	return nil, fmt.Errorf("-condition %s: the data have %s", text.Clip(condition), strings.Join(names, ", "))
}

func (m *model) title() string { return m.preset + text.Clip(m.file) }

// checkCounts lets the iterations of all chains fit into an int, even if the draws are
// doubled.
func (m *model) checkCounts(burnIn int) error {
	most := math.MaxInt / 2 / max(1, m.chains) // burn-in takes half of them
	return first(inRange("chains", m.chains, 1, mcmc.MaxChains), inRange("draws", m.draws, 0, maxDraws), inRange("burn-in", burnIn, 0, min(most, maxDraws)))
}
