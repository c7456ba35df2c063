//go:build !unix

package main

import "time"

var began = time.Now()

// The function used() returns the time since the process started, because there is no
// portable way to read the processor time on this system.
func used() time.Duration { return time.Since(began) }
