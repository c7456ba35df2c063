package assess

import (
	"io"
	"math"
	"strings"

	"github.com/probode/probode/pkg/internal/jsonfile"
)

// jsonVersion grows when a name of docs/json.md goes or changes its meaning.
const jsonVersion = 2

type object = jsonfile.Object

// WriteJSON writes the report for programs, as docs/json.md describes. A number that is
// not known is null.
func (a *Report) WriteJSON(w io.Writer) error {
	verdict, solver, largest := Undecided, "", math.NaN()
	if len(a.Asked) > 0 {
		verdict = a.verdict(a.Asked[0])
	}
	for _, i := range a.Asked {
		if c := a.Steps[i].Certificate; c != nil && len(c.Modes) > 0 {
			solver = c.Reference
		}
	}
	if a.Largest > 0 {
		largest = a.Largest
	}
	return object{
		"format", "probode assess", "version", jsonVersion, "model", a.Model, "verdict", verdict.String(), "largest_negligible", largest,
		"reasons", lines(a.Answer()), "warnings", append([]string{}, a.Warnings...),
		"thresholds", object{"bias", a.Threshold, "sd_ratio", a.Threshold, "confidence", a.Confidence, "looks", a.Looks},
		"reference", object{"solver", solver, "D", a.Reference.D, "by", a.ReferenceBy, "khat", a.KHat, "khat_limit", a.khatLimit(),
			"points", a.Reference.Points, "seconds", a.Reference.Seconds, "modes", a.jsonModes(a.ReferenceModes),
			"parameters", jsonfile.List(len(a.Params), func(j int) object {
				q := &a.Params[j]
				return object{"name", q.Name, "mean", q.Mean, "mean_se", q.MeanSE, "sd", q.SD, "sd_se", q.SDSE, "judged_by", q.JudgedBy()}
			})},
		"steps", jsonfile.List(len(a.Asked), func(i int) object { return a.jsonStep(a.Asked[i]) }),
		"remedies", jsonfile.List(len(a.Remedies), func(i int) object {
			r := a.Remedies[i]
			return object{"kind", r.Kind, "name", r.Name, "bias", r.Bias, "sd_ratio", r.Ratio, "seconds", r.Seconds, "seconds_to_reach", r.Reach,
				"reaches_threshold", r.Reaches, "recommended", r.Recommended, "note", r.Note}
		}),
		"claims", jsonfile.List(len(a.Claims), func(i int) object {
			c := a.Claims[i]
			return object{"kind", c.Kind, "step", c.Step, "run", c.Run, "parameter", c.Parameter, "mode", c.Mode,
				"value", c.Value, "se", c.SE, "limit", c.Limit, "verdict", c.Verdict.String(), "sentence", c.Sentence}
		}),
	}.Write(w)
}

func (a *Report) jsonStep(i int) object {
	st := &a.Steps[i]
	h, rtol, atol := math.NaN(), math.NaN(), math.NaN()
	if st.StepSize > 0 {
		h = st.StepSize
	} else {
		rtol = st.Tolerance.Relative
		if len(st.Tolerance.Absolute) == 1 {
			atol = st.Tolerance.Absolute[0]
		}
	}
	failure, certificate, needed := any(nil), any(nil), math.NaN()
	if st.Err != "" {
		failure = st.Err
	}
	if st.Deterministic != nil {
		needed = st.Deterministic.DrawsNeeded(a.Threshold)
	}
	if c := st.Certificate; c != nil && len(c.Modes) > 0 {
		m := c.Modes[c.Worst(a.Threshold)]
		certificate = object{"D", m.D, "bound", m.Bound, "shift", jsonfile.Named(c.Params, m.Shift), "total_variation", m.TV, "kullback_leibler", m.KL, "certified", c.Certified(a.Threshold)}
	}
	return object{"h", h, "tol", rtol, "atol", atol, "method", a.Method, "alpha", st.Alpha, "verdict", a.verdict(i).String(), "error", failure, "draws_needed", needed,
		"modes", a.jsonModes(st.Modes),
		"parameters", jsonfile.List(len(a.Params), func(j int) object {
			return object{"name", a.Params[j].Name, "judged_by", a.Params[j].JudgedBy(), "classical", st.Deterministic.jsonEffect(j), "noisy", st.Probabilistic.jsonEffect(j)}
		}),
		"certificate", certificate, "cost", object{"classical", st.Deterministic.jsonCost(), "noisy", st.Probabilistic.jsonCost()}}
}

// jsonModes returns the modes of a posterior, whose masses sum to 1.
func (a *Report) jsonModes(modes []Mode) []object {
	var sum float64
	for _, m := range modes {
		sum += m.Mass
	}
	return jsonfile.List(len(modes), func(k int) object {
		return object{"theta", jsonfile.Named(a.Names, modes[k].Theta), "mass", modes[k].Mass / sum, "phantom", modes[k].Phantom}
	})
}

func (inf *Inference) jsonEffect(j int) any {
	if inf == nil || j >= len(inf.Effects) {
		return nil
	}
	numbers := func(e Effect) object {
		return object{"bias", e.Bias, "bias_se", e.BiasSE, "sd_ratio", e.Ratio, "sd_ratio_se", e.RatioSE, "verdict", e.Verdict.String()}
	}
	e, m := inf.Effects[j], inf.Estimates[j]
	out := append(object{"mean", m.Center, "sd", m.Spread}, numbers(e)...)
	return append(out, "within", jsonfile.List(len(e.Within), func(k int) object { return numbers(e.Within[k]) }))
}

func (inf *Inference) jsonCost() any {
	if inf == nil {
		return nil
	}
	return object{"sampler", inf.Sampler, "chains", inf.Chains, "draws", inf.Draws, "solves", inf.Solves, "seconds", inf.Seconds, "ess_per_second", inf.ESSPerSecond}
}

// lines splits a text into its lines.
func lines(text string) []string {
	return append([]string{}, strings.FieldsFunc(strings.TrimSpace(text), func(r rune) bool { return r == '\n' })...)
}
