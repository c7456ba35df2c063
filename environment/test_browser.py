"""JupyterLab as a reader sees it, in Chromium: the notebooks run, the charts are
drawn, their sliders move them; and without ECharts the static pictures stay.

    environment/lab run python environment/test_browser.py [NAME...]

NAME is the beginning of a notebook's name, at first 00 and 05. Screenshots go to
environment/out/browser. Without Chromium nothing is tested, which is an error
where the environment variable CI is set. Notebooks are not saved.
"""

import hashlib
import json
import os
import pathlib
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
OUT = HERE / "out" / "browser"

CHART = "[data-probode]"
SECONDS = 180  # for everything a notebook may take to run

# The pixels of a chart above its slider: how many colours, how many pixels that
# are not the background, and all of them.
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

# Where on the page the marks of a chart's slider are; none if it has no slider.
MARKS = """(box) => {
    const chart = window.echarts.getInstanceByDom(box.querySelector("[_echarts_instance_]"));
    const slider = chart.getModel().getComponent("timeline");
    if (!slider) return [];
    const origin = chart.getDom().getBoundingClientRect();
    return chart.getViewOfComponentModel(slider)._tickSymbols.map(s => {
        const [x, y] = s.transformCoordToGlobal(0, 0);
        return {x: origin.x + x, y: origin.y + y};
    });
}"""


def main():
    names = sys.argv[1:] or ["00", "05"]
    chromium = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
    missing = [what for what, there in [
        ("Chromium (Debian, Ubuntu: apt install chromium)", chromium),
        ("a local copy of ECharts (install npm, then environment/lab setup)", (HERE / "echarts" / "echarts.min.js").exists()),
    ] if not there]
    if missing:
        print("browser tests left out: there is no " + " and no ".join(missing))
        sys.exit(1 if os.environ.get("CI") else 0)
    notebooks = [p for n in names for p in sorted((ROOT / "notebooks").glob(n + "*.ipynb"))]
    if len(notebooks) < len(names):
        sys.exit(f"no notebook for each of {', '.join(names)}")
    from playwright.sync_api import sync_playwright

    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    before = [p.read_bytes() for p in notebooks]
    with Server() as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, headless=True, args=[
            "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
            "--disable-background-networking", "--disable-component-update"])
        try:
            sliders = 0
            for p in notebooks:
                sliders += interactive(browser, server, p)
            assert sliders > 0, "no chart has a slider"
            for p in notebooks:
                static(browser, server, p)
        finally:
            browser.close()
    assert before == [p.read_bytes() for p in notebooks], "a notebook was saved"


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


def opened(context, server, path):
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(f"{server.url}lab/tree/notebooks/{path.name}?reset&token={server.token}")
    page.wait_for_selector(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook .jp-Cell")
    # JupyterLab knows the state of this kernel only after the first cell.
    wait_for_kernel(page, "idle", "unknown")
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
    """Returns the number of sliders tested."""
    context = browser.new_context(viewport={"width": 1500, "height": 1100})
    asked = []
    context.on("request", lambda r: asked.append(r.url) if "echarts" in r.url else None)
    page = opened(context, server, path)
    if any("data-probode" in json.dumps(c.get("outputs", [])) for c in json.loads(path.read_text())["cells"]):
        # As committed, before anything runs: the launcher has made it trusted.
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
    page.screenshot(path=OUT / f"{path.stem}.png")
    assert asked and all(u.startswith(server.url) for u in asked), f"{path.name}: ECharts was asked for at {set(asked)}"
    print(f"{path.stem}: {boxes.count()} charts, {sliders} sliders, {seconds:.0f} s to run", flush=True)
    context.close()
    return sliders


def static(browser, server, path):
    context = browser.new_context(viewport={"width": 1500, "height": 1100})
    blocked = []
    context.route("**/*echarts*", lambda route: (blocked.append(route.request.url), route.abort()))
    page = opened(context, server, path)
    execute(page, path)
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


if __name__ == "__main__":
    main()
