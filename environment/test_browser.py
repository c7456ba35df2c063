"""Tests what a reader sees in Chromium. In JupyterLab the notebooks run, charts are
drawn and follow their sliders, and without ECharts the static pictures remain. The
site of make html works without a network, from files and from a web server: charts are
drawn, the search finds pages, no link is dead, and every page fits the windows of a
phone, a tablet and a laptop. The live figures of the playground compute the numbers of
native Go, each of their knobs changes something, and without WebAssembly the recorded
pictures remain.

    environment/lab run python environment/test_browser.py [NAME...]

NAME is the beginning of a notebook's name, "site" for the site, or "play" for the
playground. Without a name the notebooks 00 and 02, the site and the playground are tested. Screenshots go to environment/out/browser.
Without Chromium nothing is tested; that is an error if the environment variable CI is
set. Notebooks are not saved.
"""

import functools
import hashlib
import html.parser
import http.server
import json
import os
import pathlib
import re
import secrets
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
OUT = HERE / "out" / "browser"

# A chart of the page, but not the recording of a live figure.
CHART = "[data-probode]:not([data-play] *)"
LIVE = ".probode-play:not([hidden])"
SECONDS = 180  # the longest time that a notebook may take

# The part of a chart above its slider: the number of colours, the number of pixels that
# are not background, and all pixels.
PIXELS = """(box) => {
    const canvas = box.querySelector("canvas");
    if (!canvas) return null;
    const height = Math.round(canvas.height * (1 - 70 / parseFloat(box.dataset.height)));
    const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, height).data;
    const colours = new Map();
    for (let i = 0; i < data.length; i += 4) {
        const c = data[i] << 16 | data[i + 1] << 8 | data[i + 2];
        colours.set(c, (colours.get(c) || 0) + 1);
    }
    const ground = Math.max(...colours.values());
    return {colours: colours.size, drawn: data.length / 4 - ground, all: Array.from(data).join()};
}"""

# The same for every chart of a page, without the pixels themselves.
DRAWN = """() => [...document.querySelectorAll("[data-probode]:not([data-play] *) canvas:first-of-type")].map(canvas => {
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true});
    copy.drawImage(canvas, 0, 0);
    const data = new Uint32Array(copy.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    const colours = new Map();
    for (const c of data) colours.set(c, (colours.get(c) || 0) + 1);
    return {colours: colours.size, drawn: data.length - Math.max(...colours.values())};
})"""

# The widths of a phone, a tablet and a laptop.
WIDTHS = [1280, 800, 390]

# The parts of a page that are wider than the window or than what they are in, and cannot
# be scrolled to by themselves, with the number of pixels.
WIDE = """() => {
    const root = document.documentElement, found = [];
    if (root.scrollWidth > root.clientWidth) found.push(`the page by ${root.scrollWidth - root.clientWidth}`);
    const scrolls = e => e && e !== root && (["auto", "scroll"].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
    for (const e of document.querySelectorAll("body *")) {
        const over = Math.round(e.getBoundingClientRect().right - root.clientWidth);
        if (over > 0 && !e.closest("svg, [data-probode], .math") && !scrolls(e)) found.push(`${e.tagName} by ${over}: ${e.textContent.slice(0, 40)}`);
    }
    for (const box of document.querySelectorAll("[data-probode]:not([data-play] *)")) {
        const right = Math.max(...[...box.querySelectorAll("canvas, img")].map(e => e.getBoundingClientRect().right));
        if (right > root.clientWidth + 1) found.push(`a chart by ${right - root.clientWidth}`);
    }
    return found;
}"""

# The size on the screen of the smallest text of each chart.
SMALLEST = """() => [...document.querySelectorAll("[data-probode]:not([data-play] *)")].map(box => {
    const host = box.querySelector("[_echarts_instance_]");
    return 12 * host.getBoundingClientRect().width / host.offsetWidth;
})"""

# By how many pixels the widest chart of a page is cut off.
CUT = """() => Math.max(...[...document.querySelectorAll("[data-probode]:not([data-play] *)")].map(b => b.scrollWidth - b.clientWidth))"""

# Where on the page the marks of a chart's slider are; none if it has no slider.
MARKS = """(box) => {
    const chart = window.echarts.getInstanceByDom(box.querySelector("[_echarts_instance_]"));
    const slider = chart.getModel().getComponent("timeline");
    if (!slider) return [];
    const host = chart.getDom(), origin = host.getBoundingClientRect(), share = origin.width / host.offsetWidth;
    return chart.getViewOfComponentModel(slider)._tickSymbols.map(s => {
        const [x, y] = s.transformCoordToGlobal(0, 0);
        return {x: origin.x + share * x, y: origin.y + share * y};
    });
}"""


def main():
    names = sys.argv[1:] or ["00", "02", "site", "play"]
    chromium = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
    missing = [what for what, there in [
        ("Chromium (Debian, Ubuntu: apt install chromium)", chromium),
        ("a local copy of ECharts (install npm, then environment/lab setup)", (HERE / "echarts" / "echarts.min.js").exists()),
    ] if not there]
    if missing:
        print("browser tests skipped: there is no " + " and no ".join(missing))
        sys.exit(1 if os.environ.get("CI") else 0)
    with_site, with_play, names = "site" in names, "play" in names, [n for n in names if n not in ("site", "play")]
    notebooks = [p for n in names for p in sorted((ROOT / "notebooks").glob(n + "*.ipynb"))]
    if len(notebooks) < len(names):
        sys.exit(f"no notebook for each of {', '.join(names)}")
    from playwright.sync_api import sync_playwright

    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    before = [p.read_bytes() for p in notebooks]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, headless=True, args=[
            "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
            "--disable-background-networking", "--disable-component-update"])
        try:
            if with_site:
                site(browser)
            if with_play:
                playground(browser)
            guarded(browser)
            if notebooks:
                in_lab(browser, notebooks)
        finally:
            browser.close()
    assert before == [p.read_bytes() for p in notebooks], "a notebook was saved"


def in_lab(browser, notebooks):
    with Server() as server:
        first_page(browser, server)
        sliders = 0
        for p in notebooks:
            sliders += interactive(browser, server, p)
        assert sliders > 0, "no chart has a slider"
        for p in notebooks:
            static(browser, server, p)


class Server:
    """JupyterLab as started by environment/lab, without saving notebooks."""

    def __enter__(self):
        settings = OUT / "settings" / "@jupyterlab" / "docmanager-extension"
        settings.mkdir(parents=True)
        (settings / "plugin.jupyterlab-settings").write_text('{"autosave": false}')
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        self.token = secrets.token_hex(16)
        self.url = f"http://127.0.0.1:{port}/"
        self.log = open(OUT / "server.log", "w")
        self.process = subprocess.Popen(
            [HERE / "lab", "--no-browser", "--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0",
             f"--IdentityProvider.token={self.token}", "--LabApp.expose_app_in_browser=True",
             f"--LabApp.user_settings_dir={OUT / 'settings'}", f"--LabApp.workspaces_dir={OUT / 'workspaces'}"],
            stdout=self.log, stderr=self.log, env=dict(os.environ, PROBODE_MEMO=str(OUT / "memo")))
        for _ in range(600):
            time.sleep(0.1)
            try:
                urllib.request.urlopen(f"{self.url}api?token={self.token}", timeout=5).close()
                return self
            except OSError:
                if self.process.poll() is not None:
                    break
        self.__exit__()
        sys.exit("JupyterLab does not start:\n" + (OUT / "server.log").read_text()[-2000:])

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.log.close()


def first_page(browser, server):
    """JupyterLab opens the course at its first page. While the program of the live figures is
    being built, they say so, and then turn live by themselves. Tab shows each name once, and
    Shift-Tab an explanation, before a cell has run."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.route("**/program.js", lambda route: route.fulfill(status=404))
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(f"{server.url}?token={server.token}")
    page.wait_for_function("() => window.jupyterapp?.shell.currentWidget?.context?.path === 'course/00_quickstart.ipynb'")
    wait_for_kernel(page, "idle")
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:insert-cell-above')")
    page.keyboard.press("Enter")
    page.keyboard.type("%%\nfigure := problems.")
    page.keyboard.press("Tab")
    page.locator(".jp-Completer-item").first.wait_for(timeout=SECONDS * 1000)
    names = page.locator(".jp-Completer-item").all_inner_texts()
    assert "LotkaVolterra" in [n.strip().split()[0] for n in names] and len(names) == len(set(names)), f"Tab shows {names}"
    page.screenshot(path=OUT / "tab.png")
    page.keyboard.press("Escape")
    page.keyboard.type("SIR(")
    page.keyboard.press("Shift+Tab")
    page.locator(".jp-Tooltip").wait_for()
    said = page.locator(".jp-Tooltip").inner_text()
    assert "func problems.SIR()" in said, f"Shift-Tab shows {said}"
    page.screenshot(path=OUT / "shift-tab.png")
    page.keyboard.press("Escape")
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:delete-cell')")
    execute(page, pathlib.Path("course/00_quickstart.ipynb"))
    figure = page.locator("[data-play]").first
    figure.scroll_into_view_if_needed()
    coming = figure.locator(".coming")
    coming.wait_for()
    assert figure.locator(LIVE).count() == 0 and figure.locator(CHART.split(":")[0]).is_visible(), "there is no recording while the figure is coming"
    page.screenshot(path=OUT / "coming.png")
    context.unroute("**/program.js")
    figure.locator(f"{LIVE} canvas").first.wait_for()
    assert coming.count() == 0, "a live figure says that it is coming"
    context.close()
    print("the first page: completed, explained, and its live figure came", flush=True)


def opened(context, server, path, wait=True):
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(f"{server.url}lab/tree/notebooks/{path.name}?reset&token={server.token}")
    page.wait_for_selector(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook .jp-Cell")
    if wait:
        wait_for_kernel(page, "idle")
    return page


def wait_for_kernel(page, *states):
    page.wait_for_function("""(states) => {
        const kernel = window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel;
        return kernel?.connectionStatus === "connected" && states.includes(kernel.status);
    }""", arg=states, timeout=SECONDS * 1000)


def execute(page, path):
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
    page.wait_for_function(f"() => !document.querySelector('{CHART}')")
    begin = time.monotonic()
    finished = page.evaluate_handle("() => { const h = {}; window.jupyterapp.commands.execute('notebook:run-all-cells').then(v => h.done = true); return h; }")
    page.wait_for_function("h => h.done", arg=finished, timeout=SECONDS * 1000)
    wait_for_kernel(page, "idle")
    errors = page.evaluate("""() => window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells
        .flatMap(c => c.outputs || []).filter(o => o.output_type === "error" || o.name === "stderr").map(o => JSON.stringify(o))""")
    assert not errors, f"{path.name}: {errors[0][:500]}"
    assert page.locator(".jp-Dialog").count() == 0, f"{path.name}: {page.locator('.jp-Dialog').first.inner_text()}"
    toasts = page.locator(".Toastify__toast")
    assert toasts.count() == 0, f"{path.name}: {toasts.first.inner_text()}"
    return time.monotonic() - begin


def pixels(box):
    p = box.evaluate(PIXELS)
    if p:
        p["all"] = hashlib.sha256(p["all"].encode()).hexdigest()
    return p


def interactive(browser, server, path):
    """Returns the number of sliders tested. The window is small, so charts must shrink to
    the width that the list of files leaves."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    asked = []
    context.on("request", lambda r: asked.append(r.url) if "echarts" in r.url else None)
    page = opened(context, server, path)
    if subprocess.run(["git", "diff", "--quiet", "HEAD", "--", path], cwd=ROOT).returncode:
        print(f"{path.stem}: not as committed, so its charts are drawn only after its cells run", flush=True)
    elif any("data-probode" in json.dumps(c.get("outputs", [])) for c in json.loads(path.read_text())["cells"]):
        # Before a cell runs. The launcher has marked the notebook as trusted.
        page.locator(CHART).first.scroll_into_view_if_needed()
        page.locator(f"{CHART} canvas").first.wait_for()
    seconds = execute(page, path)
    boxes = page.locator(CHART)
    assert boxes.count() > 0, f"{path.name}: no charts"
    sliders = 0
    for i in range(boxes.count()):
        box, name = boxes.nth(i), f"{path.stem}-{i + 1}"
        box.scroll_into_view_if_needed()
        box.locator("canvas").first.wait_for()
        page.wait_for_timeout(500)
        p = pixels(box)
        assert p["colours"] > 5 and p["drawn"] > 1000, f"{name}: nothing is drawn: {p}"
        assert not box.locator("img").is_visible(), f"{name}: the static picture is beside the chart"
        box.screenshot(path=OUT / f"{name}.png")
        assert page.evaluate(CUT) <= 0, f"{name}: cut off by {page.evaluate(CUT)} pixels"
        marks = box.evaluate(MARKS)
        if marks:
            sliders += 1
            box.locator("canvas").first.evaluate("e => e.scrollIntoView({block: 'center'})")
            page.wait_for_timeout(200)
            seen = {p["all"]}
            for m in box.evaluate(MARKS):
                page.mouse.click(m["x"], m["y"])
                page.wait_for_timeout(500)
                seen.add(pixels(box)["all"])
            assert len(seen) == len(marks), f"{name}: {len(marks)} positions of the slider, {len(seen)} different pictures"
            box.screenshot(path=OUT / f"{name}-slider.png")
    undisturbed(page, path)
    page.screenshot(path=OUT / f"{path.stem}.png")
    assert asked and all(u.startswith(server.url) for u in asked), f"{path.name}: ECharts was asked for at {set(asked)}"
    print(f"{path.stem}: {boxes.count()} charts, {sliders} sliders, {seconds:.0f} s to run", flush=True)
    context.close()
    return sliders


CELLS = "() => window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells.map(c => c.getSource())"


def undisturbed(page, path):
    """In a live figure the keys that are commands of JupyterLab, such as d d, change no cell."""
    knobs = page.locator("[data-play] input[type=range]")
    if not knobs.count():
        return
    knob, cells = knobs.first, page.evaluate(CELLS)
    knob.scroll_into_view_if_needed()
    knob.focus()
    before = knob.input_value()
    knob.press("ArrowRight")
    assert knob.input_value() != before, f"{path.name}: an arrow key does not move the slider"
    for key in ["a", "b", "d", "d", "x", "m", "Enter", "Shift+Enter"]:
        knob.press(key)
    page.wait_for_timeout(500)
    assert page.evaluate(CELLS) == cells, f"{path.name}: keys pressed in a figure change the cells"


def static(browser, server, path):
    context = browser.new_context(viewport={"width": 1500, "height": 1100})
    blocked = []
    context.route("**/*echarts*", lambda route: (blocked.append(route.request.url), route.abort()))
    page = opened(context, server, path, wait=False)
    execute(page, path)  # at once: the cells wait for the kernel to start
    counts = page.evaluate("""() => window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells
        .filter(c => c.cell_type === "code").map(c => c.execution_count)""")
    assert counts and all(counts), f"{path.name}: cells that were started before the kernel did not run: {counts}"
    boxes = page.locator(CHART)
    for i in range(boxes.count()):
        box, name = boxes.nth(i), f"{path.stem}-{i + 1}-static"
        box.scroll_into_view_if_needed()
        page.wait_for_timeout(500)
        assert box.locator("canvas").count() == 0, f"{name}: there is a chart although ECharts is blocked"
        image = box.locator("img")
        assert image.is_visible() and image.evaluate("e => e.complete && e.naturalWidth") > 100, f"{name}: no picture"
        box.screenshot(path=OUT / f"{name}.png")
    assert any(u.startswith(server.url) for u in blocked) and any(not u.startswith(server.url) for u in blocked), \
        f"{path.name}: not both the local copy and the CDN were tried: {set(blocked)}"
    print(f"{path.stem}: {boxes.count()} static pictures with ECharts blocked", flush=True)
    context.close()


def guarded(browser):
    """A page of a command asks for nothing from elsewhere. It shows the static picture and,
    with ECharts beside it, the chart, which has the ground of the page, light or dark. It fits
    into windows of all widths."""
    folder = OUT / "guarded"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path = folder / "paths.html"
    subprocess.run(["go", "run", "./pkg/probode/cmd/probode", "solve", "-problem", "fhn", "-step", "0.1", "-paths", "20", "-out", path],
                   cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    for beside in (False, True):
        if beside:
            shutil.copy(HERE / "echarts" / "echarts.min.js", folder)
        context = browser.new_context()
        asked = []
        context.route(lambda url: url.startswith("http"), lambda route: (asked.append(route.request.url), route.abort()))
        page = context.new_page()
        page.goto(path.as_uri())
        if beside:
            page.locator(f"{CHART} canvas").first.wait_for()
            fits(page, "report")
            for scheme, corner in [("dark", "0,0,0,0"), ("light", "255,255,255,255")]:
                page.emulate_media(color_scheme=scheme)
                page.wait_for_timeout(500)
                got = page.locator(f"{CHART} canvas").first.evaluate("c => c.getContext('2d').getImageData(1, 1, 1, 1).data.join()")
                assert got == corner, f"in a {scheme} page the ground of a chart is {got}"
        else:
            page.wait_for_timeout(1500)
            assert page.locator(f"{CHART} canvas").count() == 0, "there is a chart without ECharts"
            assert page.locator(f"{CHART} img").first.is_visible(), "no picture"
        assert not asked, f"the page asked for {asked}"
        context.close()
    print("a page of a command loads nothing from elsewhere, and uses ECharts beside it", flush=True)


def site(browser):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        subprocess.run([sys.executable, HERE / "site" / "build.py", folder], check=True)
        links = linked(folder)
        handler = functools.partial(Quiet, directory=folder)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            charts = visit(browser, folder.as_uri() + "/", sorted(p.name for p in folder.glob("*.html")))
            visit(browser, f"http://127.0.0.1:{server.server_port}/", [min(p.name for p in folder.glob("[0-9]*.html"))])
            server.shutdown()
    print(f"site: {charts} charts, {links} links", flush=True)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def visit(browser, base, names):
    """Opens pages of the site in windows of all widths, without access to anything else,
    and searches. Returns the number of charts."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    outside = []
    context.route(lambda url: not url.startswith((base, "data:", "blob:")), lambda route: (outside.append(route.request.url), route.abort()))
    page = context.new_page()
    wrong = []
    page.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: wrong.append(str(e)))
    charts = 0
    for name in names:
        page.goto(base + name)
        n = page.locator(CHART).count()
        assert n > 0 or not name[0].isdigit(), f"{name}: no charts"
        fits(page, f"site-{pathlib.Path(name).stem}")
        charts += n
        if page.locator("[data-play]").count():
            page.locator("[data-play]").first.scroll_into_view_if_needed()
            page.locator(f"{LIVE} canvas").first.wait_for()
            held(page, name)
            moved(page, name)
    page.goto(base + "index.html")
    for words, want in [("stan", "from-stan.html"), ("stiff feedback", "02_backward_euler.html"), ("onstant", None), ("zqxj", None)]:
        page.fill("#search", words)
        page.locator("#found li").first.wait_for()
        page.wait_for_timeout(200)
        found = page.locator("#found a").evaluate_all("links => links.map(a => a.getAttribute('href'))")
        assert (want is None) == (not found) and (not found or any(f.startswith(want) for f in found[:5])), f"search for {words}: {found[:5]}"
    page.fill("#search", "stan")
    page.locator("#found a").first.wait_for()
    page.press("#search", "Enter")
    page.wait_for_url("**/from-stan.html*")
    assert not outside and not wrong, f"{base}: {outside[:3]} {wrong[:3]}"
    context.close()
    return charts


def held(page, name):
    """On a phone the first chart of a figure and its first knob are on the screen together,
    and the chart remains in sight until the last knob of the figure has come."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(300)
    for which in ("first", "last"):
        page.evaluate("""last => {
            const knobs = [...document.querySelectorAll(".probode-play .stage")[0].querySelectorAll(".knob")];
            if (last) knobs.at(-1).scrollIntoView({block: "end"});
            else document.querySelector(".probode-play").scrollIntoView({block: "start"});
        }""", which == "last")
        page.wait_for_timeout(200)
        chart, knob = page.evaluate("""last => {
            const stage = document.querySelector(".probode-play .stage"), place = e => { const r = e.getBoundingClientRect(); return [r.top, r.bottom]; };
            return [place(stage.querySelector("canvas")), place([...stage.querySelectorAll(".knob")].at(last ? -1 : 0))];
        }""", which == "last")
        assert 0 <= chart[0] and chart[1] <= knob[0] and knob[1] <= 845, f"{name}: on a phone the {which} knob is at {knob} and the chart at {chart}"
    page.set_viewport_size({"width": 1280, "height": 1000})


def moved(page, name):
    """A link in the text moves knobs of the live figure."""
    links = page.locator("main a").evaluate_all("links => links.map(a => a.getAttribute('href')).filter(h => /^#\\w+\\?/.test(h))")
    for link in dict.fromkeys(links):
        page.locator(f'main a[href="{link}"]').first.evaluate("a => a.click()")
        for knob, value in urllib.parse.parse_qsl(link.partition("?")[2]):
            page.wait_for_function("""([figure, knob, value]) => {
                const v = window.probodePlay.figures.find(f => f.name === figure);
                return !v.busy && !Object.keys(v.changes).length && String(v.knobs.get(knob)?.control.value) === value;
            }""", arg=[MOVES.match(link)[0][1:-1], knob, value])
        assert not page.locator(".probode-play .error").first.inner_text(), f"{name}: {link}"


def fits(page, name):
    """Checks the page in windows of all widths: nothing is wider than the window, every
    chart is drawn, and its text can be read."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 1000})
        if n := page.locator(CHART).count():
            page.wait_for_function("""() => [...document.querySelectorAll("[data-probode]:not([data-play] *)")].every(b => b.querySelector("canvas"))""")
            for _ in range(50):
                page.wait_for_timeout(100)
                drawn = page.evaluate(DRAWN)
                empty = [(i + 1, d) for i, d in enumerate(drawn) if d["colours"] <= 5 or d["drawn"] <= 1000]
                if len(drawn) == n and not empty:
                    break
            assert len(drawn) == n, f"{name}: {len(drawn)} of {n} charts"
            assert not empty, f"{name}: nothing is drawn in chart {empty[0]}"
            smallest = min(page.evaluate(SMALLEST))
            assert smallest > 7, f"{name}: the text of a chart is {smallest:.1f} pixels high in a window of {width}"
        wide = page.evaluate(WIDE)
        assert not wide, f"{name}: wider than a window of {width}: {wide[:3]}"
        if n:
            page.screenshot(path=OUT / f"{name}-{width}.png")


# Changes the knobs of a figure, one after another, as a reader does, and waits each time
# until its charts or its words have changed; then once more those that changed nothing,
# because some knobs matter only for some values of others. Returns those that change
# nothing either time. At the end it presses the buttons and switches. Before each change
# it waits a moment for the end of the computation, so that a change that is seen is that
# of the knob; the figure of a sampler has no end that soon.
TURN = """async (i) => {
    const figure = window.probodePlay.figures[i];
    const seen = () => [...figure.root.querySelectorAll("canvas")].map(c => c.toDataURL()).join() + figure.says.textContent;
    const until = async (f, patience) => {
        const end = Date.now() + patience;
        while (!f() && Date.now() < end) await new Promise(r => setTimeout(r, 20));
        return f();
    };
    const turn = (knob) => {
        const input = knob.input;
        if (knob.kind === "choice") {
            input.selectedIndex = (input.selectedIndex + 1) % input.options.length;
        } else if (knob.kind === "integer") {
            input.value = +input.value + 1;
        } else {
            const part = (input.max - input.min) / 5, middle = (+input.min + +input.max) / 2;
            input.value = +input.value > middle ? +input.value - part : +input.value + part;
        }
        input.dispatchEvent(new Event("input", {bubbles: true}));
    };
    const names = [...figure.knobs.keys()];
    let idle = names.filter(n => !["text", "button", "toggle"].includes(figure.knobs.get(n).kind));
    for (let pass = 0; pass < 2; pass++) {
        const still = [];
        for (const name of idle) {
            const knob = figure.knobs.get(name);
            if (!knob || knob.input.options?.length < 2) continue;
            await until(() => !figure.busy && figure.view.done && !figure.frame && !figure.speaking, 1500);
            const before = seen();
            turn(knob);
            if (!await until(() => seen() !== before, pass ? 8000 : 1500)) still.push(name);
        }
        idle = still;
        if (idle.length && !pass) {
            for (const name of names) if (figure.knobs.get(name)?.kind === "choice") turn(figure.knobs.get(name));
        }
    }
    for (const name of names) {
        const knob = figure.knobs.get(name);
        if (knob?.kind === "button") knob.input.click();
        if (knob?.kind === "toggle") { knob.input.click(); await until(() => !figure.busy, 8000); knob.input.click(); }
        await until(() => !figure.busy, 8000);
    }
    return idle;
}"""

# Changes the step size of a figure that has come to its end, and returns the milliseconds
# until the first answer is drawn, for each of some changes.
LATENCY = """async (i) => {
    const figure = window.probodePlay.figures[i], all = [];
    const until = async (f) => { while (!f()) await new Promise(r => setTimeout(r, 1)); };
    for (let n = 0; n < 15; n++) {
        await until(() => !figure.busy && figure.view.done && !figure.frame);
        const begin = performance.now(), before = figure.view;
        figure.change("h", 0.1 + n / 1e3);
        await until(() => figure.view !== before && !figure.frame);
        all.push(performance.now() - begin);
    }
    return all;
}"""

# Changes a knob that is cheap and one that is not, a thousand times in all.
OFTEN = """async (i) => {
    const figure = window.probodePlay.figures[i];
    for (let n = 0; n < 1000; n++) {
        figure.change(n % 10 ? "cut" : "h", n % 10 ? 5 + n % 10 : 0.1 + n / 1e4);
        while (figure.busy) await new Promise(r => setTimeout(r, 1));
    }
}"""


def playground(browser):
    """The page with all figures, from a file and from a server, without access to anything
    else."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        subprocess.run(["go", "run", "./environment/playground", "-out", folder], cwd=ROOT, check=True)
        subprocess.run(["go", "build", "-o", folder / "native", "./pkg/viz/playground/wasm"], cwd=ROOT, check=True)
        size = (folder / "program.js").stat().st_size
        assert size < 4_000_000, f"the program is a script of {size} bytes: want at most 4 MB"
        handler = functools.partial(Quiet, directory=folder)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            served(browser, f"http://127.0.0.1:{server.server_port}/index.html")
            server.shutdown()
        page, wrong = with_figures(browser, (folder / "index.html").as_uri())
        first = page.evaluate("() => performance.now()") / 1000
        names = page.evaluate("() => window.probodePlay.figures.map(f => f.name)")
        for i, name in enumerate(names):
            box = page.locator("[data-play]").nth(i)
            box.scroll_into_view_if_needed()
            box.locator(f"{LIVE} canvas").first.wait_for()
            compared(page, i, name, folder)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 1000})
            page.wait_for_timeout(300)
            wide = page.evaluate(WIDE)
            assert not wide, f"playground: wider than a window of {width}: {wide[:3]}"
            page.screenshot(path=OUT / f"playground-{width}.png", full_page=True)
        page.emulate_media(color_scheme="dark")
        page.wait_for_timeout(500)
        page.screenshot(path=OUT / "playground-dark.png", full_page=True)
        for i, name in enumerate(names):
            page.locator("[data-play]").nth(i).scroll_into_view_if_needed()
            idle = page.evaluate(TURN, i)
            assert not idle, f"{name}: the knobs {idle} change nothing"
            errors = page.locator("[data-play]").nth(i).locator(".error").inner_text()
            assert not errors, f"{name}: {errors}"
        mistaken(page, names)
        alone(page, names.index("dragons"))
        silent(page, names.index("paths"))
        drawn = statistics.median(page.evaluate(LATENCY, names.index("paths")))
        assert drawn < 300, f"a change is drawn after {drawn:.0f} ms: want 100 on an idle machine"
        page.evaluate(OFTEN, names.index("paths"))
        memory(page)
        assert not wrong, f"playground: {wrong[:3]}"
        page.context.close()
        without(browser, (folder / "index.html").as_uri())
    print(f"playground: {len(names)} figures, the first after {first:.1f} s, a change after {drawn:.0f} ms, {time.monotonic() - begin:.0f} s in all", flush=True)


def with_figures(browser, address):
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    page, wrong = context.new_page(), []
    page.set_default_timeout(60_000)
    page.on("request", lambda r: wrong.append(r.url) if not r.url.startswith((address.rpartition("/")[0], "data:", "blob:")) else None)
    page.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: wrong.append(str(e)))
    page.goto(address)
    page.locator(f"{LIVE} canvas").first.wait_for()
    return page, wrong


def served(browser, address):
    """The link of a figure with other values opens that figure with these values."""
    page, wrong = with_figures(browser, address)
    page.evaluate("() => window.probodePlay.figures.find(f => f.name === 'paths').change('seed', 77)")
    page.wait_for_url("**#play=*")
    link = page.url
    page.context.close()
    page = browser.new_page()
    page.goto(link)
    page.wait_for_function("() => window.probodePlay?.figures.find(f => f.name === 'paths').knobs.get('seed')?.input.value === '77'")
    page.close()
    assert not wrong, f"{address}: {wrong[:3]}"


def compared(page, i, name, folder):
    """The browser computes the numbers of native Go, if the figure comes to an end soon."""
    asked = [{"do": "open", "id": 1, "figure": name}] + [{"do": "advance", "id": 1, "budget": 50}] * 40
    out = subprocess.run([folder / "native"], check=True, text=True, stdout=subprocess.PIPE, input="".join(json.dumps(m) + "\n" for m in asked)).stdout
    want = json.loads(out.splitlines()[-1])["view"]
    if not want["done"]:
        return
    page.wait_for_function("i => window.probodePlay.figures[i].view?.done", arg=i, timeout=SECONDS * 1000)
    got = page.evaluate("i => window.probodePlay.figures[i].view.numbers || {}", i)
    numbers = want.get("numbers") or {}
    assert got.keys() == numbers.keys(), f"{name}: numbers {sorted(got)} in the browser and {sorted(numbers)} natively"
    for key, value in numbers.items():
        assert abs(got[key] - value) <= 1e-12 * max(1, abs(value)), f"{name}: {key} is {got[key]!r} in the browser and {value!r} natively"


def mistaken(page, names):
    """A mistake in a text gets its line."""
    found = page.locator(".probode-play textarea")
    assert found.count() > 0, "no figure has a text"
    found.first.scroll_into_view_if_needed()
    before = found.first.input_value()
    found.first.fill("this: [is no model\n" + before)
    page.locator(".probode-play .problems li").first.wait_for()
    assert "line" in page.locator(".probode-play .problems li").first.inner_text()
    found.first.fill(before)
    page.wait_for_function("() => !document.querySelector('.probode-play .problems li')")


def alone(page, i):
    """The keys that move a knob stay in the figure: a notebook would take them as commands."""
    knob = page.locator("[data-play]").nth(i).locator("input[type=range]").first
    knob.scroll_into_view_if_needed()
    page.evaluate("() => ['keydown', 'keypress', 'keyup'].forEach(k => document.addEventListener(k, () => { window.heard = k; }))")
    before = knob.input_value()
    knob.press("ArrowRight")
    assert knob.input_value() != before, "an arrow key does not move the slider"
    knob.press("a")
    assert not page.evaluate("() => window.heard"), "a key of a live figure reaches the page around it"
    assert knob.evaluate("e => Boolean(e.closest('[data-lm-suppress-shortcuts]'))"), "JupyterLab would search its shortcuts for the keys"


def silent(page, i):
    """A worker that does not answer is ended, and the next change begins again. The question
    without an answer may be that of a neighbour."""
    page.locator("[data-play]").nth(i).scroll_into_view_if_needed()
    page.evaluate("""i => {
        const {desk, figures} = window.probodePlay;
        desk.worker.onmessage = () => {};
        figures[i].change("seed", 5);
    }""", i)
    page.wait_for_function("() => window.probodePlay.figures.some(f => f.error?.textContent)")
    page.evaluate("i => window.probodePlay.figures[i].change('seed', 6)", i)
    page.wait_for_function("i => { const f = window.probodePlay.figures[i]; return !f.error.textContent && f.view.done && f.values.seed === 6; }", arg=i)


def memory(page):
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    heap = session.send("Runtime.getHeapUsage")["usedSize"]
    program = page.workers[-1].evaluate("() => program.exports.mem.buffer.byteLength")
    assert heap + program < 300e6, f"after a thousand changes the page has {heap / 1e6:.0f} MB and the program {program / 1e6:.0f} MB"
    print(f"playground: {heap / 1e6:.0f} MB in the page and {program / 1e6:.0f} MB in the worker after a thousand changes", flush=True)


def without(browser, address):
    """What a page contains in place of a figure remains without WebAssembly."""
    context = browser.new_context()
    context.add_init_script("delete window.WebAssembly")
    page = context.new_page()
    page.goto(address)
    page.wait_for_timeout(1500)
    assert page.locator(LIVE).count() == 0 and page.locator("[data-play] > *").first.is_visible(), "without WebAssembly nothing is shown"
    context.close()


MOVES = re.compile(r"#\w+\?")  # a link that moves knobs of a live figure


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.links = set(), []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.ids.add(value)
            elif name in ("href", "src"):
                self.links.append(value)


def linked(folder):
    """Returns the number of internal links of the site; each must have a target."""
    pages = {}
    for path in folder.glob("*.html"):
        pages[path.name] = Links()
        pages[path.name].feed(path.read_text())
    n = 0
    for name, page in pages.items():
        for link in page.links:
            if link.startswith(("http:", "https:", "data:")) or MOVES.match(link):
                continue
            to, _, anchor = urllib.parse.unquote(link).partition("#")
            assert not to or (folder / to).is_file(), f"{name}: dead link {link}"
            target = pages.get(to or name)
            assert not anchor or anchor in target.ids, f"{name}: dead link {link}"
            n += 1
    return n


if __name__ == "__main__":
    main()
