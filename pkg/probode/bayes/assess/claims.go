package assess

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

type rows []Claim

// number adds a row with a number but without a limit.
func (r *rows) number(kind, candidate string, value, se float64) {
	r.check(Claim{Kind: kind, Candidate: candidate, Value: value, SE: se, Limit: math.NaN(), Verdict: Negligible}, "")
}

// warn adds a row with a warning but without a number.
func (r *rows) warn(kind, candidate, sentence string) {
	nan := math.NaN()
	r.check(Claim{Kind: kind, Candidate: candidate, Value: nan, SE: nan, Limit: nan, Verdict: Matters}, sentence)
}

// limit adds a row with a number and its limit. If the number is not within the limit,
// the row also contains the given sentence.
func (r *rows) limit(kind, candidate string, value, limit float64, within bool, sentence string) {
	c := Claim{Kind: kind, Candidate: candidate, Value: value, SE: math.NaN(), Limit: limit, Verdict: Matters}
	if within {
		c.Verdict, sentence = Negligible, ""
	}
	r.check(c, sentence)
}

func (r *rows) check(c Claim, sentence string) {
	c.Mode, c.Sentence = -1, sentence
	*r = append(*r, c)
}

// claims returns all claims in the report.
func (a *assessment) claims() []Claim {
	r := &rows{}
	r.limit("looks", "", float64(a.looked), float64(a.out.Looks), true, "")
	a.claimReference(r)
	for i := range a.out.Candidates {
		a.claimEffects(r, i)
		a.claimModes(r, i)
		a.claimCandidate(r, i)
	}
	a.claimSigma(r)
	var off []string
	for i := range a.setups {
		if s := &a.setups[i]; !s.exact {
			off = append(off, s.String())
		}
	}
	if off != nil {
		r.warn("observations between grid points", "", fmt.Sprintf(saidBetween, strings.Join(off, "; ")))
	}
	return *r
}

// claimEffects adds eight rows for each effect. The rows describe the median, half the
// width of the central interval, the mean and the standard deviation. Each quantity has
// two rows: one with the estimate, and one that compares the estimate with the reference
// posterior. claimEffects also adds one row for the certificate.
func (a *assessment) claimEffects(r *rows, i int) {
	limit := a.out.Threshold
	x := a.out.Candidates[i]
	if inf := x.Inference; inf != nil {
		for j, whole := range inf.Effects {
			for part, e := range append([]Effect{whole}, whole.Within...) {
				for _, s := range []struct {
					bias, ratio, center, spread string
					Shift
				}{{"median bias", "interval ratio", "median", "half interval", e.Median}, {"bias", "sd ratio", "mean", "sd", e.Mean}} {
					c := Claim{Kind: s.bias, Candidate: x.String(), Parameter: a.out.Params[j].Name, Mode: part - 1,
						Value: s.Bias, SE: s.BiasSE, Limit: limit, Verdict: s.Verdict}
					at := c
					at.Kind, at.Value, at.SE, at.Limit, at.Verdict = s.center, s.Center, s.CenterSE, math.NaN(), Negligible
					d := c
					d.Kind, d.Value, d.SE, d.Limit = s.ratio, s.Ratio, s.RatioSE, 1+limit
					wide := at
					wide.Kind, wide.Value, wide.SE = s.spread, s.Spread, s.SpreadSE
					*r = append(*r, c, d, at, wide)
				}
			}
		}
	}
	if c := x.Certificate; c != nil && len(c.Modes) > 0 {
		row := Claim{Kind: "certificate", Candidate: x.String(), Value: c.Modes[c.Worst(limit)].Bound, SE: math.NaN(), Limit: limit}
		sentence := ""
		if c.Certified(limit) {
			if sentence = a.against(i); sentence == "" {
				row.Verdict = Negligible
			} else {
				sentence = fmt.Sprintf(saidWithdrawn, x, sentence)
			}
		}
		r.check(row, sentence)
	}
}

// against describes in one sentence how the assessment contradicts the certificate of
// candidate i. If there is no contradiction, against returns an empty string. The
// certificate uses no draws, so the assessment may reveal an error that it does not show.
func (a *assessment) against(i int) string {
	x := a.out.Candidates[i]
	for _, m := range x.Modes {
		if m.Phantom || m.Missed {
			return fmt.Sprintf(saidOtherMode, a.out.at(m.Theta), map[bool]string{true: "only the posterior of this solver has", false: "only the reference posterior has"}[m.Phantom])
		}
	}
	matters := x.Verdict == Matters
	if x.Inference != nil {
		matters = matters || slices.ContainsFunc(x.Inference.Effects, func(e Effect) bool { return e.Mean.Verdict == Matters })
	}
	switch {
	case a.y != nil && !a.own.enough(a.out.Threshold):
		return sayDistrust(a.own, a.out.Threshold)
	case matters:
		return saidSampled
	}
	return ""
}

// claimReference adds rows that show how well the reference posterior is known.
func (a *assessment) claimReference(r *rows) {
	if a.y == nil {
		r.warn("reference", "", cmp.Or(a.why, saidStopped))
		return
	}
	distrust := ""
	if !a.own.enough(a.out.Threshold) {
		distrust = sayDistrust(a.own, a.out.Threshold)
	}
	r.limit("reference error", "", a.own.d, a.out.Threshold/10, distrust == "", distrust)
	r.number("reference points", "", float64(a.own.points), math.NaN())
	r.number("unseen mass", "", a.out.Unseen, math.NaN())
	for k, q := range a.out.Params {
		if q.HeavyTails {
			r.check(Claim{Kind: "tail index", Parameter: q.Name, Value: a.tails[k], SE: math.NaN(), Limit: 0.5, Verdict: Matters}, q.Name+": "+fmt.Sprintf(saidHeavy, a.tails[k]))
		}
	}
	if m := a.modes.reference; m.Tried > 0 && m.Doubtful() {
		r.warn("search for modes", "", fmt.Sprintf(saidSearch, "reference", m.Missed()))
	}
	a.claimChains(r, a.y, "")
}

// claimModes adds warnings about the modes of candidate i: about phantoms, about missed
// modes, about modes with too few draws, and about modes that the search may have missed.
func (a *assessment) claimModes(r *rows, i int) {
	x, f := a.out.Candidates[i], &a.modes.setups[a.setupOf(i)]
	if x.Noisy {
		return
	}
	for _, m := range x.Modes {
		at, said := where(a.out.Names, m.Theta, x.Modes), ""
		for _, one := range []struct {
			is         bool
			kind, said string
		}{{m.Phantom, "phantom mode", saidPhantom}, {m.Missed, "missed mode", saidMissed}} {
			if one.is {
				if said = ""; max(m.Mass, m.Estimate) >= rightMass {
					said = fmt.Sprintf(one.said, x, at, m.Mass)
				}
				r.check(Claim{Kind: one.kind, Candidate: x.String(), Value: m.Mass, SE: math.NaN(), Limit: minor, Verdict: verdictOnModes([]ModeShare{m})}, said)
			}
		}
		if wrong := sayWrongShare(m); wrong != "" {
			r.limit("share of a mode", x.String(), m.Visited, m.Estimate, false, x.String()+": the mode at "+at+" "+wrong)
		}
	}
	if f.modes != nil && f.modes.Doubtful() {
		r.warn("search for modes", x.String(), fmt.Sprintf(saidSearch, x, x.Unsearched))
	}
}

// claimCandidate adds the numbers for candidate i, and warnings about its run.
func (a *assessment) claimCandidate(r *rows, i int) {
	x := a.out.Candidates[i]
	name := x.String()
	if a.failures[i] != "" {
		r.warn("failure", name, name+": "+a.failures[i])
	}
	if x.Inference != nil && x.Inference.Weighted {
		w := a.weightings[a.setupOf(i)]
		r.limit("k̂", name, w.khat, w.limit, true, "")
	}
	if d := a.runs[i]; d != nil {
		a.claimChains(r, d, name)
	}
	if star := a.scales[a.setupOf(i)]; x.Noisy && star != nil {
		r.number("α", name, x.Alpha, math.NaN())
		r.number("α*", name, star.Alpha, star.SE)
		if star.Warnings != nil {
			r.warn("calibration", name, fmt.Sprintf(saidCalibration, star.Alpha, name, strings.Join(star.Warnings, "; ")))
		}
		if v := a.p.Alpha; v > 0 {
			n := math.Exp(math.Abs(math.Log(v / star.Alpha)))
			r.limit("given α", name, n, alphaGiven, !(n > alphaGiven), fmt.Sprintf(saidAlphaGiven, v, name, star.Alpha))
		}
	}
}

// claimChains adds warnings about the chains of a run: of candidate or, if the name is
// empty, of the reference posterior.
func (a *assessment) claimChains(r *rows, d *draws, candidate string) {
	where := cmp.Or(candidate, "the reference posterior")
	var rhat, few []string
	worst, least := 0.0, math.Inf(1)
	chains := len(d.all.Draws)
	for _, m := range d.result.Summary {
		if !(m.RHat <= wellMixed) {
			rhat = append(rhat, m.Name)
			worst = math.Max(worst, m.RHat)
		}
		if ess := math.Min(m.BulkESS, m.TailESS); !(ess >= float64(fewEach*chains)) {
			few = append(few, m.Name)
			least = math.Min(least, ess/float64(chains))
		}
	}
	also := ""
	if rhat != nil {
		also = fmt.Sprintf(saidAlso, worst)
	}
	if few != nil {
		r.limit("effective draws", candidate, least*float64(chains), float64(fewEach*chains), false, fmt.Sprintf(saidFew, where, least, fewEach, also, strings.Join(few, ", ")))
	} else if rhat != nil {
		r.limit("R̂", candidate, worst, wellMixed, false, fmt.Sprintf(saidMixing, where, worst, strings.Join(rhat, ", ")))
	}
	for _, note := range d.notes {
		r.warn("sampler", candidate, where+": "+note)
	}
}

func (a *assessment) claimSigma(r *rows) {
	var names, taken []string
	spreads := a.p.Spreads()
	for j, q := range a.out.Params {
		sign, ok := spreads[q.Name]
		if !ok {
			continue
		}
		for _, x := range a.out.Candidates {
			if x.Inference == nil {
				continue
			}
			if e := x.Inference.Effects[j]; e.Verdict == Matters && sign*e.Median.Bias > a.out.Threshold+decisive*e.Median.BiasSE {
				names = append(names, q.Name)
				taken = append(taken, fmt.Sprintf(saidTaken, q.Name, e.Median.Center, x, q.Median.Center))
				break
			}
		}
	}
	if names != nil {
		r.warn("size of the data's errors", "", fmt.Sprintf(saidSigma, strings.Join(taken, "; "), strings.Join(names, ", ")))
	}
}
