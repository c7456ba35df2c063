package assess

import (
	"io"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/internal/jsonfile"
)

// jsonVersion is increased when a name in docs/json.md is removed or changes its meaning.
const jsonVersion = 2

type object = jsonfile.Object

// WriteJSON writes the report in the machine-readable form that docs/json.md describes. A
// number that is not known is written as null.
func (a *Report) WriteJSON(w io.Writer) error {
	verdict := Undecided
	if len(a.Asked) > 0 {
		verdict = a.Steps[a.Asked[0]].verdict()
	}
	value := func(kind string) float64 { return a.Claim(kind, "", "").Value }
	return object{
		"format", "probode assess", "version", jsonVersion, "model", a.Model, "verdict", verdict.String(), "largest_negligible", jsonfile.OrNull(a.Largest), "unseen_mass", a.Unseen,
		"reasons", lines(a.Answer()), "warnings", append([]string{}, a.Warnings()...),
		"thresholds", object{"bias", a.Threshold, "sd_ratio", a.Threshold, "confidence", a.Confidence, "looks", a.Looks},
		"reference", object{"solver", a.ReferenceSolver, "D", value("reference error"), "by", a.ReferenceBy, "khat", value("k̂"), "khat_limit", a.Claim("k̂", "", "").Limit,
			"points", value("reference points"), "seconds", value("reference seconds"), "modes", a.jsonModes(a.ReferenceModes),
			"parameters", jsonfile.List(len(a.Params), func(j int) object {
				q := &a.Params[j]
				by, m := q.judgedBy()
				return object{"name", q.Name, "mean", m.Center, "mean_se", m.CenterSE, "sd", m.Spread, "sd_se", m.SpreadSE, "judged_by", by,
					"median", q.Median.Center, "median_se", q.Median.CenterSE, "half_interval", q.Median.Spread, "half_interval_se", q.Median.SpreadSE}
			})},
		"steps", jsonfile.List(len(a.Asked), func(i int) object { return a.jsonStep(a.Asked[i]) }),
		"remedies", jsonfile.List(len(a.Remedies), func(i int) object {
			r := a.Remedies[i]
			return object{"kind", r.Kind, "name", r.Name, "bias", r.Bias, "bias_se", r.BiasSE, "sd_ratio", r.Ratio, "sd_ratio_se", r.RatioSE, "seconds", r.Seconds, "seconds_to_reach", a.reach(r.Kind),
				"reaches_threshold", r.Reaches, "recommended", r.Recommended, "note", r.Note}
		}),
		"claims", jsonfile.List(len(a.Claims), func(i int) object {
			c := a.Claims[i]
			return object{"kind", c.Kind, "step", c.Step, "run", c.Run, "parameter", c.Parameter, "mode", c.Mode,
				"value", c.Value, "se", c.SE, "limit", c.Limit, "verdict", c.Verdict.String(), "sentence", c.Sentence}
		}),
	}.Write(w)
}

// judgedBy returns what the JSON calls mean and sd: moments or, if the tails are heavy,
// quantiles.
func (q *AccurateMarginal) judgedBy() (string, CenterSpread) {
	if q.HeavyTails {
		return "quantiles", q.Median
	}
	return "moments", q.Mean
}

func (a *Report) jsonStep(i int) object {
	st := &a.Steps[i]
	rtol, atol := math.NaN(), math.NaN()
	if st.StepSize == 0 {
		rtol = st.Tolerance.Relative
	}
	if len(st.Tolerance.Absolute) == 1 {
		atol = st.Tolerance.Absolute[0]
	}
	certificate := any(nil)
	value := func(kind string) float64 { return a.Claim(kind, st.String(), "").Value }
	if c := st.Certificate; c != nil && len(c.Modes) > 0 {
		m := c.Modes[c.Worst(a.Threshold)]
		certificate = object{"D", m.D, "bound", m.Bound, "shift", jsonfile.Named(c.Params, m.Shift), "total_variation", m.TV, "kullback_leibler", m.KL,
			"certified", a.Claim("certificate", st.String(), "").Verdict == Negligible}
	}
	own := slices.DeleteFunc(slices.Clone(st.Modes), func(m ModeShare) bool { return m.Missed })
	return object{"h", jsonfile.OrNull(st.StepSize), "tol", rtol, "atol", atol, "method", a.Method, "alpha", value("α"), "verdict", st.verdict().String(), "error", jsonfile.OrNull(st.Err), "draws_needed", value("draws needed"),
		"modes", a.jsonModes(own),
		"parameters", jsonfile.List(len(a.Params), func(j int) object {
			by, _ := a.Params[j].judgedBy()
			return object{"name", a.Params[j].Name, "judged_by", by, "classical", a.jsonEffect(st.Deterministic, j), "noisy", a.jsonEffect(st.Probabilistic, j)}
		}),
		"certificate", certificate, "cost", object{"classical", st.Deterministic.jsonCost(), "noisy", st.Probabilistic.jsonCost()}}
}

func (a *Report) jsonModes(modes []ModeShare) []object {
	var sum float64
	for _, m := range modes {
		sum += m.Mass
	}
	return jsonfile.List(len(modes), func(k int) object {
		return object{"theta", jsonfile.Named(a.Names, modes[k].Theta), "mass", modes[k].Mass / sum, "phantom", modes[k].Phantom}
	})
}

func (a *Report) jsonEffect(inf *Inference, j int) any {
	if inf == nil || j >= len(inf.Effects) {
		return nil
	}
	stated := func(e Effect) Shift {
		if a.Params[j].HeavyTails {
			return e.Median
		}
		return e.Mean
	}
	numbers := func(e Effect) object {
		s, m := stated(e), e.Median
		return object{"bias", s.Bias, "bias_se", s.BiasSE, "sd_ratio", s.Ratio, "sd_ratio_se", s.RatioSE, "moments_verdict", e.Mean.Verdict.String(),
			"median_bias", m.Bias, "median_bias_se", m.BiasSE, "interval_ratio", m.Ratio, "interval_ratio_se", m.RatioSE, "verdict", e.Verdict.String()}
	}
	e := inf.Effects[j]
	out := object{"mean", stated(e).Center, "sd", stated(e).Spread, "median", e.Median.Center, "half_interval", e.Median.Spread}
	return append(append(out, numbers(e)...), "within", jsonfile.List(len(e.Within), func(k int) object { return numbers(e.Within[k]) }))
}

func (inf *Inference) jsonCost() any {
	if inf == nil {
		return nil
	}
	return object{"sampler", inf.Sampler, "chains", inf.Chains, "draws", inf.Draws, "solves", inf.Solves, "seconds", inf.Seconds, "ess_per_second", inf.ESSPerSecond}
}

func lines(text string) []string {
	return append([]string{}, strings.FieldsFunc(strings.TrimSpace(text), func(r rune) bool { return r == '\n' })...)
}
