package assess

import (
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
)

// A Claim is a row of the verdict: a number, its error, and the limit with which it was
// compared.
type Claim struct {
	Kind      string // what the number is, such as "bias", "k̂" or "R̂"
	Step      string // the setting of the step; empty if the row is about the assessment
	Run       string // the sampler; empty if the row is about no run
	Parameter string // empty if the row is about no single parameter
	Mode      int    // the mode of Report.ReferenceModes within which; −1 for the whole posterior

	Value, SE, Limit float64 // NaN where there is no such number
	Verdict          Verdict // Negligible within the limit, Matters beyond it

	// Sentence says what the number means and what to do about it; empty if the tables
	// show it.
	Sentence string
}

// evidence is what the claims rest on beside the report's numbers.
type evidence struct {
	p        *bayes.Posterior
	source   *Inference // the run whose weighted draws stand for the reference; nil without one
	sourceBy string     // its method and setting
	assessed []int
}

const (
	// alphaSteps and alphaTheta are the factors by which α* may differ between neighbouring
	// steps, and between the mode and draws of the posterior. The noise grows with the
	// root of α.
	alphaSteps, alphaTheta = 2, 4
	// wellMixed is the R̂ above which, and fewEach the effective draws of each chain below
	// which, a run gets a warning.
	wellMixed, fewEach = 1.01, 100
	// mostFailing is the share of failed solves above which a run gets a warning.
	mostFailing = 0.01
	// roughPath is the relative error of a path above which its order means nothing.
	roughPath = 0.1
)

// claim makes the rows of the verdict, and the warnings that follow from them.
func (a *Report) claim(ev evidence) {
	a.Claims, a.Warnings = nil, nil
	a.claimEffects()
	a.claimReference(ev)
	a.claimModes(ev)
	for i := range a.Steps {
		st := &a.Steps[i]
		if st.Err != "" {
			a.add(Claim{Kind: "failure", Step: st.String(), Sentence: sayFailure(st)})
		}
	}
	for i := range a.Steps {
		st := &a.Steps[i]
		for _, inf := range st.runs() {
			a.claimChains(inf, st.String(), inf.Sampler+", "+st.String())
		}
	}
	a.claimSource(ev)
	a.claimOrder(ev.p)
	a.claimAlpha(ev.p)
	a.claimSigma(ev.p)
	var off []*Step
	for i := range a.Steps {
		if st := &a.Steps[i]; !st.Exact {
			off = append(off, st)
		}
	}
	if off != nil {
		a.add(Claim{Kind: "observations between grid points", Sentence: sayBetween(off, a.Order)})
	}
}

// add keeps a row and, if it has a sentence, the warning.
func (a *Report) add(c Claim) {
	c.Mode = -1
	if c.Value == 0 && c.Limit == 0 {
		c.Value, c.Limit = math.NaN(), math.NaN()
	}
	c.SE = math.NaN()
	if c.Verdict == Undecided {
		c.Verdict = Matters
	}
	a.Claims = append(a.Claims, c)
	if c.Sentence != "" {
		a.Warnings = append(a.Warnings, c.Sentence)
	}
}

// claimEffects has two rows for each effect: its bias and its ratio of sds.
func (a *Report) claimEffects() {
	for i := range a.Steps {
		st := &a.Steps[i]
		for _, inf := range st.runs() {
			for j, whole := range inf.Effects {
				for part, e := range append([]Effect{whole}, whole.Within...) {
					c := Claim{Kind: "bias", Step: st.String(), Run: inf.Sampler, Parameter: a.Params[j].Name, Mode: part - 1,
						Value: e.Bias, SE: e.BiasSE, Limit: a.Threshold, Verdict: e.Verdict}
					r := c
					r.Kind, r.Value, r.SE, r.Limit = "sd ratio", e.Ratio, e.RatioSE, 1+a.Threshold
					a.Claims = append(a.Claims, c, r)
				}
			}
		}
		if c := st.Certificate; c != nil && len(c.Modes) > 0 {
			m := c.Modes[c.Worst(a.Threshold)]
			v := Undecided
			if c.Certified(a.Threshold) {
				v = Negligible
			}
			a.Claims = append(a.Claims, Claim{Kind: "certificate", Step: st.String(), Mode: -1, Value: m.Bound, SE: math.NaN(), Limit: a.Threshold, Verdict: v})
		}
	}
}

// claimReference says why the accurate posterior is not known, or not trusted, and which
// parameters are judged by quantiles.
func (a *Report) claimReference(ev evidence) {
	switch {
	case a.ReferenceBy == "":
		a.add(Claim{Kind: "reference", Sentence: sayNoReference()})
	case !(a.KHat <= a.khatLimit()):
		a.add(Claim{Kind: "k̂", Value: a.KHat, Limit: a.khatLimit(), Sentence: sayKHat(a)})
	case !a.known():
		a.add(Claim{Kind: "effective weighted draws", Value: a.Worth, Limit: fewest, Sentence: sayWorth(a)})
	}
	if !a.trusted() {
		a.add(Claim{Kind: "reference error", Value: a.Reference.D, Limit: a.Threshold / 10, Sentence: "no verdict: " + sayDistrust(a.Reference, a.Threshold)})
	}
	for _, q := range a.Params {
		if q.Quantiles {
			a.add(Claim{Kind: "tail index", Parameter: q.Name, Value: q.TailIndex, Limit: 0.5, Sentence: sayHeavy(q)})
		}
	}
}

// claimModes says which modes are phantoms, which are missed, in which the draws are too
// few, and what the search for modes may have missed.
func (a *Report) claimModes(ev evidence) {
	for i := range a.Steps {
		st := &a.Steps[i]
		for _, m := range st.Modes {
			at := where(a.Names, m.Theta, st.Modes)
			if m.Phantom {
				a.add(Claim{Kind: "phantom mode", Step: st.String(), Value: m.Mass, Limit: minor, Sentence: sayPhantom(st, at, m)})
			}
			if wrong := sayWrongShare(m); wrong != "" {
				a.add(Claim{Kind: "share of a mode", Step: st.String(), Value: m.Visited, Limit: m.Gaussian, Sentence: st.String() + ": the mode at " + at + " " + wrong})
			}
		}
		for _, m := range st.Missing {
			at := where(a.Names, m.Theta, append(st.Modes[:len(st.Modes):len(st.Modes)], m))
			a.add(Claim{Kind: "missed mode", Step: st.String(), Value: m.Mass, Limit: minor, Sentence: sayMissed(st, at, m)})
		}
		for _, u := range st.Unvisited {
			a.add(Claim{Kind: "mode without draws", Step: st.String(), Parameter: u.Parameter, Value: u.Size, Limit: unvisitedSize, Sentence: "no verdict at " + st.String() + ": " + a.sayUnvisited(u)})
		}
		if st.Doubtful {
			a.add(Claim{Kind: "search for modes", Step: st.String(), Sentence: st.String() + ": there may be other modes: " + st.Unsearched})
		}
	}
	if n := len(weighty(a.ReferenceModes)); n > 1 && ev.source != nil {
		worst := 0.0
		for _, m := range ev.source.Summary {
			worst = math.Max(worst, m.RHat)
		}
		if !(worst <= mixed) {
			a.add(Claim{Kind: "R̂", Value: worst, Limit: mixed, Sentence: sayStuck(n)})
		}
	}
}

// claimChains says what is wrong with the chains of a run.
func (a *Report) claimChains(inf *Inference, step, where string) {
	var rhat, few []string
	worst, least := 0.0, math.Inf(1)
	for _, m := range inf.Summary {
		if !(m.RHat <= wellMixed) {
			rhat = append(rhat, m.Name)
			worst = math.Max(worst, m.RHat)
		}
		if ess := math.Min(m.BulkESS, m.TailESS); !(ess >= float64(fewEach*inf.Chains)) {
			few = append(few, m.Name)
			least = math.Min(least, ess)
		}
	}
	switch {
	case few != nil:
		a.add(Claim{Kind: "effective draws", Step: step, Run: inf.Sampler, Value: least, Limit: float64(fewEach * inf.Chains), Sentence: sayFew(where, least, few, worst, rhat)})
	case rhat != nil:
		a.add(Claim{Kind: "R̂", Step: step, Run: inf.Sampler, Value: worst, Limit: wellMixed, Sentence: sayMixing(where, worst, rhat)})
	}
	if inf.Failed > mostFailing {
		a.add(Claim{Kind: "failed solves", Step: step, Run: inf.Sampler, Value: inf.Failed, Limit: mostFailing, Sentence: sayFailing(where, inf.Failed)})
	}
}

// claimSource says what is wrong with the chains that stand for the accurate posterior,
// and which parameters have no verdict for that.
func (a *Report) claimSource(ev evidence) {
	if ev.source == nil {
		return
	}
	if ev.source != a.Steps[len(a.Steps)-1].Deterministic {
		a.claimChains(ev.source, "", "the chains behind the accurate posterior, "+ev.sourceBy)
	}
	var unsound []string
	for _, k := range ev.assessed {
		if m := ev.source.Summary[k]; !sound(m) {
			unsound = append(unsound, m.Name)
		}
	}
	if unsound != nil {
		a.add(Claim{Kind: "chains of the accurate posterior", Sentence: sayUnsound(unsound)})
	}
}

// claimOrder says that the errors do not fall with the order of the method.
func (a *Report) claimOrder(p *bayes.Posterior) {
	if a.controlled() {
		return // tolerances have no order
	}
	want, remedy := nominal(p.Method)
	// Between the two smallest steps whose errors are both well above the accurate
	// solution's own.
	for i := len(a.Steps) - 2; i >= 0; i-- {
		c, f := &a.Steps[i], &a.Steps[i+1]
		if math.IsNaN(c.Order) || f.Error < 1e-8 {
			continue
		}
		switch {
		case c.Error > roughPath:
			a.add(Claim{Kind: "path error", Step: c.String(), Value: c.Error, Limit: roughPath, Sentence: sayRough(c)})
		case c.Order < float64(want)-0.5:
			if want == p.Method.Order() {
				remedy = ""
			}
			a.add(Claim{Kind: "order", Step: c.String(), Value: c.Order, Limit: float64(want), Sentence: sayOrder(c, f, a.Method, want, remedy)})
		}
		break
	}
	if order, se, i := a.ShiftOrder(); !math.IsNaN(order) && order+decisive*se < float64(want)-0.5 {
		a.add(Claim{Kind: "order of the shift", Step: a.Steps[i].String(), Value: order, Limit: float64(want), Sentence: sayShiftOrder(&a.Steps[i], &a.Steps[i+1], order, se, a.Method, want)})
	}
}

// claimAlpha says where one noise scale does not serve all steps and all θ.
func (a *Report) claimAlpha(p *bayes.Posterior) {
	for i := range a.Steps {
		if st := &a.Steps[i]; st.AlphaWarnings != nil {
			a.add(Claim{Kind: "calibration", Step: st.String(), Sentence: sayCalibration(st)})
		}
	}
	ratio := func(x, y float64) float64 { return math.Exp(math.Abs(math.Log(x / y))) }
	for i := 0; i < len(a.Steps)-1 && !a.controlled(); i++ { // noise does not scale with a tolerance
		c, f := &a.Steps[i], &a.Steps[i+1]
		se := math.Hypot(c.AlphaSE/c.AlphaStar, f.AlphaSE/f.AlphaStar)
		if r := ratio(c.AlphaStar, f.AlphaStar); r > alphaSteps*math.Exp(decisive*nanOr(se, 0)) {
			a.add(Claim{Kind: "α over steps", Step: c.String(), Value: r, Limit: alphaSteps, Sentence: sayAlphaSteps(c, f)})
		}
	}
	for i := range a.Steps {
		st := &a.Steps[i]
		worst, at := 1.0, math.NaN()
		for _, v := range st.AlphaAt {
			if r := ratio(v, st.AlphaStar); r > worst {
				worst, at = r, v
			}
		}
		if worst > alphaTheta {
			a.add(Claim{Kind: "α over θ", Step: st.String(), Value: worst, Limit: alphaTheta, Sentence: sayAlphaTheta(st, at)})
		}
		if r := ratio(st.Alpha, st.AlphaStar); p.AlphaParam == "" && p.Alpha > 0 && r > alphaTheta {
			a.add(Claim{Kind: "given α", Step: st.String(), Value: r, Limit: alphaTheta, Sentence: sayAlphaGiven(st)})
		}
	}
}

// claimSigma says which unknown sizes of the data's errors absorb the solver's error.
func (a *Report) claimSigma(p *bayes.Posterior) {
	var names []string
	var at []*Step
	spreads := p.Spreads()
	for j, q := range a.Params {
		sign, ok := spreads[q.Name]
		if !ok {
			continue
		}
		i := slices.IndexFunc(a.Steps, func(st Step) bool {
			if st.Deterministic == nil || st.Deterministic.Effects[j].Verdict != Matters {
				return false
			}
			e := st.Deterministic.Effects[j]
			return sign*e.Bias > a.Threshold+decisive*e.BiasSE
		})
		if i >= 0 {
			names, at = append(names, q.Name), append(at, &a.Steps[i])
		}
	}
	if names != nil {
		a.add(Claim{Kind: "size of the data's errors", Sentence: a.saySigma(names, at)})
	}
}

// nominal returns the order for which a method is chosen, and what to do if it has a lower
// one, as an Adams–Moulton method does that is linearised at the current state.
func nominal(m probode.Method) (order int, remedy string) {
	if n, ok := m.(interface{ Nominal() (int, string) }); ok {
		return n.Nominal()
	}
	return m.Order(), ""
}
