// Package memory checks that data will fit in memory before the memory is allocated.
package memory

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
)

// fallback is for machines that do not report their memory: only absurd requests exceed
// it.
const fallback = 64 << 30

// limit returns the number of bytes that this process can use. The result is the smallest
// of three numbers: the memory of the machine, the memory limit of the control group, and
// GOMEMLIMIT.
var limit = sync.OnceValue(func() float64 {
	least := float64(fallback)
	if v, ok := field("/proc/meminfo", "MemTotal:"); ok {
		least = v * 1024
	}
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if b, err := os.ReadFile(name); err == nil {
			if v, err := strconv.ParseFloat(strings.TrimSpace(string(b)), 64); err == nil {
				least = min(least, v)
			}
		}
	}
	return min(least, float64(debug.SetMemoryLimit(-1)))
})

func field(file, name string) (float64, bool) {
	f, err := os.Open(file)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if words := strings.Fields(lines.Text()); len(words) > 1 && words[0] == name {
			v, err := strconv.ParseFloat(words[1], 64)
			return v, err == nil
		}
	}
	return 0, false
}

// Check returns an error if the memory cannot hold n floating-point numbers, where n is
// the product of the given factors. The product may be too large for an int. The argument
// `what` says what the numbers are; it appears in the error message.
func Check(what string, factors ...int) error {
	bytes := 8.0
	for _, f := range factors {
		bytes *= float64(f)
	}
	if most := limit(); !(bytes <= most) {
		return fmt.Errorf("%s would take %s of memory, but the limit is %s", what, size(bytes), size(most))
	}
	return nil
}

func size(bytes float64) string {
	const units = "kMGTPEZY"
	if bytes < 1000 {
		return fmt.Sprintf("%.0f bytes", bytes)
	}
	n := min(int(math.Log10(bytes)/3), len(units))
	return fmt.Sprintf("%.3g %cB", bytes/math.Pow(1000, float64(n)), units[n-1])
}
