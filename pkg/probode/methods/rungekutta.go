package methods

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/field"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// RungeKutta is an explicit Runge–Kutta method with the noise of Conrad et
// al. added to the state,
//
//	Z_{i+1} = Ψ(Zᵢ) + √α h^{q+1/2} ξᵢ,   ξᵢ ~ N(0, I),
//
// where q is the order of Ψ [C16, §2]. The zero value is the classical
// fourth-order method.
type RungeKutta struct {
	// Tableau holds the coefficients of the method; nil means RK4.
	Tableau *Tableau
}

// A Tableau holds the coefficients of an explicit Runge–Kutta method of n
// stages, kₗ = f(t + cₗh, z + h Σ_{m<l} a_{lm} k_m), Ψ(z) = z + h Σ bₗ kₗ.
type Tableau struct {
	Name  string
	Order int
	A     [][]float64 // row l has the l elements a_{l0}, …, a_{l,l−1}
	B, C  []float64   // n elements each

	// Embedded, if not nil, holds the weights eₗ of the estimate h Σ eₗ kₗ of the local
	// error. Each eₗ is the difference between the weight in B and the weight of an
	// embedded method. If there are n+1 weights, the last is the weight of f at the end
	// of the step.
	Embedded []float64

	// Second, if not nil, holds the weights of a second estimate, of lower order, as in
	// DormandPrince8. If the two estimates of a component are e and e₂, the local error is
	// e²/√(e² + 0.01 e₂²), which has the order of e and corrects for an e that is small by
	// accident [HNW93, §II.10].
	Second []float64
}

// RK4 is the classical fourth-order method [HNW93, §II.1, table 1.2].
var RK4 = &Tableau{
	Name: "RK4", Order: 4,
	A: [][]float64{{}, {1. / 2}, {0, 1. / 2}, {0, 0, 1}},
	B: []float64{1. / 6, 1. / 3, 1. / 3, 1. / 6},
	C: []float64{0, 1. / 2, 1. / 2, 1},
}

// Heun is Heun's third-order method [HNW93, §II.1, table 1.1].
var Heun = &Tableau{
	Name: "Heun3", Order: 3,
	A: [][]float64{{}, {1. / 3}, {0, 2. / 3}},
	B: []float64{1. / 4, 0, 3. / 4},
	C: []float64{0, 1. / 3, 2. / 3},
}

// Midpoint is Runge's second-order method [HNW93, §II.1].
var Midpoint = &Tableau{
	Name: "midpoint", Order: 2,
	A: [][]float64{{}, {1. / 2}},
	B: []float64{0, 1},
	C: []float64{0, 1. / 2},
}

// DormandPrince is the fifth-order method of Dormand & Prince, with the
// embedded method of order 4 [HNW93, §II.5, table 5.2].
var DormandPrince = &Tableau{
	Name: "DP5", Order: 5,
	A: [][]float64{{},
		{1. / 5},
		{3. / 40, 9. / 40},
		{44. / 45, -56. / 15, 32. / 9},
		{19372. / 6561, -25360. / 2187, 64448. / 6561, -212. / 729},
		{9017. / 3168, -355. / 33, 46732. / 5247, 49. / 176, -5103. / 18656},
	},
	B:        []float64{35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84},
	C:        []float64{0, 1. / 5, 3. / 10, 4. / 5, 8. / 9, 1},
	Embedded: []float64{71. / 57600, 0, -71. / 16695, 71. / 1920, -17253. / 339200, 22. / 525, -1. / 40},
}

// DormandPrince8 is the eighth-order method of Dormand & Prince, with Hairer's error estimates
// of orders 5 and 3 [HNW93, §II.10; the coefficients are those of the program DOP853]. It is
// for tolerances below about 1e-7.
var DormandPrince8 = &Tableau{
	Name: "DOP853", Order: 8,
	A: [][]float64{{},
		{5.26001519587677318785587544488e-2},
		{1.97250569845378994544595329183e-2, 5.91751709536136983633785987549e-2},
		{2.95875854768068491816892993775e-2, 0, 8.87627564304205475450678981324e-2},
		{2.41365134159266685502369798665e-1, 0, -8.84549479328286085344864962717e-1, 9.24834003261792003115737966543e-1},
		{1. / 27, 0, 0, 1.70828608729473871279604482173e-1, 1.25467687566822425016691814123e-1},
		{19. / 512, 0, 0, 1.70252211019544039314978060272e-1, 6.02165389804559606850219397283e-2, -9. / 512},
		{3.70920001185047927108779319836e-2, 0, 0, 1.70383925712239993810214054705e-1, 1.07262030446373284651809199168e-1, -1.53194377486244017527936158236e-2, 8.27378916381402288758473766002e-3},
		{6.24110958716075717114429577812e-1, 0, 0, -3.36089262944694129406857109825, -8.68219346841726006818189891453e-1, 27.5920996994467083049415600797, 20.1540675504778934086186788979, -43.4898841810699588477366255144},
		{4.77662536438264365890433908527e-1, 0, 0, -2.48811461997166764192642586468, -5.90290826836842996371446475743e-1, 21.2300514481811942347288949897, 15.2792336328824235832596922938, -33.2882109689848629194453265587, -2.03312017085086261358222928593e-2},
		{-9.3714243008598732571704021658e-1, 0, 0, 5.18637242884406370830023853209, 1.09143734899672957818500254654, -8.14978701074692612513997267357, -18.5200656599969598641566180701, 22.7394870993505042818970056734, 2.49360555267965238987089396762, -3.0467644718982195003823669022},
		{2.27331014751653820792359768449, 0, 0, -10.5344954667372501984066689879, -2.00087205822486249909675718444, -17.9589318631187989172765950534, 27.9488845294199600508499808837, -2.85899827713502369474065508674, -8.87285693353062954433549289258, 12.3605671757943030647266201528, 6.43392746015763530355970484046e-1},
	},
	B:        []float64{5.42937341165687622380535766363e-2, 0, 0, 0, 0, 4.45031289275240888144113950566, 1.89151789931450038304281599044, -5.8012039600105847814672114227, 3.1116436695781989440891606237e-1, -1.52160949662516078556178806805e-1, 2.01365400804030348374776537501e-1, 4.47106157277725905176885569043e-2},
	C:        []float64{0, 5.26001519587677318785587544488e-2, 7.89002279381515978178381316732e-2, 1.18350341907227396726757197510e-1, 2.81649658092772603273242802490e-1, 1. / 3, 1. / 4, 4. / 13, 127. / 195, 3. / 5, 6. / 7, 1},
	Embedded: []float64{1.312004499419488073250102996e-2, 0, 0, 0, 0, -1.225156446376204440720569753, -4.957589496572501915214079952e-1, 1.664377182454986536961530415, -3.503288487499736816886487290e-1, 3.341791187130174790297318841e-1, 8.192320648511571246570742613e-2, -2.235530786388629525884427845e-2},
	// The weights in B without those of the method of order 3: 31/127, 0.7338…, 3/136.
	Second: []float64{5.42937341165687622380535766363e-2 - 31./127, 0, 0, 0, 0, 4.45031289275240888144113950566, 1.89151789931450038304281599044, -5.8012039600105847814672114227, 3.1116436695781989440891606237e-1 - 7.33846688281611857341361741547e-1, -1.52160949662516078556178806805e-1, 2.01365400804030348374776537501e-1, 4.47106157277725905176885569043e-2 - 3./136},
}

func (m RungeKutta) tableau() *Tableau { return cmp.Or(m.Tableau, RK4) }

// check returns an error if the coefficients do not define an explicit method.
func (t *Tableau) check() error {
	n := len(t.B)
	if n == 0 || len(t.A) != n || len(t.C) != n || t.Order < 1 {
		return fmt.Errorf("tableau %q: want slices A, B and C of equal length ≥ 1, and an order ≥ 1", t.Name)
	}
	if e := len(t.Embedded); e != 0 && e != n && e != n+1 {
		return fmt.Errorf("tableau %q: the length of Embedded is %d: want 0, %d or %d", t.Name, e, n, n+1)
	}
	if e := len(t.Second); e != 0 && (e != n || t.Embedded == nil) {
		return fmt.Errorf("tableau %q: the length of Second is %d: want 0, or %d with Embedded", t.Name, e, n)
	}
	for l, row := range t.A {
		if len(row) != l {
			return fmt.Errorf("tableau %q: row %d of A has %d elements: want %d, because the method is explicit", t.Name, l, len(row), l)
		}
	}
	return nil
}

func (m RungeKutta) String() string            { return m.tableau().Name }
func (m RungeKutta) Order() int                { return m.tableau().Order }
func (m RungeKutta) Noise(d int) probode.Noise { return additive(d, m.Order()) }

func (m RungeKutta) Stepper(p *probode.Problem, _ *probode.Grid) (*probode.Stepper, error) {
	if err := m.tableau().check(); err != nil {
		return nil, err
	}
	r := newRungeKutta(p, m.tableau())
	s := &probode.Stepper{Step: r.step, Run: r.run, Differentiate: r.differentiate, Reverse: r.reverse}
	if r.tab.Embedded != nil {
		s.Start, s.LocalError = r.start, r.localError
	}
	return s, nil
}

// A rungeKutta computes the steps of RungeKutta.
type rungeKutta struct {
	p      *probode.Problem
	tab    *Tableau
	k      [][]float64
	stage  []float64
	last   []float64 // f at the end of the step, for the error estimate
	second []float64
	known  [2]slope // at the beginning and the end of the last step with an error estimate
	terms  [][]term // for run, with steps of the given length
	length float64

	diff   *field.Differentiator // for the derivative of a step
	dk     [][]float64           // M×d
	dstage []float64
	back   *reverseRungeKutta
}

// A slope is f at a time and a state.
type slope struct {
	t    float64 // NaN if f is not known
	x, f []float64
}

func (k *slope) set(t float64, x, f []float64) {
	k.t = t
	copy(k.x, x)
	copy(k.f, f)
}

func newRungeKutta(p *probode.Problem, tab *Tableau) *rungeKutta {
	r := &rungeKutta{p: p, tab: tab, stage: make([]float64, p.Dim())}
	for range tab.B {
		r.k = append(r.k, make([]float64, p.Dim()))
	}
	if tab.Embedded != nil {
		r.last, r.second = make([]float64, p.Dim()), make([]float64, p.Dim())
		for i := range r.known {
			r.known[i] = slope{math.NaN(), make([]float64, p.Dim()), make([]float64, p.Dim())}
		}
	}
	return r
}

// start forgets the slopes: f may jump at the beginning of a segment, and θ may have changed.
func (r *rungeKutta) start(*probode.Step) error {
	r.known[0].t, r.known[1].t = math.NaN(), math.NaN()
	return nil
}

func (r *rungeKutta) step(s *probode.Step) error {
	for l, a := range r.tab.A {
		if l == 0 && r.tab.Embedded != nil && r.begun(s) {
			continue
		}
		copy(r.stage, s.X)
		for m, c := range a {
			vector.AddScaled(r.stage, s.H*c, r.k[m])
		}
		r.p.F(r.k[l], s.T+r.tab.C[l]*s.H, r.stage, s.Theta)
	}
	copy(s.Next, s.X)
	for l, b := range r.tab.B {
		vector.AddScaled(s.Next, s.H*b, r.k[l])
	}
	for k, v := range s.Xi {
		s.Next[k] += s.Scale[k] * v
	}
	return nil
}

// begun sets the first slope of the step s without an evaluation of f, if the error estimate
// of an earlier step has computed it: s follows that step, or repeats it with another length.
func (r *rungeKutta) begun(s *probode.Step) bool {
	for i := range r.known {
		if k := &r.known[i]; k.t == s.T && slices.Equal(k.x, s.X) {
			copy(r.k[0], k.f)
			return true
		}
	}
	return false
}

// localError estimates the local error by the difference between the results of the
// method and of the embedded method. The weights are in Tableau.Embedded.
func (r *rungeKutta) localError(dst []float64, s *probode.Step) error {
	clear(dst)
	for l, c := range r.tab.Embedded {
		k := r.last
		if l < len(r.k) {
			k = r.k[l]
		} else {
			r.p.F(k, s.End, s.Next, s.Theta)
			r.known[1].set(s.End, s.Next, k)
		}
		vector.AddScaled(dst, s.H*c, k)
	}
	if r.tab.Second != nil {
		clear(r.second)
		for l, c := range r.tab.Second {
			vector.AddScaled(r.second, s.H*c, r.k[l])
		}
		for i, e := range dst {
			if e != 0 {
				dst[i] = e * math.Abs(e) / math.Hypot(e, 0.1*r.second[i])
			}
		}
	}
	if r.tab.C[0] == 0 {
		r.known[0].set(s.T, s.X, r.k[0])
	}
	return nil
}

// differentiate computes the derivatives of the stages.
func (r *rungeKutta) differentiate(dnext []float64, s *probode.Step, tg *probode.Tangents) error {
	d, h := r.p.Dim(), s.H
	if r.diff == nil {
		r.diff, r.dstage = field.NewDifferentiator(r.p.Field(), false), make([]float64, d)
	}
	if r.dk == nil || len(r.dk[0]) != tg.M*d {
		r.dk = make([][]float64, len(r.k))
		for l := range r.dk {
			r.dk[l] = make([]float64, tg.M*d)
		}
	}
	for l, a := range r.tab.A {
		copy(r.stage, s.X)
		for j, c := range a {
			vector.AddScaled(r.stage, h*c, r.k[j])
		}
		r.diff.At(s.T+r.tab.C[l]*h, r.stage, s.Theta, r.k[l])
		for m := range tg.M {
			dtheta, dx, dt, dh := tg.Direction(m)
			copy(r.dstage, dx)
			for j, c := range a {
				vector.AddScaled(r.dstage, h*c, row(r.dk[j], m, d))
				vector.AddScaled(r.dstage, dh*c, r.k[j])
			}
			r.diff.Along(row(r.dk[l], m, d), r.dstage, dtheta, dt+r.tab.C[l]*dh)
		}
	}
	for m := range tg.M {
		_, dx, _, dh := tg.Direction(m)
		to := row(dnext, m, d)
		copy(to, dx)
		for l, b := range r.tab.B {
			vector.AddScaled(to, h*b, row(r.dk[l], m, d))
			vector.AddScaled(to, dh*b, r.k[l])
		}
		tg.AddNoise(to, m, s.Xi)
	}
	return nil
}

// A reverseRungeKutta holds two s×d matrices: the states of the s stages of a step, and
// the gradients with respect to the slopes at these stages. The field `stage` holds the
// gradient with respect to the state of one stage.
type reverseRungeKutta struct {
	stages, slopes []float64
	stage          []float64
}

// reverse computes the stages again, and propagates gradients back through them [HNW93,
// §II.6]. If λ is the gradient with respect to the next state, then
//
//	gradient of kₗ = h bₗ λ + h Σ_{m>l} a_{ml} (∂f/∂x)ᵀ (gradient of k_m).
func (r *rungeKutta) reverse(a *probode.Adjoint, s *probode.Step) error {
	d, h, t, x, theta := r.p.Dim(), s.H, s.T, s.X, s.Theta
	if r.back == nil {
		n := len(r.k) * d
		r.back = &reverseRungeKutta{make([]float64, n), make([]float64, n), make([]float64, d)}
	}
	a.Noise(s.Xi, s.Scale)
	b, last := r.back, len(r.k)-1
	for l, c := range r.tab.A {
		stage := row(b.stages, l, d)
		copy(stage, x)
		for m, c := range c {
			vector.AddScaled(stage, h*c, r.k[m])
		}
		if l < last || a.Moves {
			r.p.F(r.k[l], t+r.tab.C[l]*h, stage, theta)
		}
	}
	vector.AddScaled(a.X, 1, a.Next)
	for l, c := range r.tab.B {
		c *= h
		slope := row(b.slopes, l, d)
		for k, v := range a.Next[:len(slope)] {
			slope[k] = c * v
		}
		if a.Moves {
			a.Length += r.tab.B[l] * vector.Dot(a.Next, r.k[l])
		}
	}
	stage := b.stage
	for l := last; l >= 0; l-- {
		clear(stage)
		a.Field(stage, row(b.slopes, l, d), t+r.tab.C[l]*h, r.tab.C[l], row(b.stages, l, d), theta)
		vector.AddScaled(a.X, 1, stage)
		for m, c := range r.tab.A[l] {
			if c == 0 {
				continue
			}
			vector.AddScaled(row(b.slopes, m, d), h*c, stage)
			if a.Moves {
				a.Length += c * vector.Dot(stage, r.k[m])
			}
		}
	}
	return nil
}

// A term is the product of a coefficient and a slope of a Runge–Kutta step.
type term struct {
	slope int
	c     float64 // times h
}

// terms multiplies the coefficients by h, and omits those that are zero.
func terms(a []float64, h float64) (list []term) {
	for m, c := range a {
		if c != 0 {
			list = append(list, term{m, h * c})
		}
	}
	return list
}

// run takes steps of equal length.
func (r *rungeKutta) run(run *probode.Run) (int, error) {
	d, f, h, theta := len(r.stage), r.p.F, run.H, run.Theta
	if r.terms == nil || r.length != h {
		r.terms, r.length = nil, h
		for _, a := range r.tab.A {
			r.terms = append(r.terms, terms(a, h))
		}
		r.terms = append(r.terms, terms(r.tab.B, h))
	}
	stages := r.terms[:len(r.k)]
	stage := r.stage
	for i, t := range run.T[:len(run.T)-1] {
		x, next := row(run.Z, i, d), row(run.Z, i+1, d)
		for l, list := range stages {
			r.sum(stage, x, list)
			f(r.k[l], t+r.tab.C[l]*h, stage, theta)
		}
		r.sum(next, x, r.terms[len(stages)])
		if run.Xi != nil {
			for k, v := range row(run.Xi, i, d)[:len(next)] {
				next[k] += run.Scale[k] * v
			}
		}
		if run.Added != nil {
			for k, v := range row(run.Added, i, d)[:len(next)] {
				next[k] += v
			}
		}
		for _, v := range next {
			if !(math.Abs(v) < probode.TooLarge) {
				return i, probode.ErrDiverged
			}
		}
	}
	return len(run.T) - 1, nil
}

// sum sets dst to x plus the terms.
func (r *rungeKutta) sum(dst, x []float64, list []term) {
	switch len(list) {
	case 0:
		copy(dst, x)
		return
	case 1:
		c, slope := list[0].c, r.k[list[0].slope][:len(dst)]
		for k, v := range x[:len(dst)] {
			dst[k] = v + c*slope[k]
		}
		return
	}
	for k, v := range x[:len(dst)] {
		for _, e := range list {
			v += e.c * r.k[e.slope][k]
		}
		dst[k] = v
	}
}

// row returns row i of a matrix with d columns.
func row(z []float64, i, d int) []float64 { return z[i*d : (i+1)*d : (i+1)*d] }
