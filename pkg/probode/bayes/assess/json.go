package assess

import (
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"
)

// Reports and certificates are written for programs as docs/json.md describes. A
// version may gain names; when a name goes or changes its meaning, the version grows.
const (
	reportVersion = 2
)

// A real is a number that is null where there is none.
type real float64

func (r real) MarshalJSON() ([]byte, error) {
	if v := float64(r); !math.IsNaN(v) && !math.IsInf(v, 0) {
		return strconv.AppendFloat(nil, v, 'g', -1, 64), nil
	}
	return []byte("null"), nil
}

type (
	jsonReport struct {
		Format     string       `json:"format"`
		Version    int          `json:"version"`
		Model      string       `json:"model"`
		Verdict    string       `json:"verdict"`
		Largest    real         `json:"largest_negligible"`
		Reasons    []string     `json:"reasons"`
		Warnings   []string     `json:"warnings"`
		Thresholds jsonLimits   `json:"thresholds"`
		Reference  jsonAccurate `json:"reference"`
		Steps      []jsonStep   `json:"steps"`
		Remedies   []jsonRemedy `json:"remedies"`
	}
	jsonLimits struct {
		Bias       real `json:"bias"`
		Ratio      real `json:"sd_ratio"`
		Confidence real `json:"confidence"`
		Looks      int  `json:"looks"`
	}
	jsonAccurate struct {
		Solver     string         `json:"solver"`
		D          real           `json:"D"`
		By         string         `json:"by"`
		KHat       real           `json:"khat"`
		KHatLimit  real           `json:"khat_limit"`
		Points     int            `json:"points"`
		Seconds    real           `json:"seconds"`
		Modes      []jsonMode     `json:"modes"`
		Parameters []jsonMarginal `json:"parameters"`
	}
	jsonMarginal struct {
		Name   string `json:"name"`
		Mean   real   `json:"mean"`
		MeanSE real   `json:"mean_se"`
		SD     real   `json:"sd"`
		SDSE   real   `json:"sd_se"`
		By     string `json:"judged_by"`
	}
	jsonStep struct {
		H           real             `json:"h"`
		Tol         real             `json:"tol"`
		ATol        real             `json:"atol"`
		Method      string           `json:"method"`
		Alpha       real             `json:"alpha"`
		Verdict     string           `json:"verdict"`
		Error       *string          `json:"error"`
		Needed      real             `json:"draws_needed"`
		Modes       []jsonMode       `json:"modes"`
		Parameters  []jsonParameter  `json:"parameters"`
		Certificate *jsonCertificate `json:"certificate"`
		Cost        jsonCosts        `json:"cost"`
	}
	jsonMode struct {
		Theta   map[string]real `json:"theta"`
		Mass    real            `json:"mass"`
		Phantom bool            `json:"phantom"`
	}
	jsonParameter struct {
		Name      string      `json:"name"`
		By        string      `json:"judged_by"`
		Classical *jsonEffect `json:"classical"`
		Noisy     *jsonEffect `json:"noisy"`
	}
	jsonEffect struct {
		Mean    real         `json:"mean"`
		SD      real         `json:"sd"`
		Bias    real         `json:"bias"`
		BiasSE  real         `json:"bias_se"`
		Ratio   real         `json:"sd_ratio"`
		RatioSE real         `json:"sd_ratio_se"`
		Verdict string       `json:"verdict"`
		Within  []jsonWithin `json:"within"`
	}
	jsonWithin struct {
		Bias    real   `json:"bias"`
		BiasSE  real   `json:"bias_se"`
		Ratio   real   `json:"sd_ratio"`
		RatioSE real   `json:"sd_ratio_se"`
		Verdict string `json:"verdict"`
	}
	jsonCertificate struct {
		D         real            `json:"D"`
		Bound     real            `json:"bound"`
		Shift     map[string]real `json:"shift"`
		TV        real            `json:"total_variation"`
		KL        real            `json:"kullback_leibler"`
		Certified bool            `json:"certified"`
	}
	jsonCosts struct {
		Classical *jsonCost `json:"classical"`
		Noisy     *jsonCost `json:"noisy"`
	}
	jsonCost struct {
		Sampler string `json:"sampler"`
		Chains  int    `json:"chains"`
		Draws   int    `json:"draws"`
		Solves  int    `json:"solves"`
		Seconds real   `json:"seconds"`
		ESS     real   `json:"ess_per_second"`
	}
	jsonRemedy struct {
		Kind        string `json:"kind"`
		Name        string `json:"name"`
		Bias        real   `json:"bias"`
		Ratio       real   `json:"sd_ratio"`
		Seconds     real   `json:"seconds"`
		Reach       real   `json:"seconds_to_reach"`
		Reaches     bool   `json:"reaches_threshold"`
		Recommended bool   `json:"recommended"`
		Note        string `json:"note"`
	}
)

// WriteJSON writes the report for programs, as docs/json.md describes. A number
// that is not known is null.
func (a *Report) WriteJSON(w io.Writer) error {
	nan := real(math.NaN())
	out := jsonReport{
		Format: "probode assess", Version: reportVersion, Model: a.Model, Largest: nan,
		Reasons: lines(a.Answer()), Warnings: append([]string{}, a.Warnings...),
		Thresholds: jsonLimits{real(a.Threshold), real(a.Threshold), real(a.Confidence), a.Looks},
		Reference:  jsonAccurate{D: real(a.Reference.D), By: a.ReferenceBy, KHat: real(a.KHat), KHatLimit: real(a.khatLimit()), Points: a.Reference.Points, Seconds: real(a.Reference.Seconds), Modes: a.jsonModes(a.ReferenceModes), Parameters: []jsonMarginal{}},
		Steps:      []jsonStep{}, Remedies: []jsonRemedy{},
	}
	if a.Largest > 0 {
		out.Largest = real(a.Largest)
	}
	for _, q := range a.Params {
		out.Reference.Parameters = append(out.Reference.Parameters, jsonMarginal{q.Name, real(q.Mean), real(q.MeanSE), real(q.SD), real(q.SDSE), q.JudgedBy()})
	}
	for _, r := range a.Remedies {
		out.Remedies = append(out.Remedies, jsonRemedy{r.Kind, r.Name, real(r.Bias), real(r.Ratio), real(r.Seconds), real(r.Reach), r.Reaches, r.Recommended, r.Note})
	}
	for _, at := range a.Asked {
		st := &a.Steps[at]
		out.Steps = append(out.Steps, a.jsonStep(st))
		if c := st.Certificate; c != nil && len(c.Modes) > 0 {
			out.Reference.Solver = c.Reference.String()
		}
	}
	if len(out.Steps) > 0 {
		out.Verdict = out.Steps[0].Verdict
	} else {
		out.Verdict = Undecided.String()
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}

func (a *Report) jsonStep(st *Step) jsonStep {
	h, tol, atol := st.solver().Sizes()
	out := jsonStep{
		H: real(h), Tol: real(tol), ATol: real(atol), Method: a.Method.String(), Alpha: real(st.Alpha),
		Verdict: a.verdict(st).String(), Modes: a.jsonModes(st.Modes), Parameters: []jsonParameter{},
		Cost: jsonCosts{cost(st.Deterministic), cost(st.Probabilistic)},
	}
	if st.Err != "" {
		out.Error = &st.Err
	}
	out.Needed = real(math.NaN())
	if st.Deterministic != nil {
		out.Needed = real(st.Deterministic.DrawsNeeded(a.Threshold))
	}
	for j, q := range a.Params {
		out.Parameters = append(out.Parameters, jsonParameter{q.Name, q.JudgedBy(), effect(st.Deterministic, j), effect(st.Probabilistic, j)})
	}
	if c := st.Certificate; c != nil && len(c.Modes) > 0 {
		m := c.Modes[c.Worst()]
		out.Certificate = &jsonCertificate{real(m.D), real(m.Bound), named(c.Params, m.Shift), real(m.TV), real(m.KL), c.Certified(a.Threshold)}
	}
	return out
}

// verdict returns that on a step: of classical inference.
func (a *Report) verdict(st *Step) Verdict {
	if st.Deterministic == nil || len(st.Deterministic.Effects) == 0 {
		return Undecided
	}
	return st.Deterministic.Verdict()
}

// jsonModes returns the modes of a posterior, whose masses sum to 1.
func (a *Report) jsonModes(modes []Mode) []jsonMode {
	out := []jsonMode{}
	var sum float64
	for _, m := range modes {
		sum += m.Mass
	}
	for _, m := range modes {
		out = append(out, jsonMode{Theta: named(a.Names, m.Theta), Mass: real(m.Mass / sum), Phantom: m.Phantom})
	}
	return out
}

func effect(inf *Inference, j int) *jsonEffect {
	if inf == nil || j >= len(inf.Effects) {
		return nil
	}
	e, m := inf.Effects[j], inf.Estimates[j]
	within := []jsonWithin{}
	for _, e := range e.Within {
		within = append(within, jsonWithin{real(e.Bias), real(e.BiasSE), real(e.Ratio), real(e.RatioSE), e.Verdict.String()})
	}
	return &jsonEffect{real(m.Center), real(m.Spread), real(e.Bias), real(e.BiasSE), real(e.Ratio), real(e.RatioSE), e.Verdict.String(), within}
}

func cost(inf *Inference) *jsonCost {
	if inf == nil {
		return nil
	}
	return &jsonCost{inf.Sampler, inf.Chains, inf.Draws, inf.Solves, real(inf.Seconds), real(inf.ESSPerSecond)}
}

// lines cuts a text into its lines.
func lines(text string) []string {
	return append([]string{}, strings.FieldsFunc(strings.TrimSpace(text), func(r rune) bool { return r == '\n' })...)
}

// named gives numbers the names of their parameters; those that are missing are
// null.
func named(names []string, x []float64) map[string]real {
	out := map[string]real{}
	for k, name := range names {
		out[name] = real(math.NaN())
		if k < len(x) {
			out[name] = real(x[k])
		}
	}
	return out
}
