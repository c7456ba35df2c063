//go:build !unix

package main

import "time"

var began = time.Now()

// used is the time since the start: no further packages for processor time.
func used() time.Duration { return time.Since(began) }
