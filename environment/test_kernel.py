"""Tests the kernel, pkg/viz/nb on it, and the findings of notebooks.py.

    environment/lab run python environment/test_kernel.py
"""

import asyncio
import os
import pathlib
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

import nbformat
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient

import notebooks

sys.path.insert(0, str(notebooks.ROOT / "environment/kernels/gonb"))
import relay

IMPORT = notebooks.ELSEWHERE + """
import (
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/problems"
	"github.com/probode/probode/pkg/viz"
	"github.com/probode/probode/pkg/viz/nb"
)"""
DRAW = """func figure(title string) viz.Figure {
	return viz.Figure{Title: title, Panels: []viz.Panel{{Layers: []viz.Layer{
		viz.Line{X: []float64{0, 1, 2}, Y: []float64{0, 1, 0}},
	}}}}
}"""


class Kernel(unittest.TestCase):
    def setUp(self):
        # The folder of a notebook may be anywhere and have any name.
        self.folder = pathlib.Path(tempfile.mkdtemp(suffix=" a folder"))
        self.addCleanup(shutil.rmtree, self.folder)

    def notebook(self, *cells, text=""):
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in (IMPORT, *cells)])
        notebook.cells.append(nbformat.v4.new_markdown_cell(text))
        notebook.metadata.kernelspec = {"name": "gonb", "display_name": "Go (gonb)", "language": "go"}
        path = self.folder / "trial.ipynb"
        nbformat.write(notebook, path)
        return path

    def outputs(self, *cells):
        notebook, _, errors = notebooks.execute(self.notebook(*cells))
        self.assertEqual(errors, [])
        return notebook.cells[-2].outputs

    def findings(self, *cells, text=""):
        notebook, seconds, errors = notebooks.execute(self.notebook(*cells, text=text), [])
        return "\n".join(errors or notebooks.inspect(notebook, seconds))

    def test_nothing_is_lost(self):
        out = self.outputs(DRAW, """%%
for i := range 20 {
	nb.Show(figure(fmt.Sprint("figure ", i)))
}
for i := range 100 {
	nb.Table([]string{"row"}, []any{i})
}""")
        self.assertEqual([o.data["text/plain"] for o in out],
                         [f"Figure: figure {i}" for i in range(20)] + [f"row\n{i:3}" for i in range(100)])

    def test_order_of_text_and_displays(self):
        out = self.outputs("""%%
for i := range 20 {
	fmt.Println(i)
	nb.Table([]string{"row"}, []any{i})
}""")
        self.assertEqual([o.get("text") or o.data["text/plain"] for o in out],
                         [t for i in range(20) for t in (f"{i}\n", f"row\n{i:3}")])

    def test_interrupt(self):
        path = self.notebook("""%%
_, err := probode.Integrate(nb.Context(), problems.FitzHughNagumo(), adams.Moulton{}, 1_000_000, probode.Settings{StepSize: 0.001, Alpha: 0.1, Times: []float64{20}})
nb.Check(err)
nb.Table([]string{"kept"}, []any{"yes"})""")
        client = NotebookClient(notebooks.read(path), timeout=60, kernel_name="gonb",
                                resources={"metadata": {"path": str(self.folder)}})
        with client.setup_kernel():
            client.execute_cell(client.nb.cells[0], 0)
            cell, shown = client.nb.cells[1], []

            def interrupt():
                while not cell.outputs:
                    time.sleep(0.1)
                time.sleep(0.3)
                shown.append(cell.outputs[0].data["text/plain"])
                asyncio.run(client.km.interrupt_kernel())

            threading.Thread(target=interrupt, daemon=True).start()
            client.execute_cell(cell, 1)
        texts = [o.data["text/plain"] for o in cell.outputs]
        self.assertRegex(shown[0], r"^paths: \d+ of 1000000")
        self.assertEqual(texts, ["",  # the bar has gone
                                 "Interrupted: any output below comes from the part of the computation that was completed.", "kept\nyes"])

    def session(self):
        """Returns a function that runs a cell and returns all that it shows, as text."""
        manager, client = start_new_kernel(kernel_name="gonb", cwd=str(self.folder), startup_timeout=120)
        self.addCleanup(manager.shutdown_kernel, now=True)
        self.addCleanup(client.stop_channels)

        def run(code, interrupt=None, times=1):
            """When the text interrupt is shown, run interrupts the cell; and again after a second, if times is 2."""
            asked, text, over = client.execute(code), "", False
            until = time.monotonic() + 120
            while not over:
                self.assertTrue(manager.is_alive(), f"the kernel has died of:\n{code}")
                self.assertLess(time.monotonic(), until, f"no end of:\n{code}\n{text[-500:]}")
                try:
                    message = client.get_iopub_msg(timeout=1)
                except queue.Empty:
                    if interrupt is None and times > 1:
                        times -= 1
                        manager.interrupt_kernel()
                    continue
                if message["parent_header"].get("msg_id") != asked:
                    continue
                content = message["content"]
                text += content.get("text", "") + content.get("evalue", "") + content.get("data", {}).get("text/plain", "")
                over = content.get("execution_state") == "idle"
                if interrupt is not None and interrupt in text:
                    interrupt = None
                    manager.interrupt_kernel()
            return text

        return run

    def test_mistakes(self):
        """Whatever a beginner writes, the kernel lives, and the declarations are there."""
        run = self.session()
        self.assertEqual(run(IMPORT + """
func kept() int { return 7 }
func model(theta []float64, i int) *probode.Problem {
	return &probode.Problem{Name: "mine", X0: []float64{1, 2, 3}, Span: [2]float64{0, 1}, Theta: theta,
		F: func(dx []float64, t float64, x, theta []float64) {
			dx[i] = -theta[0] * x[0]
		}}
}
func solve(p *probode.Problem) *probode.Ensemble {
	return nb.Must(probode.Integrate(nb.Context(), p, adams.Moulton{}, 10, probode.Settings{StepSize: 0.1}))
}
func deep(n int) int { return deep(n+1) + 1 }"""), "")
        for code, said in [
            ('fmt.Fprintln(os.Stderr, "mine: step 3: panic at main.go:7: hello")', "step 3: panic at main.go:7: hello"),
            ('fmt.Fprintln(os.Stderr, "a: b: c main.go:7:0: d")', "main.go:7:0"),
            ("solve(model(nil, 0))", "theta has no element 0: did you forget Theta?\n\tat \x1b[7m[[ Cell [1] Line 13 ]]"),
            ("solve(model([]float64{1}, 3))", "x has no element 3: X0 has 3, and the first is element 0\n\tat \x1b[7m[[ Cell [1] Line 13 ]]"),
            ("nb.Reference(model(nil, 0), 0.1)", "did you forget Theta?"),
            ('panic("a: b: main.go:1")', "a: b: main.go:1"),
            ('panic(fmt.Errorf("x: %w", os.ErrNotExist))', "file does not exist"),
            ("var x []int\nfmt.Println(x[3])", "index out of range [3] with length 0"),
            ('var m map[string]int\nm["a"] = 1', "assignment to entry in nil map"),
            ("var p *probode.Problem\nfmt.Println(p.X0)", "nil pointer dereference"),
            ("n := 0\nfmt.Println(1 / n)", "integer divide by zero"),
            ("var v any = 1\nfmt.Println(v.(string))", "interface conversion"),
            ("fmt.Println(make([]float64, kept()<<60))", "len out of range"),
            ("<-make(chan int)", "deadlock"),
            ("c := make(chan int)\nclose(c)\nclose(c)", "close of closed channel"),
            ('go panic("in a goroutine")\ntime.Sleep(time.Second)', "in a goroutine"),
            ("deep(0)", "stack overflow"),
            ("os.Exit(3)", "exit status 3"),
            ('log.Fatal("a: b: main.go:1")', "a: b: main.go:1"),
            ("os.Stdout.Write([]byte{255, 0, 27, 254})", ""),
            ('fmt.Fprint(os.Stderr, strings.Repeat("a: b: main.go:1 ", 1e6))', "prints more than 1000000 characters"),
            ("fmt.Println(1", "missing ','"),
            ("x := 1", "declared and not used"),
            ("fmt.Println(nosuch)", "undefined: nosuch"),
            ('ens := probode.Integrate(nb.Context(), model(nil, 0), adams.Moulton{}, 10, probode.Settings{})', "Hint: probode.Integrate returns two values. If the second is an error, nb.Must(probode.Integrate(…))"),
        ]:
            with self.subTest(code):
                self.assertIn(said, run("%%\n" + code))
        for code, begun in [
            ('fmt.Println("begun")\nfor {\n}', "begun"),
            ('for {\n\tfmt.Println("again and again")\n}', "again"),
            ('for {\n\tfmt.Fprint(os.Stderr, "a: b: main.go:1 ")\n}', "a: b"),
            ('fmt.Println("begun")\nvar s string\nfmt.Scan(&s)', "begun"),
        ]:
            with self.subTest(code):
                self.assertIn("signal: interrupt", run("%%\n" + code, interrupt=begun))
        # The first interrupt is for the computation, a second ends the cell.
        self.assertIn("signal: interrupt", run('%%\nnb.Context()\nfmt.Println("begun")\nfor {\n}', interrupt="begun", times=2))
        # An interrupt while the cell is compiled, or when it has just begun.
        self.assertRegex(run("%%\nfor {\n}", interrupt=""), "interrupted before the cell ran|signal: interrupt")
        self.assertEqual(run("%%\nfmt.Println(kept())"), "7\n")

    def test_completion(self):
        manager, client = start_new_kernel(kernel_name="gonb", cwd=str(self.folder), startup_timeout=120)
        self.addCleanup(manager.shutdown_kernel, now=True)
        self.addCleanup(client.stop_channels)

        def answer(kind, code):
            """Asks about the place of the mark | in the code."""
            asked, until = getattr(client, kind)(code.replace("|", ""), code.index("|")), time.monotonic() + 60
            while time.monotonic() < until:
                try:
                    message = client.get_shell_msg(timeout=1)
                except queue.Empty:
                    continue
                if message["parent_header"].get("msg_id") == asked:
                    return message["content"]
            self.fail(f"no answer to {kind} {code}")

        # The first question after the start has an answer, with each name once.
        names = answer("complete", "%%\nfigure := problems.|")["matches"]
        self.assertIn("LotkaVolterra", names)
        self.assertEqual(len(names), len(set(names)))
        client.execute(IMPORT, reply=True, timeout=60)
        for code, first in [
            ("%%\nens := probode.Integrate(nb.Context(), problems.SIR(), adams.Moulton{}, 5, probode.Settings{|", ["StepSize", "Mesh"]),
            ("%%\ns := probode.Settings{|}", ["StepSize", "Mesh"]),
            ("%%\nif true {\n\ts := probode.Settings{StepSize: 0.1, |\n}", ["Mesh", "Scaling"]),
            ("func f() *probode.Problem {\n\treturn &probode.Problem{|\n}", ["Name", "F"]),
            ("%%\nfmt.Pri|", ["Print", "Printf"]),
        ]:
            with self.subTest(code):
                self.assertEqual(answer("complete", code)["matches"][:2], first)
        for code, said in [
            ("%%\nprobode.Integrate(|", "func probode.Integrate("),
            ("%%\nnb.Show(nb.Must(probode.Integrate(nb.Context(), |", "func probode.Integrate("),
            ("%%\n_ = probode.Settings{StepSize: 1, |", "type Settings struct"),
            ("%%\nnb.Sh|ow(", "func nb.Show("),
        ]:
            with self.subTest(code):
                self.assertIn(said, answer("inspect", code)["data"].get("text/markdown", ""))

    def test_missing_brackets(self):
        for code, want in [
            ("f(|", "f()"), ("f(a{|)", "f(a{})"), ("f(a{|})", "f(a{})"), ("a[f(|", "a[f()]"), ("f()|", "f()"),
            ('x := "(" + f(\')\', `{`, |', 'x := "(" + f(\')\', `{`, )'), ("// (\n/* [ */ f{|", "// (\n/* [ */ f{}"),
            ("if x {\n\tf(|\n}\ng()", "if x {\n\tf()\n}\ng()"), ("f.Sh|ow(a", "f.Show(a)"),
        ]:
            self.assertEqual(relay.closed(code.replace("|", ""), code.index("|"))[0], want)

    def test_kept_after_interrupt(self):
        """The example of item 9 of notebook 00, on a machine so busy that the end takes more than five seconds."""
        run = self.session()
        text = run(IMPORT + """
%%
done := nb.Must(func() (int, error) {
	nb.Context()
	fmt.Println("begun")
	<-nb.Context().Done()
	time.Sleep(8 * time.Second)
	return 7, nb.Context().Err()
}())
nb.Table([]string{"kept"}, []any{done})""", interrupt="begun")
        self.assertIn("Interrupted: any output below", text)
        self.assertTrue(text.endswith("kept\n   7"), text)

    def test_hints(self):
        text = self.findings("%%\ncal := 1\nfmt.Println(cal)", "%%\nfmt.Println(cal)")
        self.assertRegex(text, r"undefined: cal\n +Hint: .* Declare cal above the %%")
        self.assertEqual(text.count("Hint"), 1)
        self.assertRegex(self.findings("fmt.Println(1)"), r"expected declaration, found fmt[^$]*Hint: .* Is this line missing")
        self.assertNotIn("Hint", self.findings("%%\nnb.NoSuch()"))
        self.assertNotIn("Hint", self.findings('%%\nnb.Check(errors.New("undefined: cal"))'))

    def test_state_is_known(self):
        # A client that connects and asks learns that the kernel is idle, before any cell runs.
        manager, client = start_new_kernel(kernel_name="gonb", cwd=str(self.folder))
        try:
            asked, states = client.kernel_info(), []
            while "idle" not in states:
                message = client.get_iopub_msg(timeout=10)
                if message["parent_header"].get("msg_id") == asked:
                    states.append(message["content"]["execution_state"])
            self.assertEqual(states, ["busy", "idle"])
        finally:
            client.stop_channels()
            manager.shutdown_kernel()

    def test_a_cell_ends_with_its_kernel(self):
        manager, client = start_new_kernel(kernel_name="gonb", cwd=str(self.folder))
        self.addCleanup(manager.shutdown_kernel, now=True)
        self.addCleanup(client.stop_channels)
        client.execute("%%\nfmt.Println(os.Getpid())\nselect {\ncase <-time.After(time.Hour):\n}")
        text = ""
        while not text.strip().isdigit():
            message = client.get_iopub_msg(timeout=60)
            text = message["content"].get("text", "")
        cell = pathlib.Path("/proc", text.strip())
        self.assertTrue(cell.exists())
        place = os.path.dirname(os.readlink(cell / "exe"))
        gopls = subprocess.run(["pgrep", "-f", f"gopls -listen unix;{place}/"], stdout=subprocess.PIPE, text=True).stdout.split()
        self.assertEqual(len(gopls), 1)
        # As if it were killed because of its memory, or by an impatient server.
        manager.provisioner.process.kill()
        for seconds, process in [(10, cell), (30, pathlib.Path("/proc", gopls[0]))]:
            until = time.monotonic() + seconds
            while process.exists() and time.monotonic() < until:
                time.sleep(0.1)
            self.assertFalse(process.exists())

    def test_findings(self):
        self.assertEqual(self.findings(DRAW, '%%\nnb.Show(figure("a"))'), "")
        self.assertIn("cell 2 fails:\n        no convergence", self.findings('%%\nnb.Check(errors.New("no convergence"))'))
        self.assertIn("undefined: nosuch", self.findings("%%\nnosuch()"))
        solution = "Exercise.\n\n```go\n%%%%\nfmt.Println(%s)\n```\n\n```sh\nls nosuch\n```\n"
        self.assertEqual(self.findings(DRAW, '%%\nnb.Show(figure("a"))', text=solution % 'figure("a").Title'), "")
        text = self.findings(DRAW, '%%\nnb.Show(figure("a"))', text=solution % "figure().Title" + solution % "1")
        self.assertRegex(text, r"^solution 1 fails:\n[^$]*not enough arguments")
        self.assertNotIn("solution 2", text)
        self.assertIn("cell 2 prints to stderr", self.findings('%%\nfmt.Fprintln(os.Stderr, "x")'))
        self.assertIn("calls nb.Show or nb.Table 2 times and has 1 outputs",
                      self.findings(DRAW, '%%\nif true {\n\tnb.Show(figure("a"))\n} else {\n\tnb.Show(figure("a"))\n}'))
        self.assertIn("in its output", self.findings("%%\nd, _ := os.Executable()\nfmt.Println(d)"))
        with unittest.mock.patch.object(notebooks, "CELL_SECONDS", 1), unittest.mock.patch.object(notebooks, "SLOW", 1):
            self.assertIn("want at most 1 ", self.findings("%%\ntime.Sleep(3 * time.Second)"))
            kept = "%%\n_ = nb.Memo(\"slow\", nil, func() (int, error) { time.Sleep(3 * time.Second); return 1, nil })"
            self.assertEqual(self.findings(kept), "shows no chart")


if __name__ == "__main__":
    unittest.main(verbosity=1)
