package bayes

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"strings"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// Stream draws as Sample does, the same draws to the last bit, and writes them to
// files in dir: see mcmc.Stream for the files, how a run that was stopped or
// killed is taken up again by the same call, and how one study is split over many
// machines. mcmc.Read gives the draws back, in the form in which Predict and
// LogPredictive take them.
//
// The files say what was drawn: method, step, α, priors, equations, likelihoods
// and data, the scheme with its settings, where the chains began; and log_density,
// a hash of what the model says at some points, which tells apart what words do
// not, such as two Problem.F. A model or scheme that differs in any of this from
// that of the files in dir is refused. A chain that is taken up again, moreover,
// must have the log density that it had when its state was saved, bit for bit.
//
// All chains of a study have to be drawn on processors of one kind. Where one
// computes exp or a fused product in another way than the next, the numbers
// differ in their last digits, and with them log_density.
func Stream(ctx context.Context, p *Posterior, scheme Scheme, dir string, s mcmc.Settings) error {
	job, err := prepare(ctx, p, scheme, s)
	if err != nil {
		return err
	}
	if _, ok := scheme.(finisher); ok {
		return fmt.Errorf("bayes: %v: works on all chains when they are there, which a run to files does not hold: Stream the draws, and do the rest with what mcmc.Read gives", scheme)
	}
	mark, err := newProbe(p)
	if err != nil {
		return err
	}
	job.settings.Meta = append(job.fields(mark.hash()), s.Meta...)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	err = mcmc.Stream(ctx, func(chain int) mcmc.Kernel {
		probe, err := newProbe(p)
		if err != nil {
			panic("bayes: " + err.Error()) // it was made before
		}
		changed := func() {
			stop(fmt.Errorf("bayes: %s: chain %d cannot go on: the model gives another density than the one that was saved: go on with the model that it was begun with, or begin in another directory", dir, chain+1))
		}
		return &streamed{Kernel: job.kernel(chain), probe: probe, changed: changed}
	}, dir, job.settings)
	switch {
	case err != nil && errors.Is(err, ctx.Err()):
		return context.Cause(ctx)
	case err != nil && strings.Contains(err.Error(), "log_density is"):
		return fmt.Errorf("%w: F, Start, Observe, a prior or a likelihood gives other numbers than before", err)
	}
	return err
}

// fields returns what a file says of the run. ArviZ makes attributes of the values
// that have no blanks; notes are sentences.
func (j *job) fields(hash string) []mcmc.Field {
	words := strings.NewReplacer("bayes.", "", "mcmc.", "", ", ", ",", ": ", ":", " ~ ", "~", " ", "_", "\n", "_")
	var out []mcmc.Field
	add := func(key, value string) {
		out = append(out, mcmc.Field{Key: key, Value: strings.ToValidUTF8(words.Replace(value), "�")})
	}
	add("scheme", fmt.Sprintf("%v, %s", j.scheme, mcmc.Literal(j.scheme)))
	priors := 0
	for _, d := range j.p.describe() {
		key, value := d[0], d[1]
		if name, ok := strings.CutPrefix(key, "prior "); ok {
			priors++ // names are any text, keys are not
			key, value = fmt.Sprintf("prior_%d", priors), name+" ~ "+value
		}
		add(strings.ReplaceAll(key, " ", "_"), value)
	}
	add("log_density", hash)
	for _, note := range j.notes {
		out = append(out, mcmc.Field{Key: "note", Value: strings.Join(strings.Fields(note), " ")})
	}
	return out
}

// A probe evaluates the model at given θ, for ξ = 0 and for one ξ that is always
// the same.
type probe struct {
	e         *evaluator
	u, theta  []float64
	xi        []float64
	densities [2]float64
}

// probePoints is the number of draws of the prior that tell two models apart.
const probePoints = 8

func newProbe(p *Posterior) (*probe, error) {
	e, err := newEvaluator(p)
	if err != nil {
		return nil, err
	}
	q := &probe{e: e, u: make([]float64, len(p.Params)), theta: make([]float64, len(p.Params)), xi: make([]float64, e.noise)}
	normals(q.xi, probode.Stream(0x70726f6265))
	return q, nil
}

// at computes the two log densities at theta. Where the equations cannot be
// solved, and where theta is outside of the support, they are −∞.
func (q *probe) at(theta []float64) {
	q.densities = [2]float64{math.Inf(-1), math.Inf(-1)}
	if q.e.unconstrain(q.u, theta) != nil {
		return
	}
	lp := q.e.constrain(q.theta, q.u)
	for i, xi := range [][]float64{nil, q.xi} {
		if ll, err := q.e.logLikelihood(q.theta, xi); err == nil {
			q.densities[i] = lp + ll
		}
	}
}

// hash returns the hash of the densities at some draws of the prior and of what
// is expected of the data there.
func (q *probe) hash() string {
	h := fnv.New64a()
	for i := range probePoints {
		q.at(q.e.p.DrawPrior(probode.Stream(0x70726f6265, uint64(i))))
		a := mcmc.NewArchive(nil)
		a.Floats(q.densities[:])
		a.Floats(q.e.fit)
		h.Write(a.Bytes())
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// A streamed is a kernel whose state holds the log densities at its position as
// well.
type streamed struct {
	mcmc.Kernel
	*probe
	changed func() // called once if they are not those that the model gives
	other   bool   // it was called
}

func (k *streamed) Generate(dst []float64) { k.Kernel.(mcmc.Generator).Generate(dst) }

func (k *streamed) State(a *mcmc.Archive) {
	k.Kernel.State(a)
	if !k.other { // else the state is saved again as it was
		k.probe.at(k.Position())
	}
	now := k.densities
	a.Floats(k.densities[:])
	for i, saved := range k.densities {
		if math.Float64bits(now[i]) != math.Float64bits(saved) {
			k.other = true
		}
	}
	if a.Reading() && k.other {
		k.changed()
	}
}

// Notes returns what the kernel has tuned.
func (k *streamed) Notes() []string {
	if l, ok := k.Kernel.(interface{ learned() (what, value string) }); ok {
		if what, value := l.learned(); what != "" {
			return []string{strings.TrimSuffix(what, ", by chain:") + ": " + value}
		}
	}
	return nil
}
