//go:build race

package model

// underRace tells that the race detector is at work, under which a sync.Pool
// gives back only some of what it was given.
const underRace = true
