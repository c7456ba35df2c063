"""Executes the notebooks on the kernel that readers use.

    environment/lab run python environment/notebooks.py run [NOTEBOOK...]
    environment/lab run python environment/notebooks.py [--twice NAME]... check [NOTEBOOK...]

run executes notebooks/*.ipynb in place. A notebook with an error remains as it was.

check executes them without writing, and fails if a reader would meet a defect: an
error, output on stderr, a figure without its static or interactive form, a cell or
notebook that takes too long, a path of this machine, a notebook without outputs, a
solution of an exercise that fails, a number in the text that nothing in the notebook
shows.
--twice NAME executes a notebook whose name begins with NAME a second time; it must give
the same bytes.

Both begin without memos, so the result does not depend on earlier runs.
"""

import argparse
import concurrent.futures
import contextlib
import html
import itertools
import os
import pathlib
import re
import socket
import sys
import tempfile
import time

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "notebooks"

# These limits hold on two idle cores. Machines differ in speed by a factor of two, and
# notebooks that are checked at the same time share the cores. A notebook fails the check only
# if it takes more than SLOW times as long.
SLOW = 4
CELL_SECONDS = 10
MEMO_SECONDS = 30  # the first time; reading back takes milliseconds
NOTEBOOK_SECONDS = 60
SOLUTION_SECONDS = 30
GIVE_UP_SECONDS = 120
NOTEBOOK_BYTES = 400_000
METHODS = {"String", "Order", "Noise", "Stepper", "Start", "Step", "Own", "LogProb", "Rand"}  # names that interfaces require
CODE_LINES = 180  # without blank lines and imports

# The first line of a first code cell with imports, for readers who open a notebook with
# another GoNB. Its kernel does not know this checkout, and its error does not say what to do.
ELSEWHERE = '// Not started by "make lab"? Run this in a cell first: !*go work init && go work use . "$GONB_DIR/.."'


# The Go in the text of a notebook is the solution of an exercise.
SOLUTION = re.compile(r"^```go\n(.*?)^```", re.S | re.M)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "check"])
    parser.add_argument("--twice", action="append", default=[], metavar="NAME")
    parser.add_argument("notebooks", nargs="*", type=pathlib.Path)
    args = parser.parse_args()

    # A name without a folder is a notebook of the course.
    paths = [p if p.exists() else NOTEBOOKS / p for p in args.notebooks] or sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))
    for p in paths:
        if not p.is_file():
            parser.error(f"there is no notebook {p.name}: want the name of one in notebooks/, or a path")
    if not paths:
        sys.exit("no notebooks")
    failed, start = 0, time.monotonic()
    for f in twice_named(paths) + unlisted(paths) if args.what == "check" else []:
        print(f)
        failed += 1
    # A cell leaves a core idle while it is compiled. Outputs that say how long something
    # took are written by one notebook at a time.
    with concurrent.futures.ProcessPoolExecutor(1 if args.what == "run" else os.cpu_count()) as pool:
        for path, (findings, line) in zip(paths, pool.map(run if args.what == "run" else check, paths, itertools.repeat(args))):
            print(f"{path.stem:24} {line}", flush=True)
            for f in findings:
                print(f"    {f}", flush=True)
            failed += bool(findings)
    print(f"{len(paths)} notebooks, {failed} with findings, {time.monotonic() - start:.0f} s")
    sys.exit(failed > 0)


def twice_named(paths):
    """No two notebooks may define a function with the same name, in cells or in solutions:
    it would confuse a reader who goes from one to the next."""
    where = {}
    for path in paths:
        text = "\n".join(c.source for c in read(path).cells)
        for name in set(re.findall(r"^func (?:\([^)]*\) )?(\w+)\(", text, re.M)) - METHODS:
            where.setdefault(name, []).append(path.stem)
    return [f"{', '.join(stems)}: function {name} in more than one notebook" for name, stems in sorted(where.items()) if len(stems) > 1]


def unlisted(paths):
    """Every notebook must be listed in notebooks/README.md, which is also the index of the site."""
    index = (NOTEBOOKS / "README.md").read_text()
    return [f"{path.stem}: not in notebooks/README.md" for path in paths
            if path.parent == NOTEBOOKS and f"]({path.name})" not in index]


def run(path, args):
    notebook, seconds, errors = execute(path)
    line = timing(seconds)
    if errors:
        return errors, line + ", not written"
    with replacing(path) as beside:
        nbformat.write(notebook, beside)
    return [], line


def check(path, args):
    committed = read(path)
    solutions = []
    notebook, seconds, findings = execute(path, solutions)
    line = timing(seconds)
    if solutions:
        line += f", {len(solutions)} solutions {sum(s for _, s in solutions):.1f} s"
    if not findings:
        findings = inspect(notebook, seconds) + unexecuted(committed) + unshown(notebook, [c for c, _ in solutions])
    if findings and all(re.search(r"\btakes \d", f) for f in findings):
        # The machine may be busy, so only a notebook that is too slow twice counts as too slow.
        again, more, findings = execute(path, [])
        line += ", again " + timing(more)
        findings = findings or inspect(again, [min(pair) for pair in zip(seconds, more)])
    if not findings and any(path.name.startswith(n) for n in args.twice):
        again, seconds, findings = execute(path)
        line += ", again " + timing(seconds)
        findings += differences(notebook, again)
    return findings, line


def read(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


def code(notebook):
    """Returns the code cells with their numbers, which begin at 1 as in the kernel."""
    return enumerate((c for c in notebook.cells if c.cell_type == "code"), 1)


def execute(path, solutions=None):
    """Returns the executed notebook, the seconds of each code cell, and errors. With a list
    it executes the solutions of the exercises, too, and appends cells and seconds to the list."""
    notebook = read(path)
    seconds, errors = [], []
    with tempfile.TemporaryDirectory() as memos:
        os.environ["PROBODE_MEMO"] = memos
        client = NotebookClient(
            notebook, timeout=GIVE_UP_SECONDS, kernel_name="gonb", record_timing=False,
            resources={"metadata": {"path": str(path.resolve().parent)}})
        with client.setup_kernel():
            for index, cell in enumerate(notebook.cells):
                if cell.cell_type != "code":
                    continue
                begin = time.monotonic()
                try:
                    client.execute_cell(cell, index)
                except CellExecutionError:
                    errors.append(f"cell {len(seconds) + 1} fails:\n{indent(failure(cell))}")
                except (CellTimeoutError, DeadKernelError) as e:
                    errors.append(f"cell {len(seconds) + 1}: {type(e).__name__}: {str(e).splitlines()[0]}")
                seconds.append(time.monotonic() - begin)
                if errors:
                    break
            if solutions is not None and not errors:
                errors = solve(client, notebook, solutions)
    normalise(notebook)
    return notebook, seconds, errors


def solve(client, notebook, solutions):
    """Executes the solutions of the exercises after the cells of the notebook, and returns
    what a reader would object to."""
    findings = []
    text = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    for number, source in enumerate(SOLUTION.findall(text), 1):
        cell = nbformat.v4.new_code_cell(source)
        notebook.cells.append(cell)
        begin = time.monotonic()
        try:
            client.execute_cell(cell, len(notebook.cells) - 1)
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as e:
            findings.append(f"solution {number} fails:\n{indent(failure(cell) or str(e))}")
        else:
            if failure(cell):
                findings.append(f"solution {number} prints to stderr:\n{indent(failure(cell))}")
        notebook.cells.pop()
        seconds = time.monotonic() - begin
        solutions.append((cell, seconds))
        if seconds > SLOW * SOLUTION_SECONDS:
            findings.append(f"solution {number} takes {seconds:.1f} s: want at most {SOLUTION_SECONDS} on a fast machine")
    return findings


def failure(cell):
    """Returns what a cell printed to stderr, or the message of its error."""
    text = "".join(o.text for o in cell.outputs if o.output_type == "stream" and o.name == "stderr")
    text += "".join(o.evalue for o in cell.outputs if o.output_type == "error" and o.evalue not in text)
    return text.strip()


def normalise(notebook):
    """Removes everything that depends on the machine or on the time of the run."""
    # Without this entry exporters colour the cells as Python. The kernel's own entry contains a version.
    notebook.metadata["language_info"] = {
        "name": "go", "file_extension": ".go", "mimetype": "text/x-go", "pygments_lexer": "go"}
    for _, cell in code(notebook):
        for key in ("execution", "trusted"):
            cell.metadata.pop(key, None)
        # The kernel sends text in pieces of any length, so they are joined here.
        outputs = []
        for o in cell.outputs:
            # A progress bar leaves an empty output on a slow machine.
            if "data" in o and not any(o.data.values()):
                continue
            last = outputs[-1] if outputs else None
            if last and o.output_type == last.output_type == "stream" and o.name == last.name:
                last.text += o.text
            else:
                outputs.append(o)
        cell.outputs = outputs


def inspect(notebook, seconds):
    findings = []
    cells = list(code(notebook))
    if cells and re.search(r"^import", cells[0][1].source, re.M) and not cells[0][1].source.startswith(ELSEWHERE):
        findings.append(f"the first code cell has imports: it must begin with the line\n        {ELSEWHERE}")
    charts = 0
    for (number, cell), s in zip(cells, seconds):
        found = [f"prints to stderr:\n{indent(o.text)}" for o in cell.outputs
                 if o.output_type == "stream" and o.name == "stderr"]
        data = [o.data for o in cell.outputs if "data" in o]
        figures = [d for d in data if "data:image/png" in d.get("text/html", "") or "data-probode=" in d.get("text/html", "")]
        source = re.sub(r"//.*", "", cell.source)
        if re.search(r"^(%%|%main|%exec|func main\(\))", source, re.M):
            shown, has = len(re.findall(r"\bnb\.(?:Show|Table|Play)\(", source)), len(data)
            if shown > has:
                found.append(f"calls nb.Show or nb.Table {shown} times and has {has} outputs")
        charts += len(figures)
        for d in figures:
            # The HTML contains the picture, which the chart replaces; a second copy is not needed.
            if d["text/html"].count("data:image/png") != 1 or d["text/html"].count("<div data-probode=") != 1 or "image/png" in d:
                found.append("has a figure that is not one picture and one chart")
        memo = any("kept on disk for next time" in d.get("text/plain", "") for d in data)
        limit = MEMO_SECONDS if memo else CELL_SECONDS
        if s > SLOW * limit:
            found.append(f"takes {s:.1f} s: want at most {limit} on a fast machine")
        found += [f"has “{m}” in its output" for m in machine(cell)]
        findings += [f"cell {number} {f}" for f in found]
    if not charts:
        findings.append("shows no chart")
    size = len(nbformat.writes(notebook))
    if size > NOTEBOOK_BYTES:
        findings.append(f"takes {size // 1000} kB: want at most {NOTEBOOK_BYTES // 1000}")
    lines = sum(1 for _, c in cells for line in c.source.splitlines()
                if line.strip() and not line.startswith('\t"'))
    if lines > CODE_LINES:
        findings.append(f"has {lines} lines of code: want at most {CODE_LINES}")
    if sum(seconds) > SLOW * NOTEBOOK_SECONDS:
        findings.append(f"takes {sum(seconds):.0f} s: want at most {NOTEBOOK_SECONDS} on a fast machine")
    return findings


DIGITS = str.maketrans("⁻−⁰¹²³⁴⁵⁶⁷⁸⁹·×", "--0123456789ee")
POWER = r"(?:\s?[·×]\s?10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
QUOTED = re.compile(r"```.*?```|`[^`]*`|\$[^$]*\$|\[[^]]*\]\(#\w+\?[^)]*\)", re.S)  # code, formulas and links that move knobs

CITED = re.compile(r"\]\([^)]*\)|<[^>]+>|\*|(?:§|(?:[Ss]ection|[Ee]quation|[Nn]otebook)s? )\(?[\d.]+|\[\d\d[^]]*\]|et al\. \(?\d+|arXiv:[\d.]+")  # places, not results


def unshown(notebook, solutions):
    """Returns the numbers of two or more digits in the text that no cell, formula or output
    shows, rounded or as a percentage. The metadata of a cell list those that come from
    elsewhere."""
    shown, findings = [], []
    for c in [*notebook.cells, *solutions]:
        if c.cell_type == "code":
            data = [o.get("text", "") or o.get("data", {}).get("text/plain", "") for o in c.outputs]
            data += [html.unescape(re.sub(r"<[^>]+>", " ", o.data["text/html"])) for o in c.outputs if "<table" in o.get("data", {}).get("text/html", "")]
            texts = [c.source, *data]
        else:
            texts = QUOTED.findall(c.source)
        for m in re.finditer(rf"\d+(?:\.\d+)?(?:e[-+]?\d+|{POWER})?", "\n".join(texts)):
            shown.append(number(m[0])[0])
    for c in notebook.cells:
        if c.cell_type != "markdown":
            continue
        text = CITED.sub(" ", QUOTED.sub(" ", c.source))
        for m in re.finditer(rf"(?<![\w.,/₀-₉])\d+(?:\.\d+)?{POWER}?(?![\w/]|\.\d)", text):
            value, half = number(m[0])
            digits = re.sub(r"\D", "", re.sub(POWER, "", m[0])).lstrip("0")
            if len(digits) < 2 or 1900 <= value <= 2030 or m[0] in c.metadata.get("elsewhere", []):
                continue
            if not any(abs(s - value) <= half or abs(100 * s - value) <= half for s in shown):
                findings.append(f"the text says {m[0]} in “{' '.join(text[max(0, m.start() - 40):m.end() + 20].split())}”: want a cell that shows this number")
    return findings


def number(text):
    """Returns a number such as 1.6 × 10⁻⁶, and half a unit of its last digit."""
    mantissa, _, power = re.sub(r"\s|(?<=[·×])\s*10|(?<=[·×] )10", "", text).translate(DIGITS).partition("e")
    unit = 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
    return float(mantissa) * 10.0 ** int(power or 0), 0.5001 * unit


def machine(cell):
    """Returns the names of this machine that occur in the outputs of a cell."""
    text = "\n".join(
        o.get("text", "") + "".join(v for v in o.get("data", {}).values() if isinstance(v, str))
        for o in cell.outputs)
    text = re.sub(r"base64,[A-Za-z0-9+/=]+", "", re.sub(r"[A-Za-z0-9+/=]{1000,}", "", text))
    names = [str(ROOT), os.path.expanduser("~") + "/", tempfile.gettempdir() + "/", "gonb_", socket.gethostname()]
    return [n for n in names if len(n) > 3 and n != "localhost" and n in text]


def unexecuted(committed):
    return [f"cell {n} was committed without being executed: run make notebooks"
            for n, cell in code(committed) if cell.execution_count != n][:1]


def differences(a, b):
    findings = []
    for (n, x), (_, y) in zip(code(a), code(b)):
        if x.outputs != y.outputs:
            kinds = [f"{i}: {sorted(k for k in set(p.get('data', p)) | set(q.get('data', q)) if p.get('data', p).get(k) != q.get('data', q).get(k))}"
                     for i, (p, q) in enumerate(zip(x.outputs, y.outputs)) if p != q]
            findings.append(f"cell {n} gives other outputs the second time ({len(x.outputs)} and {len(y.outputs)}; {'; '.join(kinds)})")
    return findings


@contextlib.contextmanager
def replacing(path):
    """Gives the path of a temporary file, which replaces this one when it is complete. If
    writing is interrupted, the old file remains."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield beside
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def timing(seconds):
    if not seconds:
        return "no code"
    slow = max(range(len(seconds)), key=seconds.__getitem__)
    return f"{sum(seconds):5.1f} s, slowest cell {slow + 1}: {seconds[slow]:.1f} s"


def indent(text):
    return "\n".join("        " + line for line in text.splitlines())


if __name__ == "__main__":
    main()
