package nb_test

import "github.com/probode/probode/pkg/viz/nb"

// Outside a notebook a table is plain text.
func ExampleTable() {
	nb.Table([]string{"method", "h", "error"},
		[]any{"AB1", 0.1, 0.0312456},
		[]any{"AM0", 0.05, 1.234567e-5})
	// Output:
	// method     h       error
	// AB1      0.1     0.03125
	// AM0     0.05  1.235·10⁻⁵
}
