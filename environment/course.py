"""Copies the notebooks to the folder course, where the reader works.

    python environment/course.py

JupyterLab saves every notebook that is run, and git pull refuses to replace a file that has
changed. Therefore readers open copies. A copy whose cells are still those of the copied
notebook follows the notebook; any other copy remains as it is.
"""

import json
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOTEBOOKS, COURSE = ROOT / "notebooks", ROOT / "course"
COPIED = COURSE / ".copied"  # the files as they were when they were copied


def main():
    for path in sorted(NOTEBOOKS.rglob("*")):
        name = path.relative_to(NOTEBOOKS)
        if not path.is_file() or name.parts[0] == "html" or any(p.startswith(".") for p in name.parts):
            continue
        data, mine, copied = path.read_bytes(), COURSE / name, COPIED / name
        if mine.exists() and read(copied) == data:
            continue
        if mine.exists() and cells(read(mine)) not in (cells(read(copied)), cells(data)):
            print(f"lab: course/{name} contains your changes, and remains; notebooks/{name} is newer", flush=True)
            continue
        for to in mine, copied:
            to.parent.mkdir(parents=True, exist_ok=True)
            beside = to.with_name(f".{to.name}.tmp")
            beside.write_bytes(data)
            os.replace(beside, to)


def read(path):
    return path.read_bytes() if path.exists() else None


def cells(data):
    """Returns the part of a file that a reader writes: of a notebook its cells without the outputs."""
    try:
        return [(c["cell_type"], "".join(c["source"])) for c in json.loads(data)["cells"]]
    except (ValueError, TypeError, KeyError):
        return data


if __name__ == "__main__":
    main()
