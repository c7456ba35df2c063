package model_test

import (
	"fmt"

	"github.com/probode/probode/pkg/probode/model"
)

// The equations of a model at the condition of its data.
func ExampleLoad() {
	p, err := model.Load("testdata/influenza.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	list, err := p.Experiments()
	if err != nil {
		fmt.Println(err)
		return
	}
	e := list[0]
	for i, s := range e.States {
		fmt.Printf("%s' = %s, from %s\n", s, e.Rates[i], e.Initial[i])
	}
	r := e.Rows[0]
	fmt.Printf("day %v: %v boys of %s, with an error of %s\n", r.Time, r.Value, r.Formula, r.Noise)
	// Output:
	// S' = -(beta*S*(I/(S + I + R))), from boys - first
	// I' = beta*S*(I/(S + I + R)) - gamma*I, from first
	// R' = gamma*I, from 0
	// day 1: 3 boys of I, with an error of sigma
}
