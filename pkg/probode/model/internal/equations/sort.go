package equations

import (
	"strings"
)

// Sort orders assignments by dependence: an assignment follows all assignments that its
// formula uses. Sort reports an error if assignments form a cycle.
func Sort(list []Assignment) []Assignment {
	byID := map[string]int{}
	for i, a := range list {
		byID[a.ID] = i
	}
	const open, done = 1, 2
	state := make([]int, len(list))
	var out []Assignment
	// The search does not recurse, because a chain of assignments can be as long as the
	// file.
	type frame struct {
		i    int
		uses []string
	}
	for first := range list {
		if state[first] != 0 {
			continue
		}
		state[first] = open
		stack := []frame{{first, list[first].Formula.Symbols()}}
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			if len(f.uses) == 0 {
				state[f.i] = done
				out = append(out, list[f.i])
				stack = stack[:len(stack)-1]
				continue
			}
			next, ok := byID[f.uses[0]]
			f.uses = f.uses[1:]
			switch {
			case !ok || state[next] == done:
			case state[next] == open:
				var path []string
				for i := len(stack) - 1; i >= 0; i-- {
					path = append(path, list[stack[i].i].ID)
					if stack[i].i == next {
						break
					}
				}
				list[next].Where.Failf("assignment %s depends on itself, through %s", list[next].ID, strings.Join(path, ", "))
			default:
				state[next] = open
				stack = append(stack, frame{next, list[next].Formula.Symbols()})
			}
		}
	}
	return out
}
