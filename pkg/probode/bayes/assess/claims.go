package assess

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode"
)

type rows []Claim

func (r *rows) number(kind, step, run string, value, se float64) {
	r.check(Claim{Kind: kind, Step: step, Run: run, Value: value, SE: se, Limit: math.NaN(), Verdict: Negligible}, "")
}

func (r *rows) warn(kind, step, sentence string) {
	nan := math.NaN()
	r.check(Claim{Kind: kind, Step: step, Value: nan, SE: nan, Limit: nan, Verdict: Matters}, sentence)
}

func (r *rows) limit(kind, step, run string, value, limit float64, within bool, sentence string) {
	c := Claim{Kind: kind, Step: step, Run: run, Value: value, SE: math.NaN(), Limit: limit, Verdict: Matters}
	if within {
		c.Verdict, sentence = Negligible, ""
	}
	r.check(c, sentence)
}

func (r *rows) check(c Claim, sentence string) {
	c.Mode, c.Sentence = -1, sentence
	*r = append(*r, c)
}

func (a *assessment) claims(j *judge) []Claim {
	r := &rows{}
	r.limit("interim analyses", "", "", float64(a.looked), float64(a.out.Looks), true, "")
	a.claimEffects(r)
	a.claimReference(r, j)
	for i := range a.out.Steps {
		a.claimModes(r, j, i)
	}
	if m := a.modes.reference; m != nil && m.Tried > 0 && m.Doubtful() {
		r.warn("search for modes", "", fmt.Sprintf(saidSearch, "reference", m.Missed()))
	}
	if n := len(weighty(a.out.ReferenceModes)); n > 1 && a.y != nil {
		worst := a.y.summed.worstRHat()
		r.limit("R̂ between modes", "", "", worst, mixed, worst <= mixed, fmt.Sprintf(saidStuck, n))
	}
	for i := range a.out.Steps {
		a.claimStep(r, i)
	}
	a.claimSource(r)
	a.claimOrder(r)
	a.claimAlpha(r)
	a.claimSigma(r)
	var off []string
	for _, l := range a.ladder {
		if !l.exact {
			off = append(off, fmt.Sprintf("%.4g", l.StepSize))
		}
	}
	if off != nil {
		r.warn("observations between grid points", "", fmt.Sprintf(saidBetween, strings.Join(off, ", "), a.out.Order+2, a.out.Order+2, a.out.Order))
	}
	return *r
}

// claimEffects adds eight rows for each effect: median, half the width of the central
// interval, mean and standard deviation, each as an estimate and compared with the
// reference posterior. Certificates and bounds have one row.
func (a *assessment) claimEffects(r *rows) {
	limit := a.out.Threshold
	for i := range a.out.Steps {
		st := &a.out.Steps[i]
		for _, inf := range st.runs() {
			for j, whole := range inf.Effects {
				for part, e := range append([]Effect{whole}, whole.Within...) {
					for _, s := range []struct {
						bias, ratio, center, spread string
						Shift
					}{{"median bias", "interval ratio", "median", "half interval", e.Median}, {"bias", "sd ratio", "mean", "sd", e.Mean}} {
						c := Claim{Kind: s.bias, Step: st.String(), Run: inf.Sampler, Parameter: a.out.Params[j].Name, Mode: part - 1,
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
		if c := st.Certificate; c != nil && len(c.Modes) > 0 {
			row := Claim{Kind: "certificate", Step: st.String(), Value: c.Modes[c.Worst(limit)].Bound, SE: math.NaN(), Limit: limit}
			sentence := ""
			if c.Certified(limit) {
				if sentence = a.against(i); sentence == "" {
					row.Verdict = Negligible
				} else {
					sentence = fmt.Sprintf(saidWithdrawn, st, sentence)
				}
			}
			r.check(row, sentence)
		}
		if b := st.Bound; b != nil {
			r.check(Claim{Kind: "bound", Step: st.String(), Value: b.length(), SE: math.NaN(), Limit: 2 * math.Log1p(limit), Verdict: b.Verdict}, "")
		}
	}
}

// against describes how the assessment contradicts the certificate of step i, or returns
// "". The certificate uses no draws, and fewer solvers to search for modes.
func (a *assessment) against(i int) string {
	st := &a.out.Steps[i]
	for _, m := range st.Modes {
		if m.Phantom || m.Missed {
			return fmt.Sprintf(saidOtherMode, a.out.at(m.Theta), map[bool]string{true: "only the posterior at this step has", false: "only the reference posterior has"}[m.Phantom])
		}
	}
	moments := func(e Effect) bool { return e.Mean.Verdict == Matters }
	switch d := st.Deterministic; {
	case a.own.points > 0 && !a.own.enough(a.out.Threshold):
		return sayDistrust(a.own, a.out.Threshold)
	case a.y != nil && !a.y.whole():
		return fmt.Sprintf(saidMissedPart, a.y.missed)
	case d != nil && (d.Verdict == Matters || slices.ContainsFunc(d.Effects, moments)):
		return saidSampled
	}
	return ""
}

func (a *assessment) claimReference(r *rows, j *judge) {
	y := a.y
	if y == nil {
		r.warn("reference", "", cmp.Or(a.slow, saidNoReference))
		return
	}
	r.limit("k̂", "", "", y.khat, y.limit, y.khat <= y.limit, fmt.Sprintf(saidKHat, y.khat, y.by, y.limit))
	r.limit("effective weighted draws", "", "", y.worth, fewest, y.worth >= fewest || !(y.khat <= y.limit), fmt.Sprintf(saidWorth, y.by, fewest))
	if o := a.own; o.unseen == 0 {
		r.limit("missed part", "", "", y.missed, mostMissed, y.whole(), "no verdict: "+fmt.Sprintf(saidMissedPart, y.missed))
	}
	distrust := ""
	if ok := a.own.enough(a.out.Threshold); !ok {
		distrust = "no verdict: " + sayDistrust(a.own, a.out.Threshold)
	}
	r.limit("reference error", "", "", a.own.d, a.out.Threshold/10, distrust == "", distrust)
	r.limit("pulse beside the reference", "", "", a.own.unseen, a.out.Threshold/10, true, "")
	r.number("reference points", "", "", float64(a.own.points), math.NaN())
	r.number("reference failures", "", "", a.own.failed, math.NaN())
	r.number("reference seconds", "", "", a.own.seconds+a.weighing, math.NaN())
	r.number("unseen mass", "", "", a.out.Unseen, math.NaN())
	for k, q := range a.out.Params {
		if q.HeavyTails {
			r.check(Claim{Kind: "tail index", Parameter: q.Name, Value: y.tails[k], SE: math.NaN(), Limit: 0.5, Verdict: Matters}, fmt.Sprintf(saidHeavy, q.Name, y.tails[k]))
		}
	}
}

func (a *assessment) claimModes(r *rows, j *judge, i int) {
	st, f := &a.out.Steps[i], &a.modes.steps[i]
	for _, m := range st.Modes {
		at, said := where(a.out.Names, m.Theta, st.Modes), ""
		for _, one := range []struct {
			is         bool
			kind, said string
		}{{m.Phantom, "phantom mode", saidPhantom}, {m.Missed, "missed mode", saidMissed}} {
			if one.is {
				if said = ""; max(m.Mass, m.Gaussian) >= rightMass {
					said = fmt.Sprintf(one.said, st, at, m.Mass)
				}
				r.check(Claim{Kind: one.kind, Step: st.String(), Value: m.Mass, SE: math.NaN(), Limit: minor, Verdict: verdictOnModes([]ModeShare{m})}, said)
			}
		}
		if wrong := sayWrongShare(m); wrong != "" {
			r.limit("share of a mode", st.String(), "", m.Visited, m.Gaussian, false, st.String()+": the mode at "+at+" "+wrong)
		}
	}
	if d := a.runs[i]; d != nil && j.allowed {
		for k, q := range a.out.Params {
			if u := j.unvisited(d, j.y, k); u.size > unvisitedSize && !q.HeavyTails {
				r.check(Claim{Kind: "mode without draws", Step: st.String(), Parameter: q.Name, Value: u.size, SE: math.NaN(), Limit: unvisitedSize},
					fmt.Sprintf(saidUnvisited, st, q.Name, u.size, a.out.at(u.theta), u.mass))
			}
		}
	}
	if f.modes != nil && f.modes.Doubtful() {
		r.warn("search for modes", st.String(), fmt.Sprintf(saidSearch, st, st.Unsearched))
	}
}

func (a *assessment) claimStep(r *rows, i int) {
	st, step := &a.out.Steps[i], a.out.Steps[i].String()
	switch {
	case st.Err != "" && st.Deterministic != nil:
		r.warn("failure", step, step+": "+st.Err)
	case st.Err != "":
		r.warn("failure", step, "nothing is known at "+step+": "+st.Err)
	}
	if a.paths != nil {
		r.number("path error", step, "", a.paths[i], math.NaN())
	}
	if s := a.scales[i]; s.alpha > 0 {
		r.number("α", step, "", s.alpha, math.NaN())
	}
	if s := a.scales[i]; s.star != nil {
		r.number("α*", step, "", s.star.Alpha, s.star.SE)
		for _, v := range s.at {
			r.number("α* at a draw", step, "", v, math.NaN())
		}
	}
	if d := a.runs[i]; d != nil {
		r.limit("k̂", step, "", d.khat, d.limit, true, "")
		r.number("draws needed", step, "", d.summed.needed(a.out.Threshold), math.NaN())
		a.claimChains(r, d, step, d.summed.Sampler+", "+step)
	}
	if d := a.noisy[i]; d != nil {
		a.claimChains(r, d, step, d.summed.Sampler+", "+step)
	}
}

func (a *assessment) claimChains(r *rows, d *draws, step, where string) {
	var rhat, few []string
	worst, least := 0.0, math.Inf(1)
	inf := d.summed
	for _, m := range inf.Summary {
		if !(m.RHat <= wellMixed) {
			rhat = append(rhat, m.Name)
			worst = math.Max(worst, m.RHat)
		}
		if ess := math.Min(m.BulkESS, m.TailESS); !(ess >= float64(fewEach*inf.Chains)) {
			few = append(few, m.Name)
			least = math.Min(least, ess/float64(inf.Chains))
		}
	}
	also := ""
	if rhat != nil {
		also = fmt.Sprintf(saidAlso, worst)
	}
	if few != nil {
		r.limit("effective draws", step, inf.Sampler, least*float64(inf.Chains), float64(fewEach*inf.Chains), false, fmt.Sprintf(saidFew, where, least, fewEach, also, strings.Join(few, ", ")))
	} else if rhat != nil {
		r.limit("R̂", step, inf.Sampler, worst, wellMixed, false, fmt.Sprintf(saidMixing, where, worst, strings.Join(rhat, ", ")))
	}
	r.limit("failed solves", step, inf.Sampler, d.failed, mostFailing, d.failed <= mostFailing, fmt.Sprintf(saidFailing, where, 100*d.failed))
}

func (a *assessment) claimSource(r *rows) {
	if a.y == nil {
		return
	}
	if !slices.Contains(a.runs, a.y.draws) {
		a.claimChains(r, a.y.draws, "", fmt.Sprintf("the chains of the reference posterior (solver: %v, %s)", a.y.p.Method, setting(a.y.p)))
	}
	var unsound []string
	for _, k := range a.assessed {
		if m := a.y.summed.Summary[k]; !sound(m) {
			unsound = append(unsound, m.Name)
		}
	}
	if unsound != nil {
		r.warn("chains of the reference posterior", "", fmt.Sprintf(saidUnsound, strings.Join(unsound, ", "), mixed, fewest))
	}
}

func (a *assessment) claimOrder(r *rows) {
	if a.out.controlled() || a.paths == nil {
		return // tolerances have no order of convergence
	}
	want, remedy := nominal(a.p.Method)
	if want == a.p.Method.Order() || remedy == "" {
		remedy = saidOrderRemedy
	}
	judged := false // true once the two smallest steps with errors well above rounding are judged
	for i := a.finest() - 1; i >= 0; i-- {
		c, f := &a.ladder[i], &a.ladder[i+1]
		order := math.Log(a.paths[i]/a.paths[i+1]) / math.Log(c.StepSize/f.StepSize)
		row, sentence := Claim{Kind: "order", Step: c.String(), Value: order, SE: math.NaN(), Limit: float64(want), Verdict: Negligible}, ""
		if !judged && !math.IsNaN(order) && !(a.paths[i+1] < smallestPath) {
			judged = true
			switch {
			case a.paths[i] > roughPath:
				row.Verdict, sentence = Undecided, fmt.Sprintf(saidRough, c, 100*a.paths[i])
			case order < float64(want)-0.5:
				row.Verdict, sentence = Matters, fmt.Sprintf(saidOrder, c, f.StepSize, order, a.out.Method, want, remedy)
			}
		}
		r.check(row, sentence)
	}
}

func (a *assessment) claimAlpha(r *rows) {
	ratio := func(x, y float64) float64 { return math.Exp(math.Abs(math.Log(x / y))) }
	for i, s := range a.scales {
		if s.star == nil {
			continue
		}
		l, star := &a.ladder[i], s.star.Alpha
		if s.warnings != nil {
			r.warn("calibration", l.String(), fmt.Sprintf(saidCalibration, star, l, strings.Join(s.warnings, "; ")))
		}
		if i < a.finest() && a.scales[i+1].star != nil && !a.out.controlled() { // the noise does not scale with a tolerance
			f := a.scales[i+1].star
			se := math.Hypot(s.star.SE/star, f.SE/f.Alpha)
			n := ratio(star, f.Alpha)
			r.limit("α over steps", l.String(), "", n, alphaSteps, !(n > alphaSteps*math.Exp(decisive*nanOr(se, 0))), fmt.Sprintf(saidAlphaSteps, star, l, f.Alpha, &a.ladder[i+1], alphaSteps))
		}
		worst, at := 1.0, star
		for _, v := range s.at {
			if n := ratio(v, star); n > worst {
				worst, at = n, v
			}
		}
		r.limit("α over θ", l.String(), "", worst, alphaTheta, worst <= alphaTheta, fmt.Sprintf(saidAlphaTheta, l, star, at, alphaTheta))
		if a.p.Alpha > 0 {
			n := ratio(s.alpha, star)
			r.limit("given α", l.String(), "", n, alphaTheta, !(n > alphaTheta), fmt.Sprintf(saidAlphaGiven, s.alpha, l, star))
		}
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
		for i, d := range a.runs {
			if d == nil {
				continue
			}
			if e := d.summed.Effects[j]; e.Verdict == Matters && sign*e.Median.Bias > a.out.Threshold+decisive*e.Median.BiasSE {
				names = append(names, q.Name)
				taken = append(taken, fmt.Sprintf(saidTaken, q.Name, e.Median.Center, &a.ladder[i], q.Median.Center))
				break
			}
		}
	}
	if names != nil {
		r.warn("size of the data's errors", "", fmt.Sprintf(saidSigma, strings.Join(taken, "; "), strings.Join(names, ", ")))
	}
}

// nominal returns the order of a method, and what to do if the actual one is lower, as
// that of an Adams–Moulton method which is linearised at the current state.
func nominal(m probode.Method) (order int, remedy string) {
	if n, ok := m.(interface{ Nominal() (int, string) }); ok {
		return n.Nominal()
	}
	return m.Order(), ""
}
