// Package viz draws the figures of probabilistic ODE solvers: ensembles of paths, means
// with their standard deviations, posterior densities, and curves of error against step
// size.
//
// A figure is a value. [Figure] holds panels, a [Panel] holds two axes and layers, and
// everything is drawn by four kinds of [Layer]:
//
//	Line    polylines: solutions, ensembles, contours, ellipses, slope guides
//	Band    the area between two curves: σ bands, histogram bars
//	Points  markers, with or without error bars: observations, draws
//	Guide   a straight reference line across the panel
//
// [Contours], [Densities] and [Curves] return panels that
// are made of these parts. You can change or extend them before they are drawn, for
// example by appending the panels of one figure to those of another.
//
// The same figure can be drawn in two ways: [PNG] and [SVG] make a static picture with
// gonum/plot, and [HTML] generates the configuration of an interactive ECharts chart with
// go-echarts. Both use the same layout, axis limits and colours, so that the two are
// interchangeable: the fragment made by [HTML] replaces the picture with the chart if
// ECharts can be loaded. [Frames] is a figure with a slider. All output is a function of
// the figure alone: the same figure gives the same bytes.
//
// All data are given as plain slices; the package knows nothing of solvers or samplers.
// Package viz/plots turns their results into figures.
package viz
