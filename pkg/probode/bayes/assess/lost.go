package assess

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
)

// Weights know nothing of what no draw has come near, and k̂ does not either. So the
// draws that stand for the reference posterior are asked whether they have lost a part
// of it: a mode that another search knows of, or a neighbourhood where their solver
// fails and the reference does not. And a mode so small that no draw is in it may
// still decide on a mean or an sd if it is far away.

const (
	// leapers is the number of draws from which it is looked at what they have around
	// them, by two moves each.
	leapers = 400
	// mostLost is the share of the reference posterior that may be lost: cut off a
	// Gaussian one it makes the sd smaller by 2 %.
	mostLost = 0.005
	// unreached is how far the log density is below that of all draws where a solver
	// has none.
	unreached = 5
)

// lost returns about what share of the reference posterior the draws of d have no part
// in.
func (a *assessor) lost(d *draws) (mass float64, err error) {
	around, err := a.lostAround(d)
	if err != nil || a.reference == nil || len(a.reference.Modes) < 2 {
		return around, err
	}
	in, err := d.p.Assign(a.reference, d.few)
	if err != nil {
		return 0, err
	}
	for k, m := range a.reference.Modes {
		var sum, all float64
		for c := range in {
			for n, at := range in[c] {
				all += d.weights[c][n]
				if at == k {
					sum += d.weights[c][n]
				}
			}
		}
		if m.Mass > spoken && sum < counterpart*m.Mass*all {
			mass += m.Mass
		}
	}
	return math.Max(mass, around), nil
}

// lostAround takes Metropolis moves of the reference posterior from some draws, and
// returns twice the share of those that lead to where the solver of the draws has next
// to no density: about the mass beyond, of a posterior that is cut off. The reference
// is solved only where they would lead there.
func (a *assessor) lostAround(d *draws) (share float64, err error) {
	coarse, err := bayes.NewDensity(d.p)
	if err != nil {
		return 0, err
	}
	defer coarse.Bind(a.ctx)()
	fine, err := bayes.NewDensity(a.p.SolvedBy(a.s.Accurate))
	if err != nil {
		return 0, err
	}
	defer fine.Bind(a.ctx)()
	from, n := d.resampled(leapers), len(a.p.Params)
	var u [][]float64
	all, lowest := mat.NewDense(max(len(from), 1), n, nil), math.Inf(1)
	for i, theta := range from {
		v := make([]float64, n)
		if coarse.Unconstrain(v, theta) != nil {
			return 0, nil // at the end of a support
		}
		u = append(u, v)
		all.SetRow(i, v)
		if lp, err := coarse.LogPosterior(v, nil); err == nil {
			lowest = math.Min(lowest, lp)
		}
	}
	if len(u) < 2*n+2 {
		return 0, a.ctx.Err()
	}
	cov := mat.NewSymDense(n, nil)
	stat.CovarianceMatrix(cov, all, nil)
	var chol mat.Cholesky
	if !chol.Factorize(cov) {
		return 0, a.ctx.Err()
	}
	var l mat.TriDense
	chol.LTo(&l)
	rng := probode.Stream(a.s.Chains.Seed, 0x6c6f7374)
	to, z := make([]float64, n), make([]float64, n)
	for _, v := range append(u, u...) {
		for k := range z {
			z[k] = 2.38 / math.Sqrt(float64(n)) * rng.NormFloat64()
		}
		for i := range to {
			to[i] = v[i]
			for k := 0; k <= i; k++ {
				to[i] += l.At(i, k) * z[k]
			}
		}
		if lp, err := coarse.LogPosterior(to, nil); err == nil && lp > lowest-unreached {
			continue
		}
		there, err := fine.LogPosterior(to, nil)
		if err != nil || math.IsNaN(there) {
			continue // nothing is known there, as Trust.Failed tells
		}
		if here, err := fine.LogPosterior(v, nil); err == nil {
			share += math.Exp(math.Min(0, there-here)) / float64(len(u))
		}
	}
	return share, a.ctx.Err()
}

// unvisited returns by how much of the threshold a mode that the draws of d are not in
// moves mean and sd of parameter j, by its Gaussian approximation, and which it is: one
// of the solver's posterior or of the reference's.
func (a *assessor) unvisited(d *draws, own *bayes.Modes, j int) (size float64, which *bayes.Mode) {
	q := &a.out.Params[j]
	if q.Quantiles || !(q.SD > 0) {
		return 0, nil // which a mode of a hundredth does not move
	}
	for _, all := range []*bayes.Modes{own, a.reference} {
		if all == nil || len(all.Modes) < 2 {
			continue
		}
		shares, err := d.p.Shares(all, d.all)
		if err != nil {
			continue
		}
		for k, m := range all.Modes {
			if shares[k] > 0 || m.Cov == nil {
				continue
			}
			far := math.Abs(m.Theta[a.assessed[j]]-q.Mean) / q.SD
			s := math.Max(m.Mass*far, math.Log1p(m.Mass*far*far)/2)
			if s /= a.out.Threshold; s > size {
				size, which = s, m
			}
		}
	}
	return size, which
}

// hold has no verdict of step i say that an error is negligible which a mode that
// nobody has visited may make.
func (a *assessor) hold(i int) {
	st := &a.out.Steps[i]
	st.Unvisited = nil
	if i >= len(a.runs) || a.runs[i] == nil || st.Deterministic == nil {
		return
	}
	d := a.runs[i]
	for j := range st.Deterministic.Effects {
		e := &st.Deterministic.Effects[j]
		if e.Verdict != Negligible {
			continue
		}
		if size, m := a.unvisited(d, a.modes[i], j); size > 0.5 {
			e.Verdict = Undecided
			if q := st.Probabilistic; q != nil && q.Effects[j].Verdict == Negligible {
				q.Effects[j].Verdict = Undecided
			}
			st.Unvisited = append(st.Unvisited, fmt.Sprintf("%s is moved by %.2g of the threshold by a mode at %s, with %.2g of the mass by its Gaussian approximation, in which no draw is", text.Printable(a.out.Params[j].Name), size, a.out.at(m.Theta), m.Mass))
		}
	}
}
