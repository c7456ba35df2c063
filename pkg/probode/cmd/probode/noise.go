package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/calibrate"
)

// The flags -alpha and -noise: the size of the noise, and its scaling.

// noisy sets the noise scale and the scaling.
func (s *solution) noisy(ctx context.Context, p *probode.Problem, m probode.Method, to *probode.Settings) (err error) {
	if to.Scaling, err = scalingNamed(s.noise); err != nil {
		return err
	}
	if s.alpha != "auto" {
		a, err := strconv.ParseFloat(s.alpha, 64)
		if err != nil || !(a >= 0) || math.IsInf(a, 1) {
			return fmt.Errorf("-alpha %s: want a number ≥ 0, or auto", clip(s.alpha))
		}
		to.Alpha = a
		return nil
	}
	if g, err := (probode.Setup{Method: m, Mesh: to.Mesh, Scaling: probode.ScaleLocal}).Grid(ctx, p, nil, to.Times); s.noise == "" && err == nil {
		to.Mesh = g
	}
	cal, err := calibrate.Run(ctx, p, m, calibrate.Settings{Mesh: to.Mesh, Scaling: to.Scaling, Seed: s.seed})
	if err != nil {
		return fmt.Errorf("-alpha auto: %w", err)
	}
	for _, w := range cal.Warnings {
		fmt.Fprintln(os.Stderr, "warning: -alpha auto:", w)
	}
	*to = cal.Settings(*to)
	return nil
}

// scalingNamed reads -noise.
func scalingNamed(name string) (probode.Scaling, error) {
	switch name {
	case "":
		return probode.ScaleDefault, nil
	case "local":
		return probode.ScaleLocal, nil
	case "method":
		return probode.ScaleStep, nil
	}
	return 0, fmt.Errorf("-noise %s: want local or method", clip(name))
}
