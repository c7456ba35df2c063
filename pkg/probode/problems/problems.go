// Package problems holds the initial value problems on which solvers of ordinary
// differential equations are usually tested, with parameters, initial state and span from
// the literature. Each function returns a new Problem, which the caller may change. The
// vector θ contains the parameters that a user may want to infer.
//
// The problems Logistic, LotkaVolterra, SIR, RigidBody and ProteinActivation are not
// stiff. The solutions of FitzHughNagumo, RestrictedThreeBody, Kepler, Pleiades and
// Goodwin change slowly at some times and fast at others. Lorenz63, Lorenz96 and
// HenonHeiles are chaotic. VanDerPol, Robertson, HIRES, Oregonator, Brusselator and
// Burgers are stiff; Brusselator and Burgers have banded Jacobians.
package problems

import "github.com/probode/probode/pkg/probode"

// All returns one problem of each kind, in the order of the list in the package
// documentation, and with distinct names. If the function of a problem has an argument,
// All uses the usual value of this argument or, if the argument is a dimension, a small
// value.
func All() []*probode.Problem {
	return []*probode.Problem{
		Logistic(), LotkaVolterra(), LotkaVolterra20(), SIR(), RigidBody(), ProteinActivation(),
		FitzHughNagumo(), RestrictedThreeBody(), Kepler(0.6), Pleiades(), Goodwin(),
		Lorenz63(), Lorenz96(10), HenonHeiles(),
		VanDerPol(1), Robertson(), HIRES(), Oregonator(),
		Brusselator(30), Burgers(50),
	}
}
