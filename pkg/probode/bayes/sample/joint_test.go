package sample

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
)

// drift is x′ = θ, which with Gaussian errors has a Gaussian posterior of (θ, ξ),
// and σ, which the Gaussian approximation takes on the scale of its logarithm.
func drift(sigma bayes.Value) *bayes.Posterior {
	p := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "slope", Prior: distuv.Normal{Mu: 1, Sigma: 2}}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{Name: "drift", X0: []float64{0}, Theta: []float64{1}, Span: [2]float64{0, 4}, Autonomous: true,
					Params: []string{"slope"}, F: func(f []float64, _ float64, _, th []float64) { f[0] = th[0] }},
				Data:   &bayes.Data{T: []float64{1, 2, 3, 4}, Y: [][]float64{{0.5}, {1.6}, {1.4}, {2.2}}},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: sigma}},
			}},
		},
		Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(0.25), Alpha: 20},
	}
	if sigma.Name != "" {
		p.Params = append(p.Params, bayes.Param{Name: sigma.Name, Prior: distuv.LogNormal{Mu: math.Log(0.3), Sigma: 0.5}})
	}
	return p
}

// The Gaussian approximation of a Gaussian posterior is that posterior. The mean is found
// to 0.1 standard deviations at most; the Fisher information is a mean over 256 draws, of
// a relative standard deviation √(2/256) = 9 % at each value of the data: the precision
// is within four of them, 35 %. With σ unknown it has, for n = 4 values, the information
// 2n about log σ, beside 1/0.5² of the prior.
func TestFindGaussian(t *testing.T) {
	const sigma = 0.3
	e, err := bayes.NewDensity(context.Background(), drift(bayes.Known(sigma)))
	if err != nil {
		t.Fatal(err)
	}
	blocks := shape.Blocks(e, 8)
	s := findGaussian(context.Background(), e, []float64{-3}, blocks)
	if s == nil {
		t.Fatal("no approximation")
	}
	// The differences are taken at the beginning and at the end, with a handful of steps
	// between.
	if solves := e.Work() / e.Steps(); solves > 3*(1+len(blocks)) {
		t.Errorf("%d solves for %d coordinates", solves, 1+len(blocks))
	}
	// Z(t) = θt + √α h^{3/2} Σ ξᵢ, with ξᵢ = v_b/√n_b.
	n := 1 + len(blocks)
	scale := math.Sqrt(20 * math.Pow(0.25, 3))
	prec := mat.NewSymDense(n, nil)
	shift := mat.NewVecDense(n, nil)
	prec.SetSym(0, 0, 1./4)
	shift.SetVec(0, 1./4)
	for k := 1; k < n; k++ {
		prec.SetSym(k, k, 1)
	}
	data := e.Posterior().Experiments[0].Data
	for i, at := range data.T {
		row := mat.NewVecDense(n, nil)
		row.SetVec(0, at)
		for k, b := range blocks {
			row.SetVec(1+k, scale*b.Scale*max(0, min(float64(b.To), at/0.25)-float64(b.From)))
		}
		prec.SymRankOne(prec, 1/(sigma*sigma), row)
		shift.AddScaledVec(shift, data.Y[i][0]/(sigma*sigma), row)
	}
	var chol mat.Cholesky
	if !chol.Factorize(prec) {
		t.Fatal("precision is not positive definite")
	}
	var mean mat.VecDense
	if err := chol.SolveVecTo(&mean, shift); err != nil {
		t.Fatal(err)
	}
	dev := mat.NewVecDense(n, nil)
	for k, m := range s.mean {
		dev.SetVec(k, m-mean.AtVec(k))
	}
	if d := math.Sqrt(mat.Inner(dev, prec, dev)); d > 0.1 {
		t.Errorf("the mean is %.2g standard deviations off", d)
	}
	// Extreme eigenvalues of the found precision relative to the true one.
	u := s.factor()
	var found mat.SymDense
	found.SymOuterK(1, u.T())
	for _, dir := range []int{0, 1, n - 1} {
		x := mat.NewVecDense(n, nil)
		x.SetVec(dir, 1)
		if r := mat.Inner(x, &found, x) / mat.Inner(x, prec, x); r < 1/1.35 || r > 1.35 {
			t.Errorf("the precision in direction %d is %.2f times what it is", dir, r)
		}
	}

	e, err = bayes.NewDensity(context.Background(), drift(bayes.Unknown("sigma")))
	if err != nil {
		t.Fatal(err)
	}
	if s = findGaussian(context.Background(), e, []float64{1, -1}, shape.Blocks(e, 8)); s == nil {
		t.Fatal("no approximation with σ unknown")
	}
	found.Reset()
	found.SymOuterK(1, s.factor().T())
	if got, want := found.At(1, 1), 2*4+1/0.25; math.Abs(got/want-1) > 0.35 {
		t.Errorf("the precision of log σ is %.3g, want %.3g", got, want)
	}
}

// factor returns U as a matrix.
func (s *gaussian) factor() *mat.TriDense {
	n := len(s.mean)
	tri := mat.NewTriDense(n, mat.Upper, nil)
	for i := range n {
		for k := i; k < n; k++ {
			tri.SetTri(i, k, s.u.Data[i*s.u.Stride+k])
		}
	}
	return tri
}

// The log ratio of a joint proposal is that of the distribution it is reversible for:
// N(m, (UᵀU)⁻¹) of (θ, v), times what p(ξ) leaves to the rest of ξ.
func TestJointProposal(t *testing.T) {
	e, err := bayes.NewDensity(context.Background(), linear())
	if err != nil {
		t.Fatal(err)
	}
	blocks := shape.Blocks(e, 5)
	u := make([]float64, 2)
	if err := e.Unconstrain(u, []float64{0.5, 2}); err != nil {
		t.Fatal(err)
	}
	approximation := findGaussian(context.Background(), e, u, blocks)
	if approximation == nil {
		t.Fatal("no approximation")
	}
	n := len(approximation.mean)
	tri := approximation.factor()
	// log density of (θ, ξ) under the distribution of reversibility.
	dist := func(u, xi []float64) float64 {
		x := append([]float64(nil), u...)
		var rest float64
		for _, v := range xi {
			rest += v * v
		}
		for i := range blocks {
			v := blocks[i].Sum(xi)
			x = append(x, v)
			rest -= v * v
		}
		dev := mat.NewVecDense(n, nil)
		for i, v := range x {
			dev.SetVec(i, v-approximation.mean[i])
		}
		var w mat.VecDense
		w.MulVec(tri, dev)
		return -(rest + mat.Dot(&w, &w)) / 2
	}
	prior := func(xi []float64) (lp float64) {
		for _, v := range xi {
			lp -= v * v / 2
		}
		return lp
	}
	rng := probode.Stream(1)
	j := newJoint(approximation)
	xi, next, uNew := make([]float64, e.NoiseLen()), make([]float64, e.NoiseLen()), make([]float64, 2)
	for _, b := range []float64{1, 0.5, 0.01} {
		normals(xi, rng)
		got := j.propose(uNew, u, next, xi, b, random{}, rng)
		// The move is reversible for dist, so that log q is its ratio; the
		// likelihood and the prior of θ are the caller's.
		want := dist(u, xi) - dist(uNew, next) + prior(next) - prior(xi)
		if math.Abs(got-want) > 1e-9*(1+math.Abs(dist(u, xi))+math.Abs(dist(uNew, next))) {
			t.Errorf("b = %g: log ratio %v, want %v", b, got, want)
		}
	}
}
