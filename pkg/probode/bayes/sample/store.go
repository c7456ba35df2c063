package sample

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/internal/literal"
	"github.com/probode/probode/pkg/internal/release"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/store"
)

// Store makes the same draws as Run, bit for bit, and writes them to files in the folder
// `dir`. The documentation of store.Run describes the files. The same documentation
// explains how to resume a run that was stopped or killed, how to extend a finished run,
// and how to distribute a study over many machines. store.Read reads the draws in the
// form that Predict and LogPredictive need.
//
// The files contain a description of the run: the method, the step, α, the priors, the
// equations, the likelihoods, the data, the sampler with its settings, and the starting
// points of the chains. The entry log_density in each file is a hash of the densities of
// the model at some points. Store compares the hashes to detect differences that the
// description does not show, such as a different Problem.F. Store returns an error if the
// files in `dir` have a different description or log_density. In the files, the
// description of the run is followed by the fields of o.Meta. Store sets o.Notes.
//
// A chain can be resumed only if its saved log density and the recomputed log density
// agree bit for bit. Before a chain is resumed, Store repeats the last few iterations that
// preceded the saved state. The repeated iterations must lead to the saved state.
//
// All chains of a study must be drawn on the same kind of processor. If two processors
// compute exp or a fused multiply-add in different ways, their results differ in the last
// digits, and log_density differs, too. If two processors give different values of
// log_density, the error message mentions the processors as a possible cause.
func Store(ctx context.Context, p *bayes.Posterior, sampler Sampler, dir string, s mcmc.Settings, o store.Options) error {
	job, err := prepare(ctx, p, sampler, s)
	if err != nil {
		return err
	}
	mark, err := newProbe(p)
	if err != nil {
		return err
	}
	o.Meta = append(job.fields(mark.hash()), o.Meta...)
	o.Version = cmp.Or(o.Version, release.Version())
	o.Notes = job.noted
	inner, release := job.guarded(ctx)
	defer release()
	err = store.Run(inner, func(chain int) mcmc.Kernel {
		probe, err := newProbe(p)
		if err != nil {
			panic("sample: " + err.Error()) // the probe was made before without an error
		}
		return &streamed{guard: job.kernel(chain).(*guard), probe: probe}
	}, dir, job.settings, o)
	if fault := job.fault(); fault != nil {
		return fault
	}
	if err != nil && strings.Contains(err.Error(), "log_density is") {
		return fmt.Errorf("%w: F, Start, Observe, a prior or a likelihood no longer gives the same numbers as before, or another processor rounds differently", err)
	}
	return err
}

// fields returns fields with a description of the run. ArviZ reads a value as an
// attribute only if it contains no spaces, so spaces in values are replaced. Notes are
// sentences, so the spaces in notes are kept.
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
			priors++ // names can be any text, but keys cannot
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

// probe evaluates the model at a given θ, for ξ = 0 and for one fixed ξ.
type probe struct {
	e         *bayes.Density
	u, theta  []float64
	xi        []float64
	densities [2]float64
}

// probePoints is the number of draws from the prior at which two models are compared.
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

// evaluate computes two log densities at theta: one for ξ = 0, and one for ξ = q.xi. A
// log density is −∞ if the equations cannot be solved, or if theta is outside the
// support.
func (q *probe) evaluate(theta []float64) {
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

// hash evaluates the model at some draws from the prior. The result is a hash of the log
// densities and the expected values of the data.
func (q *probe) hash() string {
	h := fnv.New64a()
	for i := range probePoints {
		q.evaluate(q.e.Posterior().DrawPrior(probode.Stream(0x70726f6265, uint64(i))))
		a := mcmc.NewArchive(nil)
		a.Floats(q.densities[:])
		a.Floats(q.e.Expected())
		h.Write(a.Bytes())
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// streamed is a kernel that can also evaluate the model at its current position. When a
// run is resumed, the new log densities are compared with the saved log densities.
type streamed struct {
	*guard
	*probe
}

var _ store.Evaluator = (*streamed)(nil)

// Evaluate returns two log densities at the current θ: the first for ξ = 0, and the
// second for a fixed ξ.
func (k *streamed) Evaluate() []float64 {
	k.probe.evaluate(k.Position())
	return slices.Clone(k.densities[:])
}

// noted returns the name and the value of the quantity that the kernel has tuned, and
// describes regions and modes that the draws may lack.
func (j *job) noted(k mcmc.Kernel) (notes []string) {
	g := k.(*streamed).guard
	if j.algorithm.Tuned != nil {
		what, value := j.algorithm.Tuned(g.Kernel)
		notes = append(notes, what+": "+value)
	}
	for _, words := range []string{g.missing(), j.unexplored(g.Kernel)} {
		if words != "" {
			notes = append(notes, words)
		}
	}
	return notes
}
