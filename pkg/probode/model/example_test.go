package model_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/probode/probode/pkg/probode/model"
)

// This example prints the equations of a model and the first of its measurements.
func ExampleLoad() {
	p, err := model.Load("testdata/influenza.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	m := p.Models[0]
	for _, s := range m.States {
		fmt.Printf("%s' = %s\n", s.ID, s.Rate)
	}
	d := m.Data[0]
	fmt.Printf("day %v: %v boys for %s\n", d.Time, d.Value, d.Observable)
	// Output:
	// S' = -infection
	// I' = infection - gamma*I
	// R' = gamma*I
	// day 1: 3 boys for in_bed
}

// This example reads a model file and derives a problem for any solver, the
// log-likelihood of the data, and a posterior for package bayes.
func ExampleFile_Posterior() {
	p, err := model.Load("testdata/influenza.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	odes, _ := p.ODEs()
	l, _ := p.LogLikelihood(model.LikelihoodSettings{})
	posterior, err := p.Posterior()
	if err != nil {
		fmt.Println(err)
		return
	}

	v, err := l.At(context.Background(), p.Nominal(), true)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s on %v, %d parameters to estimate\n", strings.Join(odes[0].States, ", "), odes[0].Span, len(posterior.Params))
	fmt.Printf("log-likelihood %.6f\n", v.LogLikelihood)
	for i, q := range l.Estimated() {
		fmt.Printf("d/d%s = %.4g, d/dlog10(%s) = %.4g\n", q.ID, v.Gradient[i], q.ID, v.ScaleGradient[i])
	}
	// Output:
	// S, I, R on [0 14], 3 parameters to estimate
	// log-likelihood -64.833632
	// d/dbeta = 8.421, d/dlog10(beta) = 32.96
	// d/dgamma = -162.4, d/dlog10(gamma) = -186.9
	// d/dsigma = 0.3028, d/dlog10(sigma) = 13.95
}
