// Package problems contains standard test problems for solvers of ordinary differential
// equations. Most parameters, initial states and time spans come from the literature.
// Each function returns a new Problem, which the caller may change. The vector θ contains
// the parameters that a user may want to infer.
//
// The problems Logistic, LotkaVolterra, SIR, RigidBody and ProteinActivation are not
// stiff. The solutions of FitzHughNagumo, RestrictedThreeBody, Kepler, Pleiades and
// Goodwin change slowly at some times and fast at others. Lorenz63, Lorenz96 and
// HenonHeiles are chaotic. VanDerPol, Robertson, HIRES, Oregonator, Brusselator and
// Burgers are stiff; Brusselator and Burgers have banded Jacobians.
package problems

import "github.com/probode/probode/pkg/probode"

// All returns every problem of this package except Influenza. The problems have distinct
// names and follow the order of the package documentation. If a function has
// an argument, All calls the function with a common value. The dimensions of Lorenz96,
// Brusselator and Burgers are small.
func All() []*probode.Problem {
	return []*probode.Problem{
		Logistic(), LotkaVolterra(), LotkaVolterra20(), SIR(), RigidBody(), ProteinActivation(),
		FitzHughNagumo(), RestrictedThreeBody(), Kepler(0.6), Pleiades(), Goodwin(),
		Lorenz63(), Lorenz96(10), HenonHeiles(),
		VanDerPol(1), Robertson(), HIRES(), Oregonator(),
		Brusselator(30), Burgers(50),
	}
}
