"""Tests the kernel, pkg/viz/nb on it, and the findings of notebooks.py.

    environment/lab run python environment/test_kernel.py
"""

import asyncio
import pathlib
import shutil
import tempfile
import threading
import time
import unittest
import unittest.mock

import nbformat
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient

import notebooks

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
        # As if it were killed because of its memory, or by an impatient server.
        manager.provisioner.process.kill()
        until = time.monotonic() + 10
        while cell.exists() and time.monotonic() < until:
            time.sleep(0.1)
        self.assertFalse(cell.exists())

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
        with unittest.mock.patch.object(notebooks, "CELL_SECONDS", 1):
            self.assertIn("want at most 1 ", self.findings("%%\ntime.Sleep(3 * time.Second)"))
            kept = "%%\n_ = nb.Memo(\"slow\", nil, func() (int, error) { time.Sleep(3 * time.Second); return 1, nil })"
            self.assertEqual(self.findings(kept), "shows no chart")


if __name__ == "__main__":
    unittest.main(verbosity=1)
