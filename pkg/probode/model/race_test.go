//go:build race

package model

// underRace is true if the race detector is on. A sync.Pool then returns only some of the
// values that it was given.
const underRace = true
