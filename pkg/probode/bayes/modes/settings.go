package modes

// Settings holds the options of Find. The zero value is ready for use.
type Settings struct {
	Seed uint64 // seed of the draws from the prior

	// From holds additional starting points, such as the modes found with a different
	// step size.
	From [][]float64

	// Workers is the number of goroutines; zero means the number of cores. The number of
	// goroutines does not change the result.
	Workers int

	// Points is the number of draws from the prior at which the density is evaluated. The
	// draws are spread evenly over the prior of each parameter. Zero means 400, and a
	// negative number means none. Starts is the number of searches that begin at one of
	// these draws. Zero means 24, or 300/(d + 2) for d parameters if this is larger. With
	// Starts = 0, Find makes up to four times the default number of searches if the first
	// end points suggest that there are other modes. With Starts = 0, Find also looks
	// along coordinate lines through the highest end point, and begins searches where the
	// density rises again. If Starts is 0, no new search begins once the searches have
	// used about a sixth of the solves that a sampling run needs. For d parameters, a
	// sampling run with the default settings takes 4 (2000 + 250 d) solves.
	Points, Starts int
}

const (
	modePoints = 400
	modeStarts = 24
	// Two searches count as one if the distance between their current points, in standard
	// deviations, is less than the constant `together`.
	together = 0.5
	// Two end points count as different modes if the log density at some point between
	// them is at least `barrier` lower than at either of the two.
	barrier = 0.5
	// An end point is kept only if its log density is within `lowest` of the log density
	// at the highest end point. The log masses of end points are compared in the same
	// way, but with a limit that is larger by 4, because they are known only roughly at
	// first.
	lowest = 14
)
