//go:build !race

package model

// underRace is true if the race detector is on.
const underRace = false
