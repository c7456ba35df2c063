package store

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/probode/probode/internal/atomicfile"
	"github.com/probode/probode/internal/plainfile"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// WriteZarr writes draws as a Zarr store. The store is a folder with the layout that
// ArviZ itself uses. Every version of ArviZ since 0.11 can open the store:
//
//	arviz.from_zarr("lynx.zarr")
//
// The group "posterior" holds the parameters and the generated quantities. The group
// "sample_stats" holds the quantities whose names end in __. WriteZarr removes the suffix
// __ from the names of these quantities. The group "log_likelihood" holds the quantities
// log_lik.1, log_lik.2 and so on, if there are any. Every variable has the dimensions
// chain and draw, and one further dimension for each of its indices. WriteZarr changes
// the names of variables in the same way as Run changes the names of columns. A variable
// whose name was changed has its original name in the attribute long_name. Numbers are
// stored in 64 bits, neither rounded nor compressed.
//
// The folder does not appear until it has been written completely. WriteZarr replaces a
// folder only if an earlier call of WriteZarr wrote that folder. If dir is a file, or a
// folder from another source, WriteZarr returns an error. WriteZarr also returns an error
// if the draws have weights, because ArviZ would ignore them.
//
// The format is version 2 of the Zarr specification (zarr-specs.readthedocs.io). The
// store contains the consolidated metadata that Zarr for Python uses. The dimensions are
// named as xarray expects.
func WriteZarr(dir string, c *mcmc.Chains) (err error) {
	if c.LogWeights != nil {
		return errors.New("store: the draws have weights, which ArviZ would ignore: resample the draws first")
	}
	if len(c.Draws) == 0 || len(c.Draws[0]) == 0 {
		return errors.New("store: there are no draws")
	}
	l, err := newLayout(c.Names, c.Quantities)
	if err != nil {
		return err
	}
	old, err := ownZarr(dir)
	if err != nil {
		return err
	}
	above := filepath.Dir(filepath.Clean(dir))
	tmp, err := os.MkdirTemp(above, filepath.Base(dir)+".*.tmp")
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("store: %s: there is no folder %s", dir, above)
		}
		return fmt.Errorf("store: %w", err)
	}
	defer func() {
		if err != nil {
			os.RemoveAll(tmp)
			err = fmt.Errorf("store: %w", err)
		}
	}()
	z := &zarr{root: tmp, metadata: map[string]any{}}
	if err := z.write(c, l); err != nil {
		return err
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	if !old {
		return atomicfile.Rename(tmp, dir)
	}
	// A rename cannot replace a directory, so the old directory is renamed first.
	aside := tmp + ".old"
	if err := atomicfile.Rename(dir, aside); err != nil {
		return err
	}
	if err := atomicfile.Rename(tmp, dir); err != nil {
		return cmp.Or(atomicfile.Rename(aside, dir), err)
	}
	return os.RemoveAll(aside)
}

// madeBy is the attribute by which WriteZarr recognises its own stores.
var madeBy = map[string]any{"inference_library": "probode"}

// ownZarr refuses what WriteZarr has not written.
func ownZarr(dir string) (bool, error) {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil && info.IsDir() {
		var attributes map[string]any
		data, err := plainfile.ReadUnlinked(filepath.Join(dir, ".zattrs"), 1<<20)
		if err == nil && json.Unmarshal(data, &attributes) == nil && maps.Equal(attributes, madeBy) {
			return true, nil
		}
	}
	return false, fmt.Errorf("store: %s is not a Zarr store written by this package: choose another name, or remove the file or folder", dir)
}

type zarr struct {
	root     string
	metadata map[string]any // the contents of all files that do not hold numbers, by path
}

// A variable has its element k, in row-major order, in column columns[k].
type variable struct {
	name, original string
	shape          []int // of the dimensions after chain and draw
	columns        []int
}

func (z *zarr) write(c *mcmc.Chains, l *layout) error {
	attributes := maps.Clone(madeBy)
	for _, f := range c.Meta {
		attributes[f.Key] = f.Value
	}
	if len(c.Notes) > 0 {
		attributes["notes"] = strings.Join(c.Notes, "\n")
	}
	if err := z.group("", madeBy); err != nil {
		return err
	}
	groups := map[string][]variable{}
	for _, v := range l.variables() {
		switch name, stat := strings.CutSuffix(v.name, "__"); {
		case stat && v.columns[0] < len(l.front):
			v.name = name
			groups["sample_stats"] = append(groups["sample_stats"], v)
		case v.name == "log_lik":
			groups["log_likelihood"] = append(groups["log_likelihood"], v)
		default:
			groups["posterior"] = append(groups["posterior"], v)
		}
	}
	for group, variables := range groups {
		if err := z.group(group, attributes); err != nil {
			return err
		}
		for name, n := range map[string]int{"chain": len(c.Draws), "draw": len(c.Draws[0])} {
			if err := z.counted(group+"/"+name, name, n); err != nil {
				return err
			}
		}
		for _, v := range variables {
			if err := z.variable(group, v, variables, c, l); err != nil {
				return err
			}
		}
	}
	return z.json(".zmetadata", map[string]any{"zarr_consolidated_format": 1, "metadata": z.metadata})
}

func (l *layout) variables() []variable {
	var out []variable
	at := map[string]int{}
	indices := map[string][][]int{}
	for k, column := range l.columns {
		parts := strings.Split(column, ".")
		i, ok := at[parts[0]]
		if !ok {
			i = len(out)
			at[parts[0]] = i
			v := variable{name: parts[0], shape: make([]int, len(parts)-1)}
			if l.names[k] != column {
				v.original = l.names[k]
			}
			out = append(out, v)
		}
		index := make([]int, len(parts)-1)
		for j, p := range parts[1:] {
			index[j], _ = strconv.Atoi(p) // columnNames leaves a dot only before an index
			out[i].shape[j] = max(out[i].shape[j], index[j])
		}
		indices[parts[0]] = append(indices[parts[0]], index)
		out[i].columns = append(out[i].columns, k)
	}
	for i, v := range out {
		place := make([]int, len(v.columns))
		for k, index := range indices[v.name] {
			n := 0
			for j, p := range index {
				n = n*v.shape[j] + p - 1
			}
			place[n] = v.columns[k]
		}
		out[i].columns = place
	}
	return out
}

func (z *zarr) group(name string, attributes map[string]any) error {
	if name != "" {
		if err := os.Mkdir(filepath.Join(z.root, name), 0o755); err != nil {
			return err
		}
		name += "/"
	}
	return cmp.Or(z.json(name+".zgroup", map[string]any{"zarr_format": 2}), z.json(name+".zattrs", attributes))
}

func (z *zarr) json(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	z.metadata[path] = v
	return os.WriteFile(filepath.Join(z.root, path), append(data, '\n'), 0o644)
}

// array has chunks of the given shape of 8-byte numbers.
func (z *zarr) array(path, dtype string, shape, chunk []int, dimensions []string, original string) error {
	if err := os.Mkdir(filepath.Join(z.root, path), 0o755); err != nil {
		return err
	}
	attributes := map[string]any{"_ARRAY_DIMENSIONS": dimensions}
	if original != "" {
		attributes["long_name"] = original
	}
	return cmp.Or(
		z.json(path+"/.zarray", map[string]any{"zarr_format": 2, "shape": shape, "chunks": chunk, "dtype": dtype,
			"compressor": nil, "filters": nil, "fill_value": nil, "order": "C"}),
		z.json(path+"/.zattrs", attributes))
}

func (z *zarr) counted(path, dimension string, n int) error {
	data := make([]byte, 0, 8*n)
	for i := range n {
		data = binary.LittleEndian.AppendUint64(data, uint64(i))
	}
	return cmp.Or(z.array(path, "<i8", []int{n}, []int{n}, []string{dimension}, ""),
		os.WriteFile(filepath.Join(z.root, path, "0"), data, 0o644))
}

// variable writes one chunk per chain.
func (z *zarr) variable(group string, v variable, all []variable, c *mcmc.Chains, l *layout) error {
	dimensions := []string{"chain", "draw"}
	for i, n := range v.shape {
		name := fmt.Sprintf("%s_dim_%d", v.name, i)
		for slices.ContainsFunc(all, func(o variable) bool { return o.name == name }) {
			name += "_" // xarray would take a variable of that name for a coordinate
		}
		dimensions = append(dimensions, name)
		if err := z.counted(group+"/"+name, name, n); err != nil {
			return err
		}
	}
	path := group + "/" + v.name
	chains, draws := len(c.Draws), len(c.Draws[0])
	if err := z.array(path, "<f8", append([]int{chains, draws}, v.shape...), append([]int{1, draws}, v.shape...), dimensions, v.original); err != nil {
		return err
	}
	for k := range chains {
		if len(c.Draws[k]) != draws {
			return fmt.Errorf("chain %d has %d draws, and chain 1 has %d: want the same number of draws in each chain", k+1, len(c.Draws[k]), draws)
		}
		data := make([]byte, 0, 8*draws*len(v.columns))
		for i, x := range c.Draws[k] {
			for _, column := range v.columns {
				var value float64
				switch at := column - len(l.front); {
				case at < 0:
					value = c.Generated[k][i][l.front[column]]
				case at < len(x):
					value = x[at]
				default:
					value = c.Generated[k][i][l.back[at-len(x)]]
				}
				data = binary.LittleEndian.AppendUint64(data, math.Float64bits(value))
			}
		}
		if err := os.WriteFile(filepath.Join(z.root, path, chunk(k, v.shape)), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// ReadZarr reads the draws of the parameters in names, and lp__, from a store that WriteZarr
// wrote. A store of ArviZ or xarray is compressed: write its draws as a table instead (see
// ReadCSV).
func ReadZarr(dir string, names []string) (*mcmc.Chains, error) {
	if own, err := ownZarr(dir); err != nil || !own {
		return nil, fmt.Errorf("store: %s is not a Zarr store written by this package: write its draws as a table", dir)
	}
	l, err := newLayout(names, []string{"lp__"})
	if err != nil {
		return nil, err
	}
	c := &mcmc.Chains{Names: slices.Clone(names), Quantities: []string{"lp__"}}
	for _, v := range l.variables() {
		path := filepath.Join(dir, "posterior", v.name)
		if v.name == "lp__" {
			path = filepath.Join(dir, "sample_stats", "lp")
		}
		var array struct{ Shape []int }
		data, err := plainfile.ReadUnlinked(filepath.Join(path, ".zarray"), 1<<20)
		if err == nil {
			err = json.Unmarshal(data, &array)
		}
		if err == nil && (len(array.Shape) < 2 || !slices.Equal(array.Shape[2:], v.shape)) {
			err = fmt.Errorf("it has the shape %v", array.Shape)
		}
		if err != nil {
			return nil, fmt.Errorf("store: %s has no draws of %s: %w", dir, cmp.Or(v.original, v.name), err)
		}
		for k := range array.Shape[0] {
			data, err := plainfile.ReadUnlinked(filepath.Join(path, chunk(k, v.shape)), 1<<40)
			if err == nil && len(data) != 8*array.Shape[1]*len(v.columns) {
				err = fmt.Errorf("chain %d is damaged: it has %d bytes", k+1, len(data))
			}
			if err != nil {
				return nil, fmt.Errorf("store: %s, %s: %w", dir, cmp.Or(v.original, v.name), err)
			}
			if k == len(c.Draws) { // of the first variable
				c.Draws, c.Generated = append(c.Draws, nil), append(c.Generated, nil)
				for range array.Shape[1] {
					c.Draws[k], c.Generated[k] = append(c.Draws[k], make([]float64, len(names))), append(c.Generated[k], make([]float64, 1))
				}
			}
			for i := range min(array.Shape[1], len(c.Draws[k])) {
				for _, column := range v.columns {
					value := math.Float64frombits(binary.LittleEndian.Uint64(data))
					if data = data[8:]; column == 0 {
						c.Generated[k][i][0] = value
					} else {
						c.Draws[k][i][column-1] = value
					}
				}
			}
		}
	}
	return c, nil
}

// chunk is the name of the file with chain k of a variable.
func chunk(k int, shape []int) string {
	return strconv.Itoa(k) + ".0" + strings.Repeat(".0", len(shape))
}
