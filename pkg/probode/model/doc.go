// Package model reads models that are written as data: a YAML file of our own
// (MODELFILE.md describes it) or a problem of PEtab 1 with SBML, and writes
// them out as equations.
//
// [Load] gives a [File]: parameters, and models with their observables,
// conditions and data. [File.Instances] writes each model out for each
// condition of the data, with nothing left to look up: right-hand sides,
// initial values, events, and a formula and a noise formula for each row, all
// expressions over time, states and the parameters of the problem.
//
// A problem that loads is complete. What this package does not support, and
// what contradicts itself, is refused as it is read, by its name, with file and
// line; nothing that could change a likelihood is passed over. Files are bounded
// in size and nesting, document types and aliases that multiply are refused.
//
// From there [File.ODEs] gives problems for any solver, with exact Jacobians
// and derivatives for parameters, [File.LogLikelihood] the log-likelihood of the
// data and its gradient, [File.Fit] the parameters at which it is largest,
// and [File.Posterior] a posterior for package bayes. [File.Go] writes
// the equations as Go.
//
// # Conventions
//
// Models start at time 0. The measurement at the time of an event is taken
// after the event. Preequilibration runs the model from its initial values at
// time 0 to its steady state; then states keep their values unless the
// condition sets them, and the time is 0 again.
//
// The log-likelihood of a row is that of the measurement itself, not of the
// transformed one: with Scale log10 and noise σ, log10 of the measurement is
// distributed around log10 of Formula with σ, and the density has the factor
// 1/(y ln 10).
//
// Sources: PEtab, Schmiester et al. (2021), PLoS Computational Biology 17,
// e1008646, and its specification, version 1; SBML Level 2 Version 4 and Level 3
// Version 1 Core; yaml2sbml, Vanhoefer et al. (2021), Journal of Open Source
// Software 6, 3215.
package model
