package assess

import (
	"slices"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/certify"
)

type assessment struct {
	*sampling
	looked    int // number of interim analyses
	out       *Report
	certifier *certify.Certifier

	// Each of these slices has one element per step: `paths` holds the errors of the
	// solutions, `scales` the noise scales, `runs` the deterministic runs, and `noisy`
	// the runs with noise in the model. A nil element stands for a run that was not
	// performed.
	paths       []float64
	scales      []scale
	runs, noisy []*draws

	y      *standard // nil if the reference posterior is not known
	common bool      // the draws of y also represent the steps of the ladder (see share)
	slow   string    // why there are no draws, if the time was not sufficient
	own    referenceError
	tried  []trial // remedies that are not steps of the ladder
}

type trial struct {
	kind, name string
	run        *draws
}

type scale struct {
	alpha    float64                // α of the probabilistic inference, NaN if there is none
	star     *bayes.CalibratedAlpha // calibrated at the mode; nil if it was not calibrated
	at       []float64              // α* calibrated at three draws
	warnings []string
}

func (a *assessment) measureBy(y *standard) (err error) {
	a.y = y
	a.out.ReferenceBy = y.by
	for j := range a.out.Params {
		q := &a.out.Params[j]
		q.HeavyTails, q.Median, q.Mean = y.heavy[j], y.accurate[byQuantiles][j], y.accurate[byMoments][j]
		if y.meanless(a.sampling, j) {
			q.Mean = unknown()
		}
	}
	before := a.own.seconds
	a.own, err = a.checkReference(y)
	a.own.seconds += before
	return err
}

func (a *assessment) judge() *judge {
	j := &judge{sampling: a.sampling, threshold: a.out.Threshold, z: a.out.standardErrors(), y: a.y}
	j.allowed = a.y != nil && a.y.usable && a.y.whole() && a.own.enough(a.out.Threshold)
	for _, d := range slices.Concat(a.runs, a.noisy) {
		if d != nil {
			j.judge(d)
		}
	}
	for _, t := range a.tried {
		j.judge(t.run)
	}
	return j
}
