"""Tests environment/lab with stand-ins for Go, Python and npm, so without a network: it
gives signs of life while it sets up, it trusts only the notebooks of the last commit, and
it builds gopls after JupyterLab has started. Tests the limit of time for a part of make
test, too.

    python3 environment/test_lab.py
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent

# go build of the kernel takes $SECONDS_OF_KERNEL, and that of gopls 2 seconds.
GO = """#!/bin/sh
case $* in
"env GOVERSION") echo go1.99 ;;
"list -modfile "*) echo "$HOME/gonb" ;;
"mod edit "*) ;;
*gopls*) sleep 2; touch "$6"; chmod +x "$6"; echo gopls >>"$CALLS" ;;
*gonb*) echo some/package; sleep "$SECONDS_OF_KERNEL"; echo kernel >>"$CALLS" ;;
esac
"""
PYTHON = """#!/bin/sh
case $* in
"-c import sys"*) echo 3 12 ;;
"-m venv "*) mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;;
"-m jupyter trust "*) shift 3; for f; do echo "trust ${f##*/}" >>"$CALLS"; done ;;
"-m jupyter lab "*) echo lab >>"$CALLS"; sleep 4 ;;
esac
"""


class Lab(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(suffix=" a folder"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.root, self.calls = self.folder / "checkout", self.folder / "calls"
        for d in ["bin", "gonb", "checkout/environment/kernels/gonb", "checkout/notebooks", "checkout/pkg/viz"]:
            (self.folder / d).mkdir(parents=True)
        for name, text in [("go", GO), ("python3", PYTHON), ("npm", "#!/bin/sh\nexit 1\n")]:
            (self.folder / "bin" / name).write_text(text)
            (self.folder / "bin" / name).chmod(0o755)
        shutil.copy(HERE / "lab", self.root / "environment")
        shutil.copy(HERE.parent / "pkg/viz/loader.js", self.root / "pkg/viz")
        for path, text in [("go.mod", "go 1.26\n"), ("environment/tools.mod", ""), ("environment/tools.sum", ""), ("environment/requirements.txt", ""), ("environment/kernels/gonb/mend.py", "")]:
            (self.root / path).write_text(text)
        self.env = dict(os.environ, PATH=f"{self.folder / 'bin'}:{os.environ['PATH']}", CALLS=str(self.calls), HOME=str(self.folder), SECONDS_OF_KERNEL="0")

    def notebook(self, name, text):
        (self.root / "notebooks" / name).write_text(text)

    def git(self, *args):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *args], cwd=self.root, check=True, stdout=subprocess.DEVNULL)

    def lab(self):
        """Runs environment/lab, and returns what it said and which programs it called."""
        said = subprocess.run([self.root / "environment/lab"], env=self.env, stderr=subprocess.PIPE, check=True, text=True).stderr
        return said, self.calls.read_text().split("\n")[:-1]

    def test_first_start(self):
        self.notebook("00_kept.ipynb", "{}")
        self.notebook("01_changed.ipynb", "{}")
        self.notebook("02_replaced.ipynb", "{}")
        self.notebook("own.ipynb", "{}")
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-qm", "a course")
        self.notebook("01_changed.ipynb", "{ }")
        self.notebook("99_foreign.ipynb", "{}")
        self.notebook("98_staged.ipynb", "{ }")
        self.git("add", "notebooks/98_staged.ipynb")
        shutil.move(self.root / "notebooks/02_replaced.ipynb", self.root / "notebooks/03_moved.ipynb")
        self.env["SECONDS_OF_KERNEL"] = "11"
        said, calls = self.lab()
        self.assertEqual(calls, ["kernel", "trust 00_kept.ipynb", "trust own.ipynb", "lab", "gopls"])
        self.assertRegex(said, r"(?s)building the Go kernel.*\n.* 10 s: some/package\n")
        self.assertIn("in the background", said)
        # Nothing is set up twice.
        self.calls.unlink()
        said, calls = self.lab()
        self.assertEqual(calls, ["trust 00_kept.ipynb", "trust own.ipynb", "lab"])
        self.assertNotIn("building", said)

    def test_archive(self):
        """A checkout without git: nobody knows which notebooks are those of the course."""
        self.env["GIT_CEILING_DIRECTORIES"] = str(self.folder)
        self.notebook("00_kept.ipynb", "{}")
        said, calls = self.lab()
        self.assertNotIn("trust 00_kept.ipynb", calls)
        self.assertIn("not a git checkout", said)


class Course(unittest.TestCase):
    """environment/course.py: readers work on copies, so that git pull can replace the notebooks."""

    def setUp(self):
        folder = pathlib.Path(tempfile.mkdtemp(suffix=" a folder"))
        self.addCleanup(shutil.rmtree, folder)
        self.origin, self.mine = folder / "origin", folder / "mine"
        for d in ["environment", "notebooks/data"]:
            (self.origin / d).mkdir(parents=True)
        shutil.copy(HERE / "course.py", self.origin / "environment")
        shutil.copy(HERE.parent / ".gitignore", self.origin)
        for name in ["00", "01", "02"]:
            self.write(self.origin / f"notebooks/{name}.ipynb", "x := 1")
        (self.origin / "notebooks/data/a.csv").write_text("1")
        self.git(self.origin, "init", "-q")
        self.commit()
        self.git(folder, "clone", "-q", "origin", "mine")

    def git(self, folder, *args):
        done = subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *args], cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout

    def commit(self):
        self.git(self.origin, "add", "-A")
        self.git(self.origin, "commit", "-qm", "a course")

    def write(self, path, source, outputs=()):
        path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": [source], "outputs": list(outputs)}]}))

    def start(self):
        done = subprocess.run([sys.executable, self.mine / "environment/course.py"], check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout

    def source(self, name):
        return json.loads((self.mine / "course" / name).read_text())["cells"][0]["source"][0]

    def test_pull(self):
        self.assertEqual(self.start(), "")
        self.assertEqual((self.mine / "course/data/a.csv").read_text(), "1")
        # The reader runs 00, changes 01, does not open 02, and adds a notebook.
        self.write(self.mine / "course/00.ipynb", "x := 1", ["an output"])
        self.write(self.mine / "course/01.ipynb", "x := 2", ["an output"])
        self.write(self.mine / "course/own.ipynb", "mine")
        ran = (self.mine / "course/00.ipynb").read_text()
        self.assertEqual(self.start(), "")
        self.assertEqual((self.mine / "course/00.ipynb").read_text(), ran)
        self.assertEqual(self.git(self.mine, "status", "--porcelain"), "")
        for name in ["00", "01", "02", "03"]:
            self.write(self.origin / f"notebooks/{name}.ipynb", "x := 3")
        self.commit()
        self.git(self.mine, "pull", "-q")
        self.assertEqual(self.start(), "lab: course/01.ipynb contains your changes, and remains; notebooks/01.ipynb is newer\n")
        self.assertEqual([self.source(f"{n}.ipynb") for n in ["00", "01", "02", "03", "own"]], ["x := 3", "x := 2", "x := 3", "x := 3", "mine"])
        # Who removes the copy gets the notebook.
        (self.mine / "course/01.ipynb").unlink()
        self.assertEqual(self.start(), "")
        self.assertEqual(self.source("01.ipynb"), "x := 3")


class Limit(unittest.TestCase):
    """environment/limit.py, with which make test runs its parts."""

    def limited(self, minutes, command):
        return subprocess.Popen([sys.executable, HERE / "limit.py", str(minutes), "sh", "-c", command],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_status(self):
        for status in 0, 3:
            process = self.limited(1, f"exit {status}")
            process.communicate()
            self.assertEqual(process.returncode, status)

    def test_too_long(self):
        # The output ends only when all processes that write to it have ended.
        out, said = self.limited(0.05, "sleep 60 & echo begun; sleep 60").communicate(timeout=50)
        self.assertEqual(out, "begun\n")
        self.assertIn("limit of 0.05 minutes", said)

    def test_interrupt(self):
        process = self.limited(1, "echo begun; sleep 60 & sleep 60")
        self.assertEqual(process.stdout.readline(), "begun\n")
        process.terminate()
        process.communicate(timeout=50)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)


if __name__ == "__main__":
    unittest.main(verbosity=1)
