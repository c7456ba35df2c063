package methods

var ErrStepSize = errStepSize
