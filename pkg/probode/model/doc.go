// Package model reads models from files: a model file in YAML, which MODELFILE.md
// describes, or a problem of PEtab 1 or 2 with SBML. The package converts the models to
// equations.
//
// [Load] returns a [File], which holds the parameters and the models. Each model has its
// own observables, conditions and data. [File.Instances] returns the equations of every
// model under every condition in the data. The equations consist of right-hand sides,
// initial values, events and, for each row of data, one formula for the prediction and
// one for the noise. The only symbols in the equations are the time, the states and the
// parameters of the file.
//
// Load never ignores a part of a file that could change a likelihood. If a file
// contradicts itself or uses a feature that this package does not support, Load fails
// with an error that names the problem, the file and the line. The size of a file and the
// depth of its nesting are limited. Load rejects XML files with document type
// declarations, and YAML files whose aliases expand to too many values.
//
// [File.ODEs] returns problems for any solver, with exact Jacobians and derivatives with
// respect to parameters. [File.LogLikelihood] computes the log-likelihood of the data and
// its gradient. [File.Fit] finds the parameters that maximise the log-likelihood.
// [File.Posterior] returns a posterior for package bayes. [File.Go] writes the equations
// as Go code.
//
// # Conventions
//
// A PEtab model starts at time 0, or where the first period of a PEtab 2 experiment begins. A
// model file can set its own start time with the key "time". A measurement at the time of an event is assumed to be made after the event. If
// an SBML event has a strict trigger, such as time > 5, a measurement at the time of the
// event is assumed to be made before the event. In a preequilibration, the model runs
// from its initial values to its steady state. After a preequilibration, the experiment
// starts from the steady state. A state that is set by the condition of the experiment
// starts from the value in this condition, not from its steady-state value.
//
// An experiment of PEtab 2 is a condition, and each later period is an event. There is a
// Model for each time at which experiments begin.
//
// The log-likelihood of a measurement y is the log density of y itself, not of its
// transformed value. For example, with Scale log10 and noise σ, the distribution of
// log10(y) is centred at log10(Formula), and its standard deviation or scale is σ. With
// Scale log10, the density of y is therefore the density of log10(y), divided by y ln 10.
//
// Sources: PEtab, Schmiester et al. (2021), PLoS Computational Biology 17,
// e1008646, and its specification, versions 1 and 2.0; SBML Level 2 Version 4 and Level 3
// Version 1 Core; yaml2sbml, Vanhoefer et al. (2021), Journal of Open Source
// Software 6, 3215.
package model
