"""Opens studies of probode sample with the packages that people use: ArviZ before and
after 1.0, pandas, and the R package posterior.

    environment/lab setup-test
    environment/lab run python environment/test_draws.py

ArviZ 1.0 and later needs Python 3.12 and gets its own environment, from
environment/requirements-arviz.txt. The R package is Debian's r-cran-posterior. A package
that is missing is skipped with a message; that is an error if the environment variable
CI is set.
"""

import glob
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent

STUDY = ["-case", "lynx-hare", "-method", "am1", "-step", "0.25", "-alpha", "0.05", "-draws", "500", "-seed", "3"]
GAP = ["-case", "lynx-hare", "-method", "am1", "-step", "0.5", "-scheme", "deterministic", "-draws", "200"]


def run(*args):
    begin = time.monotonic()
    done = subprocess.run([str(a) for a in args], cwd=ROOT, text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, args))} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done, time.monotonic() - begin


def main():
    left_out = []
    with tempfile.TemporaryDirectory(prefix="probode-") as name:
        work = pathlib.Path(name)
        draw(work)
        checks = [("ArviZ before 1.0, pandas", [sys.executable, HERE / "test_arviz.py", work])]
        if newer := arviz():
            checks.append(("ArviZ since 1.0", [newer, HERE / "test_arviz.py", work]))
        else:
            left_out.append("ArviZ since 1.0: there is no Python 3.12 or newer")
        if shutil.which("Rscript") and not subprocess.run(["Rscript", "-e", "library(posterior)"], capture_output=True).returncode:
            checks.append(("R's posterior", ["Rscript", "--vanilla", HERE / "test_posterior.R", work]))
        else:
            left_out.append("R's posterior: there is no R with that package (Debian: r-cran-posterior)")
        for what, command in checks:
            done, seconds = run(*command)
            print(f"{what}: {(done.stdout + done.stderr).strip().splitlines()[-1]}, {seconds:.0f} s", flush=True)
    for what in left_out:
        print(f"skipped: {what}; it runs in continuous integration")
    sys.exit(1 if left_out and os.environ.get("CI") else 0)


def draw(work):
    """Draws two studies, one of them with a missing value, and writes both as Zarr stores."""
    probode = work / "probode"
    run("go", "build", "-o", probode, "./pkg/probode/cmd/probode")
    lines = (ROOT / "notebooks" / "data" / "lynx_hare.csv").read_text().splitlines()
    year = next(k for k, line in enumerate(lines) if line.startswith("1907,"))
    lines[year] = "1907,NA," + lines[year].split(",")[2]
    (work / "gap_data.csv").write_text("\n".join(lines) + "\n")
    run(probode, "sample", *STUDY, "-dir", work / "lynx", "-quiet")
    run(probode, "sample", *GAP, "-data", work / "gap_data.csv", "-dir", work / "gap", "-quiet")
    for study in ("lynx", "gap"):
        run(probode, "merge", work / f"{study}.zarr", work / study)
    run(probode, "summary", "-out", work / "summary.csv", work / "lynx")


def arviz():
    """Returns the Python of an environment with ArviZ 1, and makes the environment if
    necessary. Returns None if there is no recent Python."""
    names = [shutil.which(f"python3.{minor}") for minor in range(19, 11, -1)]
    pyenv = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    for python in [sys.executable, *filter(None, names), *sorted(glob.glob(f"{pyenv}/versions/3.*/bin/python3"))]:
        found = subprocess.run([python, "-c", "import sys; print(sys.version); sys.exit(sys.version_info < (3, 12))"], text=True, capture_output=True)
        if not found.returncode:
            break
    else:
        return None
    requirements, folder = HERE / "requirements-arviz.txt", HERE / ".venv" / "arviz"
    want = hashlib.sha256(found.stdout.encode() + requirements.read_bytes()).hexdigest()
    stamp = folder / "stamp"
    if not stamp.exists() or stamp.read_text() != want:
        print("installing ArviZ 1 into environment/.venv/arviz (once; about a minute)", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        run(python, "-m", "venv", folder)
        run(folder / "bin" / "python", "-m", "pip", "install", "--no-cache-dir", "--disable-pip-version-check", "--require-hashes", "-r", requirements)
        stamp.write_text(want)
    return folder / "bin" / "python"


if __name__ == "__main__":
    main()
