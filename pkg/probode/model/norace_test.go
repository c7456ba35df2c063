//go:build !race

package model

// underRace tells that the race detector is at work.
const underRace = false
