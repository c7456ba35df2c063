//go:build !unix

package main

import "time"

var began = time.Now()

// used returns the time since the process started, because the processor time cannot be
// read on this operating system without further packages.
func used() time.Duration { return time.Since(began) }
