package store

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode/mcmc"
)

// readZarr reads an array as Zarr's specification has it: elements are in chunks, the
// names of which are places in a grid of chunks, in the order of rows.
func readZarr(t *testing.T, path string) (shape []int, element func(index ...int) float64) {
	t.Helper()
	var array struct {
		Format        int `json:"zarr_format"`
		Shape, Chunks []int
		Dtype, Order  string
		Compressor    any
		Filters       any
	}
	var attributes struct {
		Dimensions []string `json:"_ARRAY_DIMENSIONS"`
	}
	for name, v := range map[string]any{".zarray": &array, ".zattrs": &attributes} {
		data, err := os.ReadFile(filepath.Join(path, name))
		if err == nil {
			err = json.Unmarshal(data, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if array.Format != 2 || array.Order != "C" || array.Compressor != nil || array.Filters != nil || len(attributes.Dimensions) != len(array.Shape) {
		t.Fatalf("%s: %+v with dimensions %q", path, array, attributes.Dimensions)
	}
	return array.Shape, func(index ...int) float64 {
		var chunk []string
		at := 0
		for i, k := range index {
			chunk = append(chunk, fmt.Sprint(k/array.Chunks[i]))
			at = at*array.Chunks[i] + k%array.Chunks[i]
		}
		data, err := os.ReadFile(filepath.Join(path, strings.Join(chunk, ".")))
		if err != nil {
			t.Fatal(err)
		}
		want := 8
		for _, n := range array.Chunks {
			want *= n
		}
		if len(data) != want {
			t.Fatalf("%s: a chunk of %d bytes, want %d", path, len(data), want)
		}
		bits := binary.LittleEndian.Uint64(data[8*at:])
		if array.Dtype == "<i8" {
			return float64(int64(bits))
		}
		return math.Float64frombits(bits)
	}
}

// Every number is found again, bit for bit, where its name says.
func TestWriteZarr(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	c := &mcmc.Chains{
		Names: []string{"log σ, β", "a", "b.2.1", "b.1.1", "b.1.2", "b.2.2", "y_dim_0"},
		// In another order than in a file.
		Quantities: []string{"y.2", "lp__", "log_lik.1", "y.1", "log_lik.2", "one.sided", "log_lik.3", "energy__"},
		Meta:       []mcmc.Field{{Key: "model", Value: "a <b>"}},
		Notes:      []string{"first", "second"},
	}
	const chains, draws = 3, 5
	for k := range chains {
		c.Draws, c.Generated = append(c.Draws, nil), append(c.Generated, nil)
		for range draws {
			x, g := make([]float64, len(c.Names)), make([]float64, len(c.Quantities))
			for _, v := range [][]float64{x, g} {
				for i := range v {
					v[i] = math.Ldexp(rng.NormFloat64(), rng.IntN(600)-300)
				}
			}
			g[0], g[4] = math.Inf(-1), math.NaN()
			c.Draws[k], c.Generated[k] = append(c.Draws[k], x), append(c.Generated[k], g)
		}
	}
	dir := filepath.Join(t.TempDir(), "a.zarr")
	if err := WriteZarr(dir, c); err != nil {
		t.Fatal(err)
	}
	read, err := ReadZarr(dir, []string{"b.1.2", "log σ, β", "b.2.1", "b.2.2", "b.1.1"})
	if err != nil {
		t.Fatal(err)
	}
	for k := range chains {
		for i, x := range c.Draws[k] {
			if want := []float64{x[4], x[0], x[2], x[5], x[3]}; !slices.Equal(read.Draws[k][i], want) || read.Generated[k][i][0] != c.Generated[k][i][1] {
				t.Errorf("draw %d of chain %d: read %v and lp__ %v, want %v and %v", i, k, read.Draws[k][i], read.Generated[k][i], want, c.Generated[k][i][1])
			}
		}
	}
	if _, err := ReadZarr(dir, []string{"b.1.2"}); err == nil || !strings.Contains(err.Error(), "has no draws of b") {
		t.Errorf("an array of another size: %v", err)
	}
	value := func(name string) func(k, i int) float64 {
		if j := slices.Index(c.Names, name); j >= 0 {
			return func(k, i int) float64 { return c.Draws[k][i][j] }
		}
		j := slices.Index(c.Quantities, name)
		return func(k, i int) float64 { return c.Generated[k][i][j] }
	}
	for _, test := range []struct {
		path, name string
		index      []int // behind chain and draw
		shape      string
	}{
		{"posterior/log_σ__β", "log σ, β", nil, "[3 5]"},
		{"posterior/a", "a", nil, "[3 5]"},
		{"posterior/b", "b.1.1", []int{0, 0}, "[3 5 2 2]"},
		{"posterior/b", "b.1.2", []int{0, 1}, "[3 5 2 2]"},
		{"posterior/b", "b.2.1", []int{1, 0}, "[3 5 2 2]"},
		{"posterior/b", "b.2.2", []int{1, 1}, "[3 5 2 2]"},
		{"posterior/y_dim_0", "y_dim_0", nil, "[3 5]"},
		{"posterior/y", "y.1", []int{0}, "[3 5 2]"},
		{"posterior/y", "y.2", []int{1}, "[3 5 2]"},
		{"posterior/one_sided", "one.sided", nil, "[3 5]"},
		{"sample_stats/lp", "lp__", nil, "[3 5]"},
		{"sample_stats/energy", "energy__", nil, "[3 5]"},
		{"log_likelihood/log_lik", "log_lik.1", []int{0}, "[3 5 3]"},
		{"log_likelihood/log_lik", "log_lik.2", []int{1}, "[3 5 3]"},
		{"log_likelihood/log_lik", "log_lik.3", []int{2}, "[3 5 3]"},
	} {
		shape, element := readZarr(t, filepath.Join(dir, test.path))
		if fmt.Sprint(shape) != test.shape {
			t.Errorf("%s has the shape %v, want %s", test.path, shape, test.shape)
			continue
		}
		want := value(test.name)
		for k := range chains {
			for i := range draws {
				if got := element(append([]int{k, i}, test.index...)...); math.Float64bits(got) != math.Float64bits(want(k, i)) {
					t.Errorf("%s %v, chain %d, draw %d: %g, want %g", test.path, test.index, k, i, got, want(k, i))
				}
			}
		}
	}
	for path, n := range map[string]int{"posterior/chain": chains, "posterior/draw": draws, "posterior/y_dim_0_": 2, "posterior/b_dim_1": 2, "log_likelihood/log_lik_dim_0": 3, "sample_stats/draw": draws} {
		shape, element := readZarr(t, filepath.Join(dir, path))
		if len(shape) != 1 || shape[0] != n || element(n-1) != float64(n-1) {
			t.Errorf("%s has the shape %v, want %d", path, shape, n)
		}
	}

	// The consolidated metadata are those of the files, all of them.
	var all struct {
		Format   int `json:"zarr_consolidated_format"`
		Metadata map[string]any
	}
	data, err := os.ReadFile(filepath.Join(dir, ".zmetadata"))
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil || all.Format != 1 {
		t.Fatal(all.Format, err)
	}
	n := 0
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if name := filepath.Base(path); strings.HasPrefix(name, ".z") && name != ".zmetadata" {
			n++
			rel, _ := filepath.Rel(dir, path)
			one, _ := json.Marshal(all.Metadata[filepath.ToSlash(rel)])
			var v any
			data, _ := os.ReadFile(path)
			json.Unmarshal(data, &v)
			if two, _ := json.Marshal(v); string(one) != string(two) {
				t.Errorf("%s: %s in .zmetadata, %s in its file", rel, one, two)
			}
		}
		return err
	})
	if n != len(all.Metadata) {
		t.Errorf("%d files of metadata, %d in .zmetadata", n, len(all.Metadata))
	}
	attributes := all.Metadata["posterior/.zattrs"].(map[string]any)
	if attributes["model"] != "a <b>" || attributes["notes"] != "first\nsecond" || all.Metadata["posterior/log_σ__β/.zattrs"].(map[string]any)["long_name"] != "log σ, β" {
		t.Errorf("attributes %v", attributes)
	}
}

// What cannot be written leaves nothing behind.
func TestWriteZarrRefuses(t *testing.T) {
	good := func() *mcmc.Chains {
		return &mcmc.Chains{Names: []string{"a"}, Draws: [][][]float64{{{1}, {2}}, {{3}, {4}}}}
	}
	weighted, ragged, none, twice := good(), good(), good(), good()
	weighted.LogWeights = [][]float64{{0, 0}, {0, 0}}
	ragged.Draws[1] = ragged.Draws[1][:1]
	none.Draws = nil
	twice.Names = []string{"a,", "a;"}
	twice.Names[1] = "a#"
	work := t.TempDir()
	if err := os.Mkdir(filepath.Join(work, "there.zarr"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		c    *mcmc.Chains
		name string
		want string
	}{
		{weighted, "a.zarr", "weights"},
		{ragged, "a.zarr", "chain 2 has 1 draws, and chain 1 has 2"},
		{none, "a.zarr", "no draws"},
		{twice, "a.zarr", `would both be called "a_"`},
		{good(), "there.zarr", "there.zarr is not a Zarr store written by this package"},
		{good(), "nodir/a.zarr", "there is no folder"},
	} {
		err := WriteZarr(filepath.Join(work, test.name), test.c)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), ".tmp") {
			t.Errorf("error %v, want one line with %q", err, test.want)
		}
	}
	if left, _ := os.ReadDir(work); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// A cell of a notebook that is run twice replaces its own store, and nothing else: not
// even a store of the same form that says it was written by others.
func TestWriteZarrReplacesItsOwn(t *testing.T) {
	work := t.TempDir()
	dir := filepath.Join(work, "a.zarr")
	for _, name := range []string{"first", "second"} {
		if err := WriteZarr(dir, &mcmc.Chains{Names: []string{name}, Draws: [][][]float64{{{1}}}}); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(filepath.Join(dir, "posterior"))
		if err != nil || !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name }) || len(entries) != 5 {
			t.Errorf("%v, %v in the store, want only the variable %s", entries, err, name)
		}
	}
	if left, _ := os.ReadDir(work); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	root := filepath.Join(dir, ".zattrs")
	if err := os.WriteFile(root, []byte(`{"inference_library": "probode", "created_at": ["today"]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WriteZarr(dir, &mcmc.Chains{Names: []string{"third"}, Draws: [][][]float64{{{1}}}}); err == nil || !strings.Contains(err.Error(), "is not a Zarr store written by this package") {
		t.Errorf("error %v for a store of others", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "posterior", "second")); err != nil {
		t.Error(err)
	}
}

// What cannot be written is one error of one line, as on a full disk.
func TestWriteZarrFails(t *testing.T) {
	z := &zarr{root: filepath.Join(t.TempDir(), "nowhere"), metadata: map[string]any{}}
	for what, err := range map[string]error{"group": z.group("", madeBy), "counted": z.counted("chain", "chain", 2)} {
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line", what, err)
		}
	}
}
