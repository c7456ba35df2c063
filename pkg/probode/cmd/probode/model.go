package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/methods"
	modelfile "github.com/probode/probode/pkg/probode/model"
	"github.com/probode/probode/pkg/probode/problems"
)

// modelHelp is the part of a command's help that tells how a model is given.
const modelHelp = `A model is one of the cases that come with the program,

  -case lynx-hare         hares and lynxes, 1900 to 1920
  -case influenza         boys in bed in a boarding school
  -case fitzhugh-nagumo   the problem of the paper
  -case dragons           a mode that only the solver makes, the smaller one
  -case dragons-uniform   the same with other priors, where it is the larger one
  -case alias             an oscillator observed too seldom, with two true modes
  -case pk-mm             a drug with Michaelis–Menten elimination
  -case boluses           two short infusions

a model file of yours, ours or PEtab's, which has its data and priors in it,

  -model problem.yaml     solved by radau5 on a frozen grid of tolerance 1e-6,
                          if nothing else is said

or a built-in problem with a table of data of your own:

  -problem lotka-volterra-20 -data notebooks/data/lynx_hare.csv -time year
  -columns hare=prey,lynx=predator -unknown-start -errors 'lognormal(sigma)'
  -prior 'a=positive(1,0.5)'     -prior 'b=positive(0.05,0.05)'
  -prior 'c=positive(1,0.5)'     -prior 'd=positive(0.05,0.05)'
  -prior 'prey0=lognormal(2.3,1)' -prior 'predator0=lognormal(2.3,1)'
  -prior 'sigma=lognormal(-1,1)' -method am1 -step 0.5

What has a -prior is inferred; the other parameters stay at the values of the
problem, or at those of -fix. The priors, with the support in brackets:

  normal(mean,sd)  uniform(from,to)
  positive(mean,sd)  halfnormal(sd)  lognormal(mean,sd of log)
  exponential(rate)  gamma(shape,rate)  invgamma(shape,scale)    [0, ∞)
  beta(a,b)                                                      [0, 1]

The distributions of the observations, with a number or the name of a parameter for each
of their own: gaussian(sd), lognormal(sd of log), student(nu,scale), poisson,
negbin(phi); one for all columns, or a list with one for each.

The problem is solved up to the last datum, from its own initial time; with
-unknown-start from the first datum, at which the unknown state then is. -t0 sets
another time.
`

// A model is what the flags of a command say of a posterior.
type model struct {
	flags *flag.FlagSet

	preset, problem string
	file            string
	data, time      string
	columns, errors string
	priors, fixed   []assignment
	unknown         bool
	t0              float64
	method, alpha   string
	noise           string
	step            float64
	seed            uint64
	chains, draws   int

	outputs   []outFile // which the files that are read must not be
	withSteps bool      // the command has a ladder of steps and can do without step

	loaded *modelfile.Problem // of -model
}

// An assignment is the value of a flag of the form name=value.
type assignment struct{ name, value string }

// newModel defines the flags of a model and of its draws. After flags are parsed, its
// method posterior makes the model of them.
func newModel(flags *flag.FlagSet) *model {
	m := newExact(flags)
	flags.StringVar(&m.alpha, "alpha", "", "noise scale of the solver: a number, auto (calibrated at the mode of the posterior), or a `prior`; none: auto; a case may have its own")
	flags.StringVar(&m.noise, "noise", "", "`kind` of noise that -alpha scales: method, its own, or local, by the local errors of the steps; none: local on grids made to a tolerance, method on others")
	flags.IntVar(&m.chains, "chains", 4, "number of chains")
	flags.IntVar(&m.draws, "draws", 0, "draws of each chain; 0: as many as the command needs")
	return m
}

// newExact defines the flags of a model that nothing is drawn from.
func newExact(flags *flag.FlagSet) *model {
	m := &model{flags: flags, chains: 1}
	flags.StringVar(&m.preset, "case", "", "complete `model`: "+strings.Join(cases.Names(), ", "))
	flags.StringVar(&m.problem, "problem", "", "`name` of a built-in problem: "+strings.Join(problems.Names(), ", "))
	flags.StringVar(&m.file, "model", "", "`file` of a model with its data, YAML: ours or PEtab's")
	flags.StringVar(&m.data, "data", "", "CSV `file` with a header row; none: a case has its own")
	flags.StringVar(&m.time, "time", "t", "`column` of the times")
	flags.StringVar(&m.columns, "columns", "", "`list` of the columns observed, each as column or column=state; without states the columns have the names of states, or are all states in order")
	flags.StringVar(&m.errors, "errors", "", "`distribution` of the observations, such as 'gaussian(0.1)' or 'lognormal(sigma)', or a list with one for each column")
	list := func(name string, to *[]assignment, usage string) {
		flags.Func(name, usage, func(text string) error {
			left, right, ok := strings.Cut(text, "=")
			if left = strings.TrimSpace(left); !ok || left == "" {
				return errors.New("want name=value")
			}
			*to = append(*to, assignment{left, strings.TrimSpace(right)})
			return nil
		})
	}
	list("prior", &m.priors, "prior of a parameter, as `name=distribution`; once for each")
	list("fix", &m.fixed, "value of a parameter that is known, as `name=number`")
	flags.BoolVar(&m.unknown, "unknown-start", false, "the initial values are parameters, too: x0 for a state x, x1_0 for a state x1")
	flags.Float64Var(&m.t0, "t0", math.NaN(), "`time` of the initial state")
	flags.StringVar(&m.method, "method", "", "`method`: "+methods.Help+"; none: am1; a case has its own")
	flags.Float64Var(&m.step, "step", 0, "`size` of the solver's step; a case has its own")
	flags.Uint64Var(&m.seed, "seed", 1, "seed of all random numbers")
	return m
}

// set tells whether the flag was given.
func (m *model) set(name string) bool { return given(m.flags, name) }

// posterior returns the model of the flags, with α calibrated at the mode of the
// deterministic posterior if that is asked for.
func (m *model) posterior(ctx context.Context) (*bayes.Posterior, error) {
	p, err := m.build()
	if err != nil {
		return nil, err
	}
	if p.Alpha != 0 || p.AlphaParam != "" || m.set("alpha") && m.alpha != "auto" {
		return p, nil
	}
	q, scale, err := p.Calibrated(ctx, calibrate.Settings{Seed: m.seed})
	if err != nil {
		return nil, fmt.Errorf("-alpha auto: %w", err)
	}
	for _, w := range scale.Warnings {
		fmt.Fprintln(os.Stderr, "warning: -alpha auto:", w)
	}
	return q, nil
}

// build is posterior with α left at zero where it is to be calibrated.
func (m *model) build() (*bayes.Posterior, error) {
	if err := m.checkCounts(0, 1); err != nil {
		return nil, err
	}
	if err := spare(m.outputs, m.data); err != nil {
		return nil, err
	}
	switch {
	case m.set("step") && !(m.step > 0 && m.step <= math.MaxFloat64):
		return nil, fmt.Errorf("-step %g: want a finite number > 0", m.step)
	case m.preset == "" && m.problem == "" && m.file == "":
		return nil, errors.New("-case, -problem or -model: want one of them: see -help")
	case m.preset != "" && m.problem != "" || m.file != "" && m.preset+m.problem != "":
		return nil, errors.New("-case, -problem and -model: want only one of them")
	}
	from := m.ofProblem
	switch {
	case m.preset != "":
		from = m.ofCase
	case m.file != "":
		from = m.ofFile
	}
	p, err := from()
	if err != nil {
		return nil, err
	}
	switch {
	case m.set("method"):
		if p.Method, err = methods.Parse(m.method); err != nil {
			return nil, fmt.Errorf("-method: %w", err)
		}
	case p.Method == nil:
		p.Method = probode.AdamsMoulton{Steps: 1}
	}
	if m.step > 0 {
		p.Setup, p.GridAt = p.WithStepSize(m.step), nil
	}
	if m.set("alpha") {
		if err := m.setAlpha(p); err != nil {
			return nil, err
		}
	}
	if m.noise != "" {
		if p.Scaling, err = scalingNamed(m.noise); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (m *model) setAlpha(p *bayes.Posterior) error {
	if m.alpha == "auto" {
		p.Alpha = 0
		return nil
	}
	if v, err := strconv.ParseFloat(m.alpha, 64); err == nil {
		if !(v >= 0) || math.IsInf(v, 1) {
			return fmt.Errorf("-alpha %s: want a number ≥ 0, auto or a prior", m.alpha)
		}
		p.Alpha = v
		return nil
	}
	family, err := parsePrior(m.alpha, positiveFamilies)
	if err != nil {
		return fmt.Errorf("-alpha %s: want a number ≥ 0, auto or a prior without negative values: %w", m.alpha, err)
	}
	if family.Quantile(0) < 0 {
		return fmt.Errorf("-alpha %s: want a prior without negative values", m.alpha)
	}
	p.Params = append(p.Params, bayes.Param{Name: "alpha", Prior: family})
	p.AlphaParam = "alpha"
	return nil
}

func (m *model) ofCase() (*bayes.Posterior, error) {
	c, err := cases.Named(m.preset)
	if err != nil {
		return nil, fmt.Errorf("-case %s: want %s", m.preset, strings.Join(cases.Names(), ", "))
	}
	for _, name := range []string{"prior", "fix", "errors", "columns", "unknown-start", "t0"} {
		if m.set(name) {
			return nil, fmt.Errorf("-%s has no meaning with -case, which is a complete model: use -problem", name)
		}
	}
	if m.set("time") {
		c.Time = m.time
	}
	if m.data == "" {
		if m.set("time") {
			return nil, errors.New("-time has no meaning without -data")
		}
		return c.Posterior(), nil
	}
	data, err := readData(m.data, c.Time, c.Columns)
	if err != nil {
		return nil, err
	}
	return c.Model(data), nil
}

// ofFile is the posterior of a model file.
func (m *model) ofFile() (*bayes.Posterior, error) {
	for _, name := range []string{"columns", "errors", "prior", "fix", "unknown-start", "t0"} {
		if m.set(name) {
			return nil, fmt.Errorf("-%s has no meaning with -model, which has all of that in its file", name)
		}
	}
	f, err := loadModel(m.file, m.outputs...)
	if err != nil {
		return nil, err
	}
	if m.data != "" {
		time := ""
		if m.set("time") {
			time = m.time
		}
		if f, err = f.WithData(m.data, time); err != nil {
			return nil, fmt.Errorf("-data: %w", err)
		}
	} else if m.set("time") {
		return nil, errors.New("-time has no meaning without -data")
	}
	p, err := f.Posterior()
	if err != nil {
		return nil, fmt.Errorf("-model: %w", err)
	}
	m.loaded = f
	if m.withSteps { // the command compares steps, and makes the grids
		p.Mesh, p.GridAt = nil, nil
	}
	return p, nil
}

func readData(path, time string, columns []string) (*bayes.Data, error) {
	data, err := bayes.ReadFile(path, time, columns...)
	if err != nil {
		return nil, fmt.Errorf("-data %s: %w", path, err)
	}
	return data, nil
}

func (m *model) ofProblem() (*bayes.Posterior, error) {
	problem, err := problems.Named(m.problem)
	if err != nil {
		return nil, fmt.Errorf("-problem: %w", err)
	}
	for _, need := range []struct{ name, value, example string }{
		{"data", m.data, "a CSV file"},
		{"columns", m.columns, "the columns observed, such as " + problem.StateName(0)},
		{"errors", m.errors, "the distribution of the observations, such as 'gaussian(0.1)'"},
	} {
		if need.value == "" {
			return nil, fmt.Errorf("-%s: want %s", need.name, need.example)
		}
	}
	if m.step == 0 && !m.withSteps {
		return nil, errors.New("-step: want the size of the solver's step")
	}
	if m.unknown {
		problem = problem.UnknownStart()
	}
	for i, f := range m.fixed {
		if slices.ContainsFunc(m.fixed[:i], func(g assignment) bool { return g.name == f.name }) {
			return nil, fmt.Errorf("-fix %s=%s: %s has a value already", f.name, f.value, f.name)
		}
		k := slices.Index(paramNames(problem), f.name)
		if k < 0 {
			return nil, fmt.Errorf("-fix %s: no parameter %q: %s has %s", f.name, f.name, problem.Name, strings.Join(paramNames(problem), ", "))
		}
		v, err := strconv.ParseFloat(f.value, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("-fix %s=%s: want a number", f.name, f.value)
		}
		problem.Theta[k] = v
	}

	data, err := m.observations(problem)
	if err != nil {
		return nil, err
	}
	observed, own, err := parseErrors(m.errors, len(data.Y[0]))
	if err != nil {
		return nil, err
	}
	p := &bayes.Posterior{Model: bayes.Model{Experiments: []bayes.Experiment{{Problem: problem, Data: data, Errors: observed}}}}
	if m.step > 0 {
		p.Mesh = probode.Uniform(m.step)
	}
	for _, name := range own {
		if slices.Contains(paramNames(problem), name) {
			return nil, fmt.Errorf("-errors %s: %s is a parameter of the equations: want another name, or a number", m.errors, name)
		}
	}
	known := append(paramNames(problem), own...)
	for _, q := range m.priors {
		if !slices.Contains(known, q.name) {
			return nil, fmt.Errorf("-prior %s=%s: no parameter %q: the model has %s", q.name, q.value, q.name, strings.Join(known, ", "))
		}
		if slices.ContainsFunc(p.Params, func(r bayes.Param) bool { return r.Name == q.name }) {
			return nil, fmt.Errorf("-prior %s=%s: %s has a prior already", q.name, q.value, q.name)
		}
		if slices.ContainsFunc(m.fixed, func(f assignment) bool { return f.name == q.name }) {
			return nil, fmt.Errorf("-prior %s=%s: %s has the value of -fix already", q.name, q.value, q.name)
		}
		allowed := families
		if slices.Contains(own, q.name) {
			allowed = positiveFamilies
		}
		family, err := parsePrior(q.value, allowed)
		if err != nil {
			return nil, fmt.Errorf("-prior %s=%s: %w", q.name, q.value, err)
		}
		if slices.Contains(own, q.name) && family.Quantile(0) < 0 {
			return nil, fmt.Errorf("-prior %s=%s: %s is a number of -errors %s: want a prior without negative values", q.name, q.value, q.name, m.errors)
		}
		p.Params = append(p.Params, bayes.Param{Name: q.name, Prior: family})
	}
	for _, name := range own {
		if !slices.ContainsFunc(p.Params, func(r bayes.Param) bool { return r.Name == name }) {
			return nil, fmt.Errorf("-errors %s: %q has no prior: give -prior '%s=…', or a number in its place", m.errors, name, name)
		}
	}
	if len(p.Params) == 0 {
		return nil, fmt.Errorf("-prior: nothing to infer: give a prior to some of %s", strings.Join(known, ", "))
	}
	return p, nil
}

func paramNames(p *probode.Problem) []string {
	var names []string
	for k := range p.Theta {
		names = append(names, p.ParamName(k))
	}
	return names
}

// observations reads the data of a problem, and sets its span after them.
func (m *model) observations(problem *probode.Problem) (*bayes.Data, error) {
	var columns, states []string
	for _, c := range strings.Split(m.columns, ",") {
		name, state, ok := strings.Cut(strings.TrimSpace(c), "=")
		columns = append(columns, strings.TrimSpace(name))
		if state = strings.TrimSpace(state); ok {
			states = append(states, state)
		}
	}
	var names []string
	for k := range problem.Dim() {
		names = append(names, problem.StateName(k))
	}
	if states != nil && len(states) != len(columns) {
		return nil, fmt.Errorf("-columns %s: want column=state for all columns, or for none", m.columns)
	}
	for _, s := range states {
		if !slices.Contains(names, s) {
			return nil, fmt.Errorf("-columns %s: no state %q: %s has %s", m.columns, s, problem.Name, strings.Join(names, ", "))
		}
	}
	if len(columns) > len(names) {
		return nil, fmt.Errorf("-columns %s: %d columns for the %d states of %s", m.columns, len(columns), len(names), problem.Name)
	}
	if states == nil && problem.States != nil {
		// Without a namesake a column is a state only if all are, in order.
		strange := slices.DeleteFunc(slices.Clone(columns), func(c string) bool { return slices.Contains(names, c) })
		if n := len(strange); n > 0 && (n < len(columns) || n < len(names)) {
			return nil, fmt.Errorf("-columns %s: no state %q: want column=state, with the states %s", m.columns, strange[0], strings.Join(names, ", "))
		}
	}
	data, err := readData(m.data, m.time, columns)
	if err != nil {
		return nil, err
	}
	if states != nil {
		problem.States = names // those without a name have one now
		data.Names = states
	}
	first, last := data.T[0], data.T[len(data.T)-1]
	switch {
	case m.set("t0"):
		problem.Span[0] = m.t0
	case m.unknown:
		problem.Span[0] = first
	}
	problem.Span[1] = last
	if t0 := problem.Span[0]; !(t0 <= first) || !(t0 < last) || math.IsInf(t0, 0) {
		return nil, fmt.Errorf("-t0 %g: the data reach from t = %g to %g: want a time of the initial state before them", t0, first, last)
	}
	return data, nil
}
