package main

import (
	"fmt"
	"sync"
)

type observatory struct {
	subjects []subject
	entrants []entrant
	rules    []rule
	levels   int // step sizes
	others   int // number of θ at which calibrations are judged
	paths    int
	seed     uint64
	workers  int
	out      string

	questions []question
	remedies  []remedy
	draws     int // draws of each of four chains
}

func (o *observatory) inputs() string {
	return fmt.Sprintf("seed %d, %d paths, %d other θ, %d draws", o.seed, o.paths, o.others, o.draws)
}

// each returns the first error, after which there are no further calls.
func (o *observatory) each(n int, do func(i int) error) error {
	numbers := make(chan int, n)
	for i := range n {
		numbers <- i
	}
	close(numbers)
	var once sync.Once
	var failed error
	var group sync.WaitGroup
	for range min(o.workers, n) {
		group.Go(func() {
			for i := range numbers {
				if err := do(i); err != nil {
					once.Do(func() { failed = err })
					for range numbers { // the others are not begun
					}
				}
			}
		})
	}
	group.Wait()
	return failed
}
