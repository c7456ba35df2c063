"""Tests the archives of a release and go install, as used without a checkout.

    python3 environment/release/test.py

It builds one archive for each operating system, and the playground if there is a copy of
ECharts. The archive for this machine must have the
same bytes if it is built in another folder. Unpacked in an empty folder, the program must
print its version and answer from its embedded data. Then the module is served like a
proxy, and go install in an empty folder must give a command of the requested version.
"""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULE = "github.com/probode/probode"


def run(*args, cwd=ROOT, **env):
    done = subprocess.run([str(a) for a in args], cwd=cwd, env=dict(os.environ, **env), text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, args))} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout.strip()


def main():
    version = run("go", "run", "./environment/release", "-version")
    here = f"{run('go', 'env', 'GOOS')}/{run('go', 'env', 'GOARCH')}"
    targets = [here] + [t for t in ("linux/amd64", "darwin/arm64", "windows/amd64") if t.split("/")[0] != here.split("/")[0]]
    if (ROOT / "environment" / "echarts" / "echarts.min.js").exists():
        targets.append("js/wasm")
    sources = run("git", "ls-files", "-z").strip("\0").split("\0")
    sources = [s for s in sources if (ROOT / s).exists()]  # some may be removed but not committed
    with tempfile.TemporaryDirectory(prefix="probode-") as name:
        work = pathlib.Path(name)
        print(run("go", "run", "./environment/release", "-out", work / "out", "-targets", ",".join(targets)), flush=True)
        archives(work, version, here, targets)

        copy = work / "a copy"
        for s in sources:
            (copy / s).parent.mkdir(parents=True, exist_ok=True)
            (copy / s).write_bytes((ROOT / s).read_bytes())
        run("go", "run", "./environment/release", "-out", work / "again", "-targets", here, cwd=copy)
        mine = archive(version, here)
        if (work / "out" / mine).read_bytes() != (work / "again" / mine).read_bytes():
            sys.exit(f"{mine} has other bytes when it is built in another folder")
        print("built in another folder: the same bytes", flush=True)

        installed(work, version, sources)


def archive(version, target):
    if target == "js/wasm":
        return f"probode-{version}-playground.zip"
    return f"probode-{version}-{target.replace('/', '-')}.{'zip' if target.startswith('windows') else 'tar.gz'}"


def archives(work, version, here, targets):
    """Each archive has the right files and checksum; the one for this machine runs."""
    sums = dict(reversed(line.split("  ")) for line in (work / "out" / "SHA256SUMS").read_text().splitlines())
    if sorted(sums) != sorted(archive(version, t) for t in targets):
        sys.exit(f"SHA256SUMS has {sorted(sums)}")
    # The first bytes of a program on each system.
    magic = {"linux": b"\x7fELF", "darwin": b"\xcf\xfa\xed\xfe", "windows": b"MZ"}
    for t in targets:
        path, system = work / "out" / archive(version, t), t.split("/")[0]
        if hashlib.sha256(path.read_bytes()).hexdigest() != sums[path.name]:
            sys.exit(f"{path.name} has another checksum")
        opened = zipfile.ZipFile(path) if path.suffix == ".zip" else tarfile.open(path)
        opened.extractall(work / "unpacked")
        folder = work / "unpacked" / f"probode-{version}-{t.replace('/', '-')}"
        if system == "js":
            page = work / "unpacked" / f"probode-{version}-playground"
            if missing := {"index.html", "playground.js", "program.js", "echarts.min.js"} - {p.name for p in page.iterdir()}:
                sys.exit(f"{path.name} does not hold {sorted(missing)}")
            if str(ROOT).encode() in (page / "program.js").read_bytes():
                sys.exit(f"{path.name}: a file names the folder it was built in")
            continue
        program = folder / ("probode.exe" if system == "windows" else "probode")
        if sorted(p.name for p in folder.iterdir()) != sorted([program.name, "LICENSE", "README.md", "CHANGELOG.md"]):
            sys.exit(f"{path.name} holds {sorted(p.name for p in folder.iterdir())}")
        data = program.read_bytes()
        if not data.startswith(magic[system]):
            sys.exit(f"{path.name}: the program is not for {system}")
        if str(ROOT).encode() in data:
            sys.exit(f"{path.name}: the program names the folder it was built in")
        if t == here:
            says(program, work, version)


def says(program, work, version):
    """The program knows its version and its cases in an empty folder."""
    with tempfile.TemporaryDirectory(dir=work) as empty:
        alone = {"HOME": empty, "PATH": ""}
        got = run(program, "version", cwd=empty, **alone)
        if not got.startswith(f"probode {version}, go1."):
            sys.exit(f"{program.name} version says {got!r}, want {version}")
        got = run(program, "certify", "-case", "lynx-hare", "-method", "am1", "-steps", "0.25,0.125", cwd=empty, **alone)
        if not re.search(r"h = 0\.125", got):
            sys.exit(f"{program.name} certify says {got!r}")
        if os.listdir(empty):
            sys.exit(f"{program.name} has left files behind: {os.listdir(empty)}")
    print(f"{program.parent.name}/{program.name}: {version}, certifies lynx and hare", flush=True)


def installed(work, version, sources):
    """go install takes this module from a folder with the layout of a proxy, and the others
    from the module cache."""
    proxy = work / "proxy" / MODULE / "@v"
    proxy.mkdir(parents=True)
    (proxy / "list").write_text(version + "\n")
    (proxy / f"{version}.info").write_text(json.dumps({"Version": version, "Time": "2026-01-01T00:00:00Z"}))
    (proxy / f"{version}.mod").write_bytes((ROOT / "go.mod").read_bytes())
    with zipfile.ZipFile(proxy / f"{version}.zip", "w", zipfile.ZIP_DEFLATED) as z:
        for s in sources:
            z.writestr(f"{MODULE}@{version}/{s}", (ROOT / s).read_bytes())
    downloaded = pathlib.Path(run("go", "env", "GOMODCACHE")) / "cache" / "download"
    empty = work / "empty"
    empty.mkdir()
    run("go", "install", "-trimpath", f"{MODULE}/pkg/probode/cmd/probode@{version}", cwd=empty,
        GOPROXY=f"file://{work}/proxy,file://{downloaded}", GOSUMDB="off", GOFLAGS="-modcacherw", GOTOOLCHAIN="local", CGO_ENABLED="0",
        GOBIN=str(work / "bin"), GOMODCACHE=str(work / "modules"))
    says(next((work / "bin").iterdir()), work, version)


if __name__ == "__main__":
    main()
