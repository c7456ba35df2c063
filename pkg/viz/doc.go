// Package viz draws figures for probabilistic ODE solvers: ensembles of paths, means with
// their standard deviations, posterior densities, and curves of error against step size.
//
// A figure is a value. A [Figure] consists of panels, and a [Panel] consists of two axes
// and a list of layers. There are four kinds of [Layer]:
//
//	Line    polylines: solutions, ensembles, contours, ellipses, slope guides
//	Band    the area between two curves: σ bands, histogram bars
//	Points  markers, with or without error bars: observations, draws
//	Guide   a straight reference line across the panel
//
// [Contours], [Densities] and [Curves] return panels that already contain layers. You can
// change or extend panels before they are drawn, for example by appending the panels of
// one figure to those of another.
//
// A figure can be drawn in two ways: [PNG] and [SVG] make a static picture with
// gonum/plot, and [HTML] makes an interactive ECharts chart with go-echarts. The picture
// and the chart have the same layout, axis limits and colours. The HTML fragment contains
// the picture; the chart takes the place of the picture if ECharts can be loaded.
// [Frames] is a figure with a slider. The output depends only on the figure: the same
// figure gives the same bytes.
//
// All data are passed as slices of numbers, so this package does not depend on solvers or
// samplers. Package viz/plots turns the results of solvers and samplers into figures.
package viz
