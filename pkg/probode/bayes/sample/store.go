package sample

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/internal/literal"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/store"
)

// Store draws as Run does, the same draws to the last bit, and writes them to
// files in dir: see store.Run for the files, how a run that was stopped or killed is
// resumed by the same call, how a finished one is extended by a call that asks for
// more draws, and how one study is split over many machines. store.Read gives the
// draws back, in the form in which Predict and LogPredictive take them.
//
// The files say what was drawn: method, step, α, priors, equations, likelihoods
// and data, the sampler with its settings, where the chains began; and log_density,
// a hash of what the model says at some points, which tells apart what words do
// not, such as two Problem.F. A model or sampler that differs in any of this from
// that of the files in dir is refused. A chain that is resumed, moreover, must have
// the log density that it had when its state was saved, bit for bit, and its last
// iterations, made again, must lead to the same draw. What follows these fields in
// o.Meta is written below them.
//
// All chains of a study have to be drawn on processors of one kind. Where one
// computes exp or a fused product in another way than the next, the numbers
// differ in their last digits, and with them log_density; the error says so.
func Store(ctx context.Context, p *bayes.Posterior, sampler Sampler, dir string, s mcmc.Settings, o store.Options) error {
	job, err := prepare(ctx, p, sampler, s)
	if err != nil {
		return err
	}
	if _, ok := sampler.(Finisher); ok {
		return fmt.Errorf("sample: %v: works on all chains when they are there, which a run to files does not hold: Store the draws, and do the rest with what store.Read gives", sampler)
	}
	mark, err := newProbe(p)
	if err != nil {
		return err
	}
	o.Meta = append(job.fields(mark.hash()), o.Meta...)
	if o.Version == "" {
		o.Version = probode.Version()
	}
	inner, release := job.guarded(ctx)
	defer release()
	err = store.Run(inner, func(chain int) mcmc.Kernel {
		probe, err := newProbe(p)
		if err != nil {
			panic("sample: " + err.Error()) // it was made before
		}
		return &streamed{guard: job.kernel(chain).(*guard), probe: probe}
	}, dir, job.settings, o)
	if fault := job.fault(); fault != nil {
		return fault
	}
	if err != nil && strings.Contains(err.Error(), "log_density is") && !strings.Contains(err.Error(), "round in different ways") {
		return fmt.Errorf("%w: F, Start, Observe, a prior or a likelihood gives other numbers than before", err)
	}
	return err
}

// fields returns what a file says of the run. ArviZ makes attributes of the values
// that have no blanks; notes are sentences.
func (j *job) fields(hash string) []mcmc.Field {
	words := strings.NewReplacer("bayes.", "", "sample.", "", "mcmc.", "", ", ", ",", ": ", ":", " ~ ", "~", " ", "_", "\n", "_")
	var out []mcmc.Field
	add := func(key, value string) {
		out = append(out, mcmc.Field{Key: key, Value: strings.ToValidUTF8(words.Replace(value), "�")})
	}
	add("scheme", fmt.Sprintf("%v, %s", j.sampler, literal.NonZero(j.sampler)))
	priors := 0
	for _, d := range j.p.Describe() {
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
	e         *bayes.Density
	u, theta  []float64
	xi        []float64
	densities [2]float64
}

// probePoints is the number of draws of the prior that tell two models apart.
const probePoints = 8

func newProbe(p *bayes.Posterior) (*probe, error) {
	e, err := bayes.NewDensity(context.Background(), p)
	if err != nil {
		return nil, err
	}
	q := &probe{e: e, u: make([]float64, e.Dim()), theta: make([]float64, e.Dim()), xi: make([]float64, e.NoiseLen())}
	normals(q.xi, probode.Stream(0x70726f6265))
	return q, nil
}

// at computes the two log densities at theta. Where the equations cannot be
// solved, and where theta is outside of the support, they are −∞.
func (q *probe) at(theta []float64) {
	q.densities = [2]float64{math.Inf(-1), math.Inf(-1)}
	if q.e.Unconstrain(q.u, theta) != nil {
		return
	}
	lp := q.e.Constrain(q.theta, q.u)
	for i, xi := range [][]float64{nil, q.xi} {
		if ll, err := q.e.LogLikelihood(q.theta, xi); err == nil {
			q.densities[i] = lp + ll
		}
	}
}

// hash returns the hash of the densities at some draws of the prior and of what
// is expected of the data there.
func (q *probe) hash() string {
	h := fnv.New64a()
	for i := range probePoints {
		q.at(q.e.Posterior().DrawPrior(probode.Stream(0x70726f6265, uint64(i))))
		a := mcmc.NewArchive(nil)
		a.Floats(q.densities[:])
		a.Floats(q.e.Expected())
		h.Write(a.Bytes())
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// A streamed is a kernel that can say what its model gives at its position.
type streamed struct {
	*guard
	*probe
}

var _ store.Evaluator = (*streamed)(nil)

// Evaluate returns the log densities at the position, without noise and with that
// of the probe.
func (k *streamed) Evaluate() []float64 {
	k.probe.at(k.Position())
	return slices.Clone(k.densities[:])
}

// Notes returns what the kernel has tuned.
func (k *streamed) Notes() []string {
	if what, value := k.guard.tuned(); what != "" {
		return []string{what + ": " + value}
	}
	return nil
}
