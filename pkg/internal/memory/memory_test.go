package memory

import (
	"math"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	if err := Check("a small array", 1000, 10); err != nil {
		t.Error(err)
	}
	for _, factors := range [][]int{{math.MaxInt}, {math.MaxInt, math.MaxInt, 4}, {math.MaxInt32, 1 << 10}} {
		err := Check("an array", factors...)
		if err == nil || !strings.Contains(err.Error(), "an array would take") {
			t.Errorf("factors %v: error %v: want a refusal", factors, err)
		}
	}
	if l := limit(); !(l > 1e6) || l > 1e17 {
		t.Errorf("limit is %g bytes: not the memory of a machine", l)
	}
	if got := size(2.5e9); got != "2.5 GB" {
		t.Errorf("size(2.5e9) is %q", got)
	}
}
