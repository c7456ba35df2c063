// Command release builds the archives of a release and a file with their checksums:
//
//	go run ./environment/release [-out environment/out/release] [-targets linux/amd64,...]
//
// There is one archive for each system, and one with the playground. The version number
// is taken from the first heading of CHANGELOG.md, and is written nowhere else. To
// release a commit, tag it with the version number. The same sources and the same version
// of Go give the same archives on every machine.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/probode/probode/internal/shell"
)

const (
	module  = "github.com/probode/probode"
	command = module + "/pkg/probode/cmd/probode"
)

var everywhere = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64", "js/wasm"}

func main() { shell.Main("release", run) }

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	out := flags.String("out", "environment/out/release", "folder for the archives")
	list := flags.String("targets", strings.Join(everywhere, ","), "systems to build for, each as GOOS/GOARCH")
	only := flags.Bool("version", false, "print the version and build nothing")
	if err := shell.Parse(flags, args); err != nil {
		return err
	}
	version, err := versionOf("CHANGELOG.md")
	if err != nil {
		return err
	}
	if *only {
		fmt.Println(version)
		return nil
	}
	return release(ctx, version, *out, strings.Split(*list, ","))
}

var heading = regexp.MustCompile(`(?m)^## (.*)$`)

func versionOf(changelog string) (string, error) {
	text, err := os.ReadFile(changelog)
	if err != nil {
		return "", fmt.Errorf("%w: run this program in the top folder of the repository", err)
	}
	found := heading.FindSubmatch(text)
	if found == nil || !regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$`).Match(found[1]) {
		return "", fmt.Errorf("the first heading of %s is not a version: want a heading such as ## v0.1.0", changelog)
	}
	return string(found[1]), nil
}

func release(ctx context.Context, version, out string, targets []string) error {
	for _, t := range targets {
		if !slices.Contains(everywhere, t) {
			return fmt.Errorf("-targets: %q: want some of %s", t, strings.Join(everywhere, ","))
		}
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var sums strings.Builder
	for _, t := range targets {
		begin := time.Now()
		system, arch, _ := strings.Cut(t, "/")
		var files []file
		var err error
		name, folder, pack := "", fmt.Sprintf("probode-%s-%s-%s", version, system, arch), tarball
		switch system {
		case "js":
			folder = fmt.Sprintf("probode-%s-playground", version)
			files, err = playground(ctx)
		case "windows":
			files, err = program(ctx, version, system, arch, "probode.exe")
		default:
			files, err = program(ctx, version, system, arch, "probode")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		if name = folder + ".tar.gz"; system == "windows" || system == "js" {
			name, pack = folder+".zip", zipped
		}
		data, err := pack(folder, files)
		if err == nil {
			err = os.WriteFile(filepath.Join(out, name), data, 0o644)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), name)
		fmt.Printf("%s: %.1f MB, %.0f s\n", name, float64(len(data))/1e6, time.Since(begin).Seconds())
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

func program(ctx context.Context, version, system, arch, name string) ([]file, error) {
	data, err := build(ctx, version, system, arch)
	if err != nil {
		return nil, err
	}
	return read([]file{{name, data, 0o755}}, "LICENSE", "README.md", "CHANGELOG.md")
}

func playground(ctx context.Context) ([]file, error) {
	const folder = "environment/playground/built/"
	if text, err := exec.CommandContext(ctx, "go", "run", "./environment/playground").CombinedOutput(); err != nil {
		return nil, errors.Join(err, errors.New(strings.TrimSpace(string(text))))
	}
	return read(nil, folder+"index.html", folder+"playground.js", folder+"program.js",
		folder+"echarts.min.js", folder+"echarts-LICENSE", folder+"echarts-NOTICE", "LICENSE")
}

func read(files []file, paths ...string) ([]file, error) {
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		files = append(files, file{filepath.Base(path), data, 0o644})
	}
	return files, nil
}

// build makes the same program on every machine, without the path of the repository or
// the hash of the commit. It is for the oldest processor that Go supports, so that every
// build rounds in the same way.
func build(ctx context.Context, version, system, arch string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "probode-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "probode")
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", program,
		"-ldflags=-s -w -X "+module+"/pkg/internal/release.release="+version, command)
	c.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=")
	if text, err := c.CombinedOutput(); err != nil {
		return nil, errors.Join(err, errors.New(strings.TrimSpace(string(text))))
	}
	return os.ReadFile(program)
}

type file struct {
	name string
	data []byte
	mode int64
}

// epoch is the modification time of every file in an archive. The zip format cannot store
// an earlier time.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

func tarball(folder string, files []file) ([]byte, error) {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	t := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{Name: folder + "/" + f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: epoch, Format: tar.FormatUSTAR}
		if err := t.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := t.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := errors.Join(t.Close(), z.Close())
	return out.Bytes(), err
}

func zipped(folder string, files []file) ([]byte, error) {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range files {
		h := &zip.FileHeader{Name: folder + "/" + f.name, Method: zip.Deflate, Modified: epoch}
		h.SetMode(os.FileMode(f.mode))
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write(f.data)
		}
		if err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return out.Bytes(), err
}
