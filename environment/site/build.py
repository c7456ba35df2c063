"""Writes the course as a static site: what `make html` does.

    environment/lab run python environment/site/build.py [FOLDER]

The site is in notebooks/html unless another folder is named. It contains the notebooks
with their stored outputs and charts, the documents, the help of the command, and a
search over all of them. It needs no kernel, no server and no network: the copy of
ECharts from environment/lab draws the charts, the program of environment/playground
computes the live figures, formulas are MathML, and every link is relative. A policy in
each page allows the browser to run the scripts of the site only, and to load nothing from
elsewhere. A link to something that is not on the site is an error, and so is a formula
that cannot be converted.

No kept tool does this (tried in November 2026, with the policy of viz.Guard, opened from a
folder without a network). MkDocs with Material and mkdocs-jupyter loads a script from
another server to search, so its search finds nothing; Material ends in May 2027. Jupyter
Book 1 takes MathJax from another server, and the policy stops its inline handlers. MyST,
on which Jupyter Book 2 stands, writes pages for a server (mystmd issue 188).

The order of the notebooks, their two levels and the question of each come from
notebooks/README.md; the kinds of documents and the line of each from docs/README.md.
"""

import base64
import csv
import dataclasses
import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import nbformat

import text

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NOTEBOOKS = ROOT / "notebooks"
ECHARTS = ROOT / "environment" / "echarts"
PLAYGROUND = ROOT / "environment" / "playground" / "built"
DOCS = ROOT / "docs"
DATA = [NOTEBOOKS / "data", DOCS / "data", ROOT / "models"]


@dataclasses.dataclass
class Page:
    file: str  # its name on the site
    name: str  # in lists
    group: str  # under which it stands in the index
    line: str = ""  # its description in the index
    title: str = ""  # its heading, if that is not the name
    body: str = ""
    sections: list = dataclasses.field(default_factory=list)  # text.Section
    picture: str = ""


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else NOTEBOOKS / "html"
    subprocess.run(["go", "run", "./environment/playground"], cwd=ROOT, check=True)
    course, documents = listed(), indexed()
    files = {p: p.stem + ".html" for p in [NOTEBOOKS / c.file.replace(".html", ".ipynb") for c in course] + list(documents)}
    files[NOTEBOOKS] = files[NOTEBOOKS / "README.md"] = files[DOCS / "README.md"] = "index.html"
    data = [p for folder in DATA for p in folder.iterdir()]
    files |= {p: "data/" + p.name for p in data}
    site = text.Site(files)

    assets = folder / "assets"
    shutil.rmtree(folder, ignore_errors=True)
    assets.mkdir(parents=True)
    for page in course:
        notebook(page, site, assets)
    for path, page in documents.items():
        document(path, page, site)
    record(course, documents.values())
    pages = course + list(documents.values()) + [command()]
    if site.findings:
        sys.exit("\n".join(["the site is not complete:", *site.findings]))

    template = (HERE / "page.html").read_text()
    for i, page in enumerate(pages):
        before = pages[i - 1] if 0 < i < len(course) else None
        after = pages[i + 1] if i + 1 < len(course) else None
        beside = course if page in course else [p for p in pages if p.group == page.group]
        write(folder / page.file, fill(template, page, beside, before, after))
    index = Page("index.html", "probode: the course", "", body=contents(pages))
    write(folder / index.file, fill(template, index, course, None, None))
    subprocess.run(["go", "run", "./environment/site/guard", folder.resolve()], cwd=ROOT, check=True)
    write(assets / "search.js", "window.probodeSearch = " + searchable(pages) + ";\n")
    (folder / "data").mkdir()
    for path in data:
        shutil.copy(path, folder / "data")
    for name in ["site.css", "site.js"]:
        shutil.copy(HERE / name, assets)
    for name in ["playground.js", "program.js"]:
        shutil.copy(PLAYGROUND / name, assets)
    if (ECHARTS / "echarts.min.js").exists():
        for name in ["echarts.min.js", "LICENSE", "NOTICE"]:
            shutil.copy(ECHARTS / name, assets / name.replace("LICENSE", "echarts-LICENSE").replace("NOTICE", "echarts-NOTICE"))
    else:
        print("there is no copy of ECharts (install npm, then environment/lab setup): charts are static pictures")
    size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
    print(f"{len(course)} notebooks and {len(documents) + 1} pages, {size / 1e6:.1f} MB: open {folder / 'index.html'}")


def listed():
    """The notebooks in the order of notebooks/README.md, which has a table for each
    of the two levels, under a line that begins with its name in bold."""
    pages, group = [], ""
    for line in (NOTEBOOKS / "README.md").read_text().splitlines():
        if m := re.match(r"\*\*(.+?)\*\*(.*)", line):
            group = m[1] + m[2].rstrip(":")
        elif m := re.match(r"\| \[(.+?)\]\((\w+)\.ipynb\) \| (.+) \|", line):
            pages.append(Page(m[2] + ".html", m[1].replace("_", " "), group, m[3]))
    there = sorted(p.stem + ".html" for p in NOTEBOOKS.glob("[0-9]*.ipynb"))
    if sorted(p.file for p in pages) != there:
        sys.exit(f"notebooks/README.md lists {sorted(p.file for p in pages)}, and there are {there}")
    return pages


def indexed():
    """The documents in the order of docs/README.md, which has a table for each kind
    under its name in bold: from the path of each to its page."""
    pages, group = {}, ""
    for line in (DOCS / "README.md").read_text().splitlines():
        if m := re.fullmatch(r"\*\*(.+?)\*\*", line):
            group = m[1]
        elif m := re.match(r"\| \[(.+?)\]\((.+?\.md)\) \| (.+) \|", line):
            path = (DOCS / m[2]).resolve()
            if path != NOTEBOOKS / "README.md":
                pages[path] = Page(path.stem + ".html", m[1], group, m[3])
    if missing := sorted(p.name for p in DOCS.glob("*.md") if p not in pages and p.name != "README.md"):
        sys.exit(f"docs/README.md does not list {missing}")
    return pages


def notebook(page, site, assets):
    path = NOTEBOOKS / page.file.replace(".html", ".ipynb")
    writer = text.Writer(site, path)
    parts = []
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            parts.append(writer.markdown(cell.source))
            continue
        if cell.cell_type != "code":
            continue
        parts.append(writer.code(cell.source))
        outputs = [output(o, writer) for o in cell.outputs]
        parts.append('<div class="outputs">' + "\n".join(outputs) + "</div>")
        if not page.picture and (m := re.search(r'data:image/png;base64,([^"]+)"', "".join(outputs))):
            page.picture = page.file.replace(".html", ".png")
            (assets / page.picture).write_bytes(base64.b64decode(m[1]))
    page.body, page.sections = "\n".join(parts), writer.sections
    page.title = f"{page.name[:2]} {writer.title}"


def output(o, writer):
    if "text/latex" in o.get("data", {}):
        return writer.markdown(o.data["text/latex"])
    if "data" in o:
        return o.data["text/html"] if "text/html" in o.data else f"<pre>{html.escape(o.data.get('text/plain', ''))}</pre>"
    if o.output_type == "stream":
        return f"<pre>{html.escape(o.text)}</pre>"
    return f"<pre>{html.escape(o.get('evalue', ''))}</pre>"


def document(path, page, site):
    writer = text.Writer(site, path)
    # A link to a table that stands alone shows the table.
    source = re.sub(r"^\[[\w.-]+\]\((data/[\w-]+\.csv)\)$", lambda m: table(DOCS / m[1]), path.read_text(), flags=re.M)
    page.body, page.sections = writer.markdown(source), writer.sections
    page.title = writer.title


def table(path):
    with open(path, newline="") as file:
        head, *rows = csv.reader(file)

    def row(cells, kind):
        return "<tr>" + "".join(f"<{kind}>{html.escape(c)}</{kind}>" for c in cells) + "</tr>"

    return "<table>\n" + "\n".join([row(head, "th"), *(row(r, "td") for r in rows)]) + "\n</table>"


RECORDED = re.compile(r'<div data-play="(\w+)"[^>]*>\s*<div data-probode=[^>]*>(<img [^>]*>)')


def record(course, documents):
    """Puts the picture of a live figure that a notebook has recorded into the documents
    that show the same figure."""
    pictures = {}
    for page in course:
        for name, picture in RECORDED.findall(page.body):
            pictures.setdefault(name, picture)
    for page in documents:
        page.body = re.sub(r'(<div data-play="(\w+)"[^>]*>)(?=</div>)', lambda m: m[1] + pictures.get(m[2], ""), page.body)


def command():
    """The page with the help of the command and of each of its verbs."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "probode"
        subprocess.run(["go", "build", "-o", program, "./pkg/probode/cmd/probode"], cwd=ROOT, check=True)

        def says(*args):
            return subprocess.run([program, *args], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.strip()

        sections = [text.Section("", "", says("help"), level=1)]
        sections += [text.Section("probode " + verb, verb, says(verb, "-help"))
                     for verb in re.findall(r"^  probode (\w+)", sections[0].text, re.M)]
    body = "<h1>The command</h1>\n" + "\n".join(
        (f'<h2 id="{s.anchor}">{s.heading}</h2>\n' if s.anchor else "") + f"<pre>{html.escape(s.text)}</pre>" for s in sections)
    return Page("command.html", "The command", "Reference", "Every verb with its flags.", "The command", body, sections)


def contents(pages):
    """The index: two levels of notebooks with pictures, then documents."""
    parts = ["<h1>What does the error of my ODE solver do to my answer?</h1>",
             "<p>A course in executed notebooks, with live charts. <code>make lab</code> in a checkout opens the same "
             "notebooks in JupyterLab, where every cell can be changed and run again.</p>"]
    groups = list(dict.fromkeys(p.group for p in pages))
    for group in groups:
        members = [p for p in pages if p.group == group]
        anchor = re.sub(r"\W+", "-", group.lower())
        parts.append(f'<h2 id="{anchor}">{html.escape(group)}</h2>')
        if members[0].picture:
            parts.append('<div class="cards">')
            for p in members:
                picture = f'<img src="assets/{p.picture}" alt="" loading="lazy">' if p.picture else ""
                parts.append(f'<a class="card" href="{p.file}">{picture}<b>{html.escape(p.name)}</b><span>{html.escape(p.line)}</span></a>')
            parts.append("</div>")
        else:
            parts.append('<ul class="pages">')
            parts += [f'<li><a href="{p.file}">{html.escape(p.name)}</a>{": " if p.line else ""}{html.escape(p.line)}</li>' for p in members]
            parts.append("</ul>")
    return "\n".join(parts)


def fill(template, page, beside, before, after):
    def entry(p):
        current = ' aria-current="page"' if p is page else ""
        item = f'<li><a href="{p.file}"{current}>{html.escape(p.name)}</a>'
        if p is page:
            item += "<ul>" + "".join(f'<li><a href="#{s.anchor}">{html.escape(s.heading)}</a></li>'
                                     for s in page.sections if s.anchor and s.level == 2) + "</ul>"
        return item + "</li>"

    def link(p, words):
        return words.format(html.escape(p.name)) if p else ""

    steps = link(before, f'<a rel="prev" href="{before.file if before else ""}">← {{}}</a>') + \
        link(after, f'<a rel="next" href="{after.file if after else ""}">{{}} →</a>')
    values = {
        "title": html.escape(page.title or page.name), "body": page.body, "steps": steps,
        "beside": "<ul>" + "".join(map(entry, beside)) + "</ul>",
        "scripts": '<script src="assets/playground.js" defer></script>\n' if "data-play=" in page.body else "",
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda m: values.get(m[1], m[0]), template)


def searchable(pages):
    """Returns the entries of the search: title of the page, heading, address, text."""
    entries = [[p.title or p.name, s.heading, p.file + ("#" + s.anchor if s.anchor else ""), s.words()]
               for p in pages for s in p.sections]
    return json.dumps(entries, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")


def write(path, content):
    path.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
