//go:build !unix

package main

import "time"

var began = time.Now()

// used returns the time since the start of the process, where there is no portable way to
// read its processor time.
func used() time.Duration { return time.Since(began) }
