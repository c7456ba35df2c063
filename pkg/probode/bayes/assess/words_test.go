package assess

import "testing"

// The verdict on a method names each setting once.
func TestGroupInWords(t *testing.T) {
	const n, m, u = Negligible, Matters, Undecided
	for want, verdicts := range map[string][]Verdict{
		"AB1: the solver's error does not matter at any setting that was tried, up to 1.":                                           {n, n, n},
		"AB1: the solver's error does not matter up to 3; it matters at 2 and above.":                                               {m, m, n},
		"AB1: the solver's error does not matter up to 2; it matters at 1.":                                                         {m, n, n},
		"AB1: the solver's error matters at every setting that was tried, down to 3.":                                               {m, m, m},
		"AB1: it is not known whether it matters at 1 (why); it matters at 2, 3.":                                                   {u, m, m},
		"AB1: it is not known whether it matters at 3 (why); it matters at 2 and above.":                                            {m, m, u},
		"AB1: the solver's error does not matter up to 4; it is not known whether it matters at 1 (why), 3 (why); it matters at 2.": {u, m, u, n},
	} {
		var g []*Candidate
		for i, v := range verdicts {
			g = append(g, &Candidate{Method: "AB1", Mesh: string(rune('1' + i)), Verdict: v, Why: "why"})
		}
		if got := new(Report).sayGroup(g); got != want {
			t.Errorf("%v: %q, want %q", verdicts, got, want)
		}
	}
}
