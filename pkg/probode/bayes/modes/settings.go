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
	// draws are spread evenly over the prior of each parameter. Zero means 400 draws, and
	// a negative number means no draws. Starts is the number of searches that begin at
	// draws from the prior. Zero means 24 searches or, for d parameters, 300/(d + 2)
	// searches, whichever is larger. With Starts = 0, Find makes up to four times the
	// default number of searches if the first end points suggest that there are other
	// modes. With Starts = 0, Find also begins searches at local maxima of the density
	// along the coordinate lines through the highest end point. If Starts is 0, no new
	// search begins once the searches have used about a sixth of the solves that a
	// sampling run needs. For d parameters, a sampling run with the default settings
	// takes 4 (2000 + 250 d) solves.
	Points, Starts int
}

const (
	modePoints = 400
	modeStarts = 24
	// Searches nearer than `together` standard deviations count as one.
	together = 0.5
	// Ends are different modes if the log density between them is at least `barrier`
	// lower than at either.
	barrier = 0.5
	// A search that is not expected within `lowest` of the highest log density stops. An
	// end is discarded more than lowest + 4 below the largest log mass: 4 allows for
	// errors of first estimates.
	lowest = 14
	// Modes with at least this share of the Gaussian masses are weighed.
	weighed = 1e-3
)
