package assess_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// The reader of a program: every name of docs/json.md, and no other.
type (
	readReport struct {
		Format            string
		Version           int
		Model, Verdict    string
		LargestNegligible *float64 `json:"largest_negligible"`
		UnseenMass        *float64 `json:"unseen_mass"`
		Reasons, Warnings []string
		Thresholds        struct {
			Bias       float64
			SDRatio    float64 `json:"sd_ratio"`
			Confidence float64
			Looks      int
		}
		Reference readReference
		Steps     []readStep
		Remedies  []readRemedy
		Claims    []readClaim
	}
	readReference struct {
		Solver     string
		D          *float64
		By         string
		KHat       *float64
		KHatLimit  *float64 `json:"khat_limit"`
		Points     int
		Seconds    *float64
		Modes      []readMode
		Parameters []readMarginal
	}
	readMarginal struct {
		Name     string
		Mean, SD *float64
		MeanSE   *float64 `json:"mean_se"`
		SDSE     *float64 `json:"sd_se"`
		Median   *float64
		MedianSE *float64 `json:"median_se"`
		Half     *float64 `json:"half_interval"`
		HalfSE   *float64 `json:"half_interval_se"`
		JudgedBy string   `json:"judged_by"`
	}
	readStep struct {
		H, Tol, ATol, Alpha *float64
		Method              string
		Verdict             string
		Error               *string
		DrawsNeeded         *float64 `json:"draws_needed"`
		Modes               []readMode
		Parameters          []struct {
			Name             string
			JudgedBy         string `json:"judged_by"`
			Classical, Noisy *readEffect
		}
		Certificate *struct {
			D, Bound  *float64
			Shift     map[string]*float64
			TV        *float64 `json:"total_variation"`
			KL        *float64 `json:"kullback_leibler"`
			Certified bool
		}
		Cost struct{ Classical, Noisy *readCost }
	}
	readEffect struct {
		Mean, SD, Median *float64
		Half             *float64 `json:"half_interval"`
		readWithin
		Within []readWithin
	}
	readWithin struct {
		Bias            *float64
		BiasSE          *float64 `json:"bias_se"`
		Ratio           *float64 `json:"sd_ratio"`
		RatioSE         *float64 `json:"sd_ratio_se"`
		Moments         string   `json:"moments_verdict"`
		MedianBias      *float64 `json:"median_bias"`
		MedianBiasSE    *float64 `json:"median_bias_se"`
		IntervalRatio   *float64 `json:"interval_ratio"`
		IntervalRatioSE *float64 `json:"interval_ratio_se"`
		Verdict         string
	}
	readMode struct {
		Theta   map[string]float64
		Mass    float64
		Phantom *bool
	}
	readCost struct {
		Chains, Draws int
		Sampler       string
		Solves        int
		Seconds       *float64
		ESS           *float64 `json:"ess_per_second"`
	}
	readClaim struct {
		Kind, Step, Run, Parameter string
		Mode                       int
		Value, SE, Limit           *float64
		Verdict, Sentence          string
	}
	readRemedy struct {
		Kind, Name  string
		Bias        *float64
		BiasSE      *float64 `json:"bias_se"`
		Ratio       *float64 `json:"sd_ratio"`
		RatioSE     *float64 `json:"sd_ratio_se"`
		Seconds     *float64
		Reach       *float64 `json:"seconds_to_reach"`
		Reaches     bool     `json:"reaches_threshold"`
		Recommended bool
		Note        string
	}
)

func strictly(t *testing.T, text []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

// A whole assessment, read back: the steps in the order asked for, masses that sum
// to one, the numbers those of the report, and nothing that is no number.
func TestReportJSON(t *testing.T) {
	a := assessed(t, dragons(0.5), assess.Settings{Steps: []float64{0.125, 0.5}, Weighed: 200, Sampler: sample.Deterministic{},
		Chains: mcmc.Settings{Draws: 500, Seed: 2}, Calibrate: calibrate.Settings{Paths: 50}})
	var text bytes.Buffer
	if err := a.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "NaN") || strings.Contains(text.String(), "Inf") {
		t.Errorf("what is no number in %s", &text)
	}
	var r readReport
	strictly(t, text.Bytes(), &r)
	if r.Format != "probode assess" || r.Version != 2 || len(r.Steps) != 2 || r.Verdict != r.Steps[0].Verdict {
		t.Fatalf("%+v", r)
	}
	if *r.Steps[0].H != 0.125 || *r.Steps[1].H != 0.5 || r.Steps[0].Tol != nil {
		t.Errorf("steps of %g and %g, want them as asked: 0.125, 0.5", *r.Steps[0].H, *r.Steps[1].H)
	}
	if r.Steps[1].Verdict != "matters" {
		t.Errorf("verdict at h = 0.5: %s", r.Steps[1].Verdict)
	}
	phantom := false
	for _, st := range r.Steps {
		var mass float64
		for _, m := range st.Modes {
			mass += m.Mass
			if m.Phantom == nil || len(m.Theta) != 2 {
				t.Errorf("mode %+v", m)
			} else if *m.Phantom {
				phantom = phantom || math.Abs(m.Theta["b1"]-4.911) < 0.01
			}
		}
		if math.Abs(mass-1) > 1e-9 {
			t.Errorf("h = %g: masses sum to %g", *st.H, mass)
		}
		if len(st.Parameters) != 2 || st.Parameters[0].Classical == nil || st.Parameters[0].Noisy == nil || st.Certificate == nil || st.Certificate.D == nil {
			t.Errorf("h = %g: %+v", *st.H, st)
		}
	}
	if !phantom {
		t.Error("no phantom mode at b1 = 4.911")
	}
	if got, want := *r.Steps[0].Parameters[1].Classical.MedianBias, a.Steps[1].Deterministic.Effects[1].Median.Bias; got != want {
		t.Errorf("bias of the median %g, the report has %g", got, want)
	}
	// At h = 0.125 the phantom is at β₁ = 19.6. Its mass of 0.0008 would move the mean by many
	// standard deviations, and no draw is there, so the draws do not give the mean.
	if c := r.Steps[0].Parameters[1].Classical; c.Mean != nil || c.SD != nil || c.Bias != nil || c.Median == nil {
		t.Errorf("mean %v, sd %v, bias %v, median %v: want only the median", c.Mean, c.SD, c.Bias, c.Median)
	}
	if r.Steps[1].Certificate.Certified || *r.Reference.D > 1e-6 {
		t.Errorf("certified at h = 0.5, or D of the reference %g", *r.Reference.D)
	}
}

// What is not known is null, and the text is JSON even so.
func TestReportJSONUnknown(t *testing.T) {
	nan := math.NaN()
	a := &assess.Report{Model: "a \"model\"", Method: "AB1", Threshold: 0.1, Confidence: 0.95, Looks: 1, Unseen: nan, Names: []string{"a"}, Asked: []int{0},
		Params: []assess.AccurateMarginal{{Name: "a", Mean: assess.CenterSpread{Center: nan, CenterSE: nan, Spread: nan, SpreadSE: math.Inf(1)}}},
		Steps:  []assess.Rung{{StepSize: 1, Err: "it failed"}}}
	var text bytes.Buffer
	if err := a.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	var r readReport
	strictly(t, text.Bytes(), &r)
	if r.Verdict != "undecided" || r.LargestNegligible != nil || r.Steps[0].Alpha != nil || *r.Steps[0].Error != "it failed" || r.Steps[0].Parameters[0].Classical != nil || r.Reference.Parameters[0].SDSE != nil {
		t.Errorf("%s", &text)
	}
}
