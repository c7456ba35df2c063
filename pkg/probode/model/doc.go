// Package model reads models that are written as data: a YAML file of our own
// (MODELFILE.md describes it) or a problem of PEtab 1 with SBML, and writes
// them out as equations.
//
// [Load] gives a [File]: parameters, and models with their observables, conditions and
// data. [File.Instances] writes each model out for each condition of the data:
// right-hand sides, initial values, events, and a formula and a noise formula for each
// row. All of them are expressions over time, states and the parameters of the file,
// and no other name is left in them.
//
// A File that loads is complete. If a file uses a feature that this package does not
// support, or contradicts itself, Load fails with an error that names the feature, the
// file and the line; nothing that could change a likelihood is ignored. The size and
// nesting of files are limited, and document types and aliases that multiply are
// refused.
//
// Of a File, [File.ODEs] gives problems for any solver, with exact Jacobians and
// derivatives for parameters, [File.LogLikelihood] the log-likelihood of the data and
// its gradient, [File.Fit] the parameters at which it is largest, and [File.Posterior]
// a posterior for package bayes. [File.Go] writes the equations as Go.
//
// # Conventions
//
// Models of PEtab start at time 0, those of a model file at Model.Start. A measurement
// at the time of an event is made after the event. Preequilibration runs the model from
// its initial values at time 0 to its steady state; then states keep their values
// unless the condition sets them, and the time is 0 again.
//
// The log-likelihood of a row is that of the measurement itself, not of its transformed
// value: with Scale log10 and noise σ, log10 of the measurement is distributed around
// log10 of Formula with σ, and the density has the factor 1/(y ln 10).
//
// Sources: PEtab, Schmiester et al. (2021), PLoS Computational Biology 17,
// e1008646, and its specification, version 1; SBML Level 2 Version 4 and Level 3
// Version 1 Core; yaml2sbml, Vanhoefer et al. (2021), Journal of Open Source
// Software 6, 3215.
package model
