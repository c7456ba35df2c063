// Package problems holds the initial value problems on which solvers of ordinary
// differential equations are usually tested, with parameters, initial state and span
// from the literature. Each function returns a new Problem, which the caller may
// change. θ holds the parameters that one may want to infer.
//
// Not stiff: Logistic, LotkaVolterra, SIR, RigidBody, ProteinActivation.
// With fast and slow stretches: FitzHughNagumo, RestrictedThreeBody, Kepler,
// Pleiades, Goodwin. Chaotic: Lorenz63, Lorenz96, HenonHeiles. Stiff:
// VanDerPol, Robertson, HIRES, Oregonator and, with banded Jacobians,
// Brusselator and Burgers.
package problems

import "github.com/probode/probode/pkg/probode"

// All returns one problem of each kind, in the order of the list in the package
// documentation, and with distinct names. Functions with an argument are called with its
// usual value or, if it is a dimension, with a small value.
func All() []*probode.Problem {
	return []*probode.Problem{
		Logistic(), LotkaVolterra(), LotkaVolterra20(), SIR(), RigidBody(), ProteinActivation(),
		FitzHughNagumo(), RestrictedThreeBody(), Kepler(0.6), Pleiades(), Goodwin(),
		Lorenz63(), Lorenz96(10), HenonHeiles(),
		VanDerPol(1), Robertson(), HIRES(), Oregonator(),
		Brusselator(30), Burgers(50),
	}
}
