package calibrate_test

import "context"

func ctx() context.Context { return context.Background() }
