package problems

import (
	"context"
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/reference"
)

// references holds states at the end of the span, or earlier for Lorenz 96,
// by solvers that have nothing in common with this module:
//
//   - mpmath: the Taylor series of mpmath 1.4.1 (odefun, 30 digits, tolerance
//     1e-24), with the doubles nearest to the constants;
//   - DOP853, Radau: scipy 1.17.1 at relative tolerances 2.3e-14 and 1e-13,
//     good to about 1e-12 of the largest component;
//   - H&W: the test set of Hairer & Wanner, confirmed by the other one named.
var references = []struct {
	p    *probode.Problem
	time float64
	// tol is relative to the largest component of the state. the reference
	// is good to some 1e-13 where a problem does not multiply errors: by 10⁸
	// in Lorenz 63, 10⁷ in Lorenz 96 and 10⁶ in the restricted three-body
	// problem.
	tol    float64
	source string
	x      []float64
}{
	{Logistic(), 2, 1e-14, "mpmath",
		[]float64{0.97817805123696211274}},
	{LotkaVolterra(), 10, 1e-12, "mpmath",
		[]float64{1.0263447675750893191, 0.90969107813604161755}},
	{LotkaVolterra20(), 20, 1e-12, "mpmath",
		[]float64{3.2582538450541086883, 5.2819294274395533412}},
	{SIR(), 200, 1e-12, "mpmath",
		[]float64{59.592819349652112353, 0.00111724732155582953, 940.40606340302633182}},
	{Influenza(), 14, 1e-12, "mpmath",
		[]float64{31.825551781326855306, 18.515152038742146832, 712.65929617993099786}},
	{RigidBody(), 20, 1e-12, "mpmath",
		[]float64{0.60620385396481161627, 0.62874721045017833526, 0.80738514857560248663}},
	{ProteinActivation(), 100, 1e-12, "mpmath",
		[]float64{2.9051221975360218588e-12, 0.20676505684290665788, 0.95893950103054268657, 2.1480705830037390119e-11, 0.041060498947976607604}},
	{FitzHughNagumo(), 20, 1e-13, "mpmath",
		[]float64{1.896941801014710564649, 0.304481036894925786805}},
	{RestrictedThreeBody(), 17.0652165601579626, 1e-8, "mpmath",
		[]float64{0.99399999999997399577, -8.8551346198199127004e-14, -1.4388667356828577689e-11, -2.0015851063831290198}},
	{Pleiades(), 3, 2e-11, "H&W, mpmath",
		[]float64{0.3706139143970502, 3.237284092057233, -3.222559032418324, 0.6597091455775310, 0.3425581707156584, 1.562172101400631, -0.7003092922212495, -3.943437585517392, -3.271380973972550, 5.225081843456543, -2.590612434977470, 1.198213693392275, -0.2429682344935824, 1.091449240428980, 3.417003806314313, 1.354584501625501, -2.590065597810775, 2.025053734714242, -1.155815100160448, -0.8072988170223021, 0.5952396354208710, -3.741244961234010, 0.3773459685750630, 0.9386858869551073, 0.3667922227200571, -0.3474046353808490, 2.344915448180937, -1.947020434263292}},
	{Goodwin(), 25, 1e-12, "mpmath",
		[]float64{0.1188608787631397798, 0.50096856392761261568, 1.2975663060303771958}},
	{Lorenz63(), 20, 1e-5, "mpmath",
		[]float64{-1.8577124779106323443, 3.962400652536121883, 28.733774103246678786}},
	{Lorenz96(10), 10, 1e-7, "mpmath",
		[]float64{8.0688117018954229555, 5.2508375665408993148, -1.9250920613951983982, -4.7223527822393138116, 1.8197549435228113806, 5.2735903524285542721, 6.8111255428115635541, 0.41748364516615571613, -3.7510048741528921827, 2.4765274305422791921}},
	{HenonHeiles(), 100, 1e-11, "mpmath",
		[]float64{-0.0401942378760688280, 0.67901692177202164112, 0.03845092895185982648, 0.04859483155300364257}},
	{VanDerPol(1), 6.3, 1e-12, "mpmath",
		[]float64{1.8321351878238605998, 1.1618990784970227627}},
	{VanDerPol(1e3), 6.3, 1e-11, "Radau",
		[]float64{-1.67553816000364, 0.92643334061766}},
	{VanDerPol(1e5), 6.3, 1e-11, "Radau",
		[]float64{-1.4317321202316, 1.3637043668998}},
	{Robertson(), 1e5, 1e-11, "Radau",
		[]float64{0.0178659211421000, 7.2747514684365e-08, 0.9821340061103850}},
	{HIRES(), 321.8122, 1e-11, "H&W, DOP853",
		[]float64{0.7371312573325668e-3, 0.1442485726316185e-3, 0.5888729740967575e-4, 0.1175651343283149e-2, 0.2386356198831331e-2, 0.6238968252742796e-2, 0.2849998395185769e-2, 0.2850001604814231e-2}},
	{Oregonator(), 30, 1e-11, "Radau",
		[]float64{1.0006614671805, 1512.778937348240, 10358.5431276725}},
	{Brusselator(30), 10, 1e-11, "DOP853",
		[]float64{0.9167101937811689, 3.105156039863399, 0.836869048388177, 3.205828245896407, 0.7631789168223673, 3.29841754952571, 0.6973995447132944, 3.380503873284351, 0.6403584441831922, 3.450883833039291, 0.5921091823323181, 3.509413587668705, 0.552157792905916, 3.55674757881043, 0.5196897853777306, 3.594054676123772, 0.4937576341581367, 3.622764912406062, 0.4734148027136008, 3.644370720182627, 0.4577996040072001, 3.660285655787365, 0.4461801353777227, 3.671752415611927, 0.4379730397126725, 3.679788063209874, 0.4327470956334035, 3.685154687055161, 0.4302198291306961, 3.688345854925029, 0.4302526115779065, 3.689581878188048, 0.4328474640829133, 3.68880945633446, 0.4381470126644334, 3.68570359207383, 0.4464375309381541, 3.679671822510702, 0.4581534994328976, 3.669862957681522, 0.473880340276089, 3.655184805737063, 0.4943497652583933, 3.634337854400577, 0.5204195178959081, 3.605874401882303, 0.5530266354857462, 3.568294564260447, 0.5931018919214471, 3.520190557864751, 0.6414350194814626, 3.460446333144245, 0.6984887179711099, 3.388488033770592, 0.7641769485575225, 3.304559737611811, 0.8376487057301357, 3.209970409432935, 0.9171442100202116, 3.107231688662206}},
	{Burgers(50), 1, 1e-12, "DOP853",
		[]float64{0.01541112716080623, 0.0308219032929496, 0.04623078239713425, 0.06163363199352677, 0.07702190330725475, 0.09238002083429979, 0.1076814712042273, 0.122882779597184, 0.1379141024881321, 0.1526644709095637, 0.1669587357798042, 0.1805220544834795, 0.192926759984803, 0.2035171691457355, 0.2113142207147188, 0.2149219256561571, 0.2125031145135807, 0.2019639332851678, 0.1815313922487546, 0.1507707834663329, 0.1116314225216937, 0.06862270911916002, 0.02751487225512092, -0.00680140209505022, -0.03182127058313816, -0.04749124711236857, -0.05528704446633458, -0.05718902314701565, -0.05503861680380142, -0.0502907431279766, -0.04399947597555484, -0.03689449207320968, -0.02947176031289997, -0.0220694550493932, -0.01492330210184, -0.008204038916181903, -0.002041488595943821, 0.003460779194581494, 0.008217270096954818, 0.01215686242363023, 0.01522222351540168, 0.0173713812644126, 0.01858068237965911, 0.01884843595030154, 0.01819854643310346, 0.01668344559011167, 0.01438568740223173, 0.01141770224561119, 0.007919417942835086, 0.004053720121838369}},
}

func solve(t *testing.T, p *probode.Problem, times []float64, tol float64) *reference.Solution {
	t.Helper()
	r, err := reference.Solve(context.Background(), p, times, reference.Settings{Tolerance: probode.Tolerance{Relative: tol}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The reference finds the states of other solvers, and its claim is above its
// error.
func TestReferenceValues(t *testing.T) {
	for _, test := range references {
		r := solve(t, test.p, []float64{test.time}, 1e-14)
		x := r.X
		if len(x) != len(test.x) {
			t.Fatalf("%s has %d components, the reference %d", test.p.Name, len(x), len(test.x))
		}
		var size float64
		for _, v := range test.x {
			size = max(size, math.Abs(v))
		}
		for k, want := range test.x {
			e := math.Abs(x[k] - want)
			if !(e <= test.tol*size) {
				t.Errorf("%s, θ = %v: %s(%g) = %.17g, want %.17g (%s), which differ by %.2g of the largest component",
					test.p.Name, test.p.Theta, test.p.StateName(k), test.time, x[k], want, test.source, e/size)
			}
			own := 1e-12 * size
			if test.source == "mpmath" {
				own = 0x1p-52 * math.Abs(want)
			}
			if !(e <= r.Error[k]+own) {
				t.Errorf("%s, θ = %v: the error of %s(%g) is %.3g above the claimed %.3g", test.p.Name, test.p.Theta, test.p.StateName(k), test.time, e, r.Error[k])
			}
		}
	}
}

// Every problem is well formed and its Jacobian is the derivative of F, all
// along its solution and for other θ, too.
func TestJacobians(t *testing.T) {
	names := make(map[string]bool)
	for _, p := range append(All(), Influenza(), VanDerPol(1e5), Lorenz96(4), Lorenz96(40), Brusselator(2), Burgers(2)) {
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
		names[p.Name] = true
		if p.FJ == nil || p.States == nil || p.Theta == nil || p.Params == nil {
			t.Errorf("%s lacks FJ, Theta or names", p.Name)
		}
		const n = 10
		times := make([]float64, n)
		for i := range times {
			times[i] = p.Span[0] + (p.Span[1]-p.Span[0])*float64(i)/n
		}
		x := solve(t, p, times, 1e-6).X
		theta := append([]float64(nil), p.Theta...)
		d := p.Dim()
		for i, at := range times {
			if err := p.CheckJacobian(at, x[i*d:(i+1)*d], theta); err != nil {
				t.Error(err)
			}
			for k := range theta {
				theta[k] *= 1.05
			}
		}
	}
	if len(names) < len(All()) {
		t.Errorf("%d problems share %d names", len(All()), len(names))
	}
}

// Banded Jacobians leave nothing outside of the band: the dense Jacobian by
// differences and the banded one turn the same vector into the same.
func TestBands(t *testing.T) {
	for _, p := range []*probode.Problem{Brusselator(7), Burgers(9)} {
		d, low, width := p.Dim(), p.Band.Lower, p.Band.Lower+p.Band.Upper+1
		f, f1 := make([]float64, d), make([]float64, d)
		jac := make([]float64, d*width)
		p.FJ(f, jac, 0, p.X0, p.Theta)
		const eps = 1e-7
		for j := range d {
			x := append([]float64(nil), p.X0...)
			x[j] += eps
			p.F(f1, 0, x, p.Theta)
			for i := range d {
				var want float64
				if q := j - i + low; q >= 0 && q < width {
					want = jac[i*width+q]
				}
				// Second derivatives are below 10, and rounding is 1e-16/eps.
				if got := (f1[i] - f[i]) / eps; math.Abs(got-want) > 1e-5 {
					t.Errorf("%s: ∂f%d/∂x%d is %g, in the band %g", p.Name, i, j, got, want)
				}
			}
		}
	}
}

// What the doc comments say is conserved is conserved.
func TestInvariants(t *testing.T) {
	mu := RestrictedThreeBody().Theta[0]
	lotkaVolterra := func(x, theta []float64) float64 {
		return theta[3]*x[0] - theta[2]*math.Log(x[0]) + theta[1]*x[1] - theta[0]*math.Log(x[1])
	}
	for _, test := range []struct {
		p    *probode.Problem
		what string
		f    func(x, theta []float64) float64
		tol  float64 // absolute; 1e-12 unless close encounters multiply errors
	}{
		{LotkaVolterra(), "E", lotkaVolterra, 1e-12},
		{LotkaVolterra20(), "E", lotkaVolterra, 1e-12},
		{SIR(), "N", func(x, _ []float64) float64 { return (x[0] + x[1] + x[2]) / 1000 }, 1e-12},
		{SIR(), "S exp(βR/γN)", func(x, th []float64) float64 { return x[0] * math.Exp(th[0]*x[2]/(th[1]*1000)) / 1000 }, 1e-12},
		{RigidBody(), "first integral", func(x, th []float64) float64 { return th[1]*x[0]*x[0] - th[0]*x[1]*x[1] }, 1e-12},
		{RigidBody(), "second integral", func(x, th []float64) float64 { return th[2]*x[1]*x[1] - th[1]*x[2]*x[2] }, 1e-12},
		{ProteinActivation(), "R + RS + P", func(x, _ []float64) float64 { return x[2] + x[3] + x[4] }, 1e-12},
		{RestrictedThreeBody(), "Jacobi integral", func(x, _ []float64) float64 {
			d1, d2 := math.Hypot(x[0]+mu, x[1]), math.Hypot(x[0]-1+mu, x[1])
			return x[0]*x[0] + x[1]*x[1] + 2*(1-mu)/d1 + 2*mu/d2 - x[2]*x[2] - x[3]*x[3]
		}, 1e-11},
		{Kepler(0.6), "energy", func(x, _ []float64) float64 {
			return (x[2]*x[2]+x[3]*x[3])/2 - 1/math.Hypot(x[0], x[1])
		}, 1e-12},
		{Kepler(0.6), "angular momentum", func(x, _ []float64) float64 { return x[0]*x[3] - x[1]*x[2] }, 1e-12},
		{HenonHeiles(), "energy", func(x, th []float64) float64 {
			return (x[2]*x[2]+x[3]*x[3]+x[0]*x[0]+x[1]*x[1])/2 + th[0]*(x[0]*x[0]*x[1]-x[1]*x[1]*x[1]/3)
		}, 1e-12},
		{Pleiades(), "energy", func(x, m []float64) float64 {
			var e float64
			for i := range 7 {
				e += m[i] * (x[14+i]*x[14+i] + x[21+i]*x[21+i]) / 2
				for j := range i {
					e -= m[i] * m[j] / math.Hypot(x[i]-x[j], x[7+i]-x[7+j])
				}
			}
			return e / 100 // of the order of its terms
		}, 1e-11},
		{Pleiades(), "momentum", func(x, m []float64) float64 {
			var p float64
			for i := range 7 {
				p += m[i] * x[14+i]
			}
			return p / 10
		}, 1e-12},
		{Pleiades(), "angular momentum", func(x, m []float64) float64 {
			var l float64
			for i := range 7 {
				l += m[i] * (x[i]*x[21+i] - x[7+i]*x[14+i])
			}
			return l / 100
		}, 1e-12},
		{Robertson(), "mass", func(x, _ []float64) float64 { return x[0] + x[1] + x[2] }, 1e-12},
		{HIRES(), "enzyme", func(x, _ []float64) float64 { return x[6] + x[7] }, 1e-12},
	} {
		p, d := test.p, test.p.Dim()
		times := []float64{p.Span[0], 0.3*p.Span[1] + 0.7*p.Span[0], p.Span[1]}
		x := solve(t, p, times, 1e-14).X
		want := test.f(x[:d], p.Theta)
		for i := 1; i < len(times); i++ {
			if got := test.f(x[i*d:(i+1)*d], p.Theta); !(math.Abs(got-want) <= test.tol) {
				t.Errorf("%s: %s is %.16g at t = %g and %.16g at the start", p.Name, test.what, got, times[i], want)
			}
		}
	}
}

func TestKepler(t *testing.T) {
	p := Kepler(0.6)
	p.Span[1] = 10 * math.Pi
	x := solve(t, p, []float64{math.Pi, 4 * math.Pi}, 1e-14).X
	// Half a period leads to the far end, two periods to the start.
	for k, want := range []float64{-1.6, 0, 0, -0.5, 0.4, 0, 0, 2} {
		if math.Abs(x[k]-want) > 1e-10 {
			t.Errorf("x[%d] = %.15g, want %g", k, x[k], want)
		}
	}
}

func TestPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"Lorenz96":    func() { Lorenz96(3) },
		"Brusselator": func() { Brusselator(1) },
		"Burgers":     func() { Burgers(1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s accepts too small a dimension", name)
				}
			}()
			f()
		}()
	}
}

func BenchmarkFitzHughNagumo(b *testing.B) {
	p := FitzHughNagumo()
	f, jac := make([]float64, 2), make([]float64, 4)
	for b.Loop() {
		p.FJ(f, jac, 0, p.X0, p.Theta)
	}
}
