package assess

import (
	"io"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/internal/jsonfile"
)

// jsonVersion is increased when a name in docs/json.md is removed or changes its meaning.
const jsonVersion = 3

type object = jsonfile.Object

// WriteJSON writes the report in the machine-readable form that docs/json.md describes. A
// number that is not known is written as null.
func (a *Report) WriteJSON(w io.Writer) error {
	reference := a.Claim("reference error", "")
	return object{
		"format", "probode assess", "version", jsonVersion, "model", a.Model, "answer", lines(a.Answer()), "unseen_mass", a.Unseen, "warnings", append([]string{}, a.Warnings()...),
		"thresholds", object{"bias", a.Threshold, "sd_ratio", a.Threshold, "confidence", a.Confidence, "looks", a.Looks},
		"reference", object{"solver", a.Reference, "drawn", a.Drawn, "D", reference.Value, "points", a.Claim("reference points", "").Value, "modes", a.jsonModes(a.ReferenceModes),
			"parameters", jsonfile.List(len(a.Params), func(j int) object {
				q := &a.Params[j]
				return object{"name", q.Name, "mean", q.Mean.Center, "mean_se", q.Mean.CenterSE, "sd", q.Mean.Spread, "sd_se", q.Mean.SpreadSE, "heavy_tails", q.HeavyTails,
					"median", q.Median.Center, "median_se", q.Median.CenterSE, "half_interval", q.Median.Spread, "half_interval_se", q.Median.SpreadSE}
			})},
		"candidates", jsonfile.List(len(a.Candidates), func(i int) object { return a.jsonCandidate(a.Candidates[i]) }),
		"claims", jsonfile.List(len(a.Claims), func(i int) object {
			c := a.Claims[i]
			return object{"kind", c.Kind, "candidate", c.Candidate, "parameter", c.Parameter, "mode", c.Mode,
				"value", c.Value, "se", c.SE, "limit", c.Limit, "verdict", c.Verdict.String(), "sentence", c.Sentence}
		}),
	}.Write(w)
}

func (a *Report) jsonCandidate(x *Candidate) object {
	h, rtol := x.Size, math.NaN()
	if x.Controlled {
		h, rtol = 0, x.Size
	}
	certificate := any(nil)
	if c := x.Certificate; c != nil && len(c.Modes) > 0 {
		m := c.Modes[c.Worst(a.Threshold)]
		certificate = object{"D", m.D, "bound", m.Bound, "shift", jsonfile.Named(c.Params, m.Shift), "total_variation", m.TV, "kullback_leibler", m.KL,
			"certified", a.Claim("certificate", x.String()).Verdict == Negligible}
	}
	own := slices.DeleteFunc(slices.Clone(x.Modes), func(m ModeShare) bool { return m.Missed })
	out := object{"name", x.String(), "method", x.Method, "h", jsonfile.OrNull(h), "tol", rtol, "noise", x.Noisy, "alpha", x.Alpha,
		"verdict", x.Verdict.String(), "why", jsonfile.OrNull(x.Why), "modes", a.jsonModes(own), "certificate", certificate}
	inf := x.Inference
	if inf == nil {
		return append(out, "inference", nil, "parameters", []object{})
	}
	khat := inf.KHat
	if math.IsInf(khat, 0) {
		khat = math.NaN()
	}
	return append(out,
		"inference", object{"by", inf.by(), "khat", khat, "sampler", inf.Sampler, "chains", inf.Chains, "draws", inf.Draws, "solves", inf.Solves, "seconds", inf.Seconds},
		"parameters", jsonfile.List(len(a.Params), func(j int) object {
			e := inf.Effects[j]
			return append(object{"name", a.Params[j].Name}, append(jsonEffect(e), "within", jsonfile.List(len(e.Within), func(k int) object { return jsonEffect(e.Within[k]) }))...)
		}))
}

func jsonEffect(e Effect) object {
	m, q := e.Mean, e.Median
	return object{"verdict", e.Verdict.String(), "median", q.Center, "half_interval", q.Spread, "median_bias", q.Bias, "median_bias_se", q.BiasSE, "interval_ratio", q.Ratio, "interval_ratio_se", q.RatioSE,
		"moments_verdict", m.Verdict.String(), "mean", m.Center, "sd", m.Spread, "bias", m.Bias, "bias_se", m.BiasSE, "sd_ratio", m.Ratio, "sd_ratio_se", m.RatioSE}
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

// lines splits text into lines.
func lines(text string) []string {
	return append([]string{}, strings.FieldsFunc(strings.TrimSpace(text), func(r rune) bool { return r == '\n' })...)
}
