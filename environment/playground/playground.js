// The page's side of the playground. The figures of pkg/viz/playground run in a worker, as
// WebAssembly; here are their knobs and the charts, for any figure: what a figure is and
// shows comes from Go. An element with the attribute data-play="NAME" becomes that figure.
// What it contains, a recorded picture, stands until there is something to show, and
// remains if there never is.
(function () {
  "use strict";
  if (window.probodePlay) {
    window.probodePlay.look();
    return;
  }
  const viz = window.probodeViz;
  const base = document.currentScript.src.replace(/[^/]*$/, "");
  const styles = "STYLES";
  const inJupyter = Boolean(document.getElementById("jupyter-config-data"));
  const PATIENCE = 2000; // milliseconds after which a silent worker is ended
  const PREPARE = 10000; // the same for a worker that starts and for a figure that opens

  // ---- the program -------------------------------------------------------------------

  // The script program.js holds the compressed module and the text of the worker, because
  // a page that was opened from a file may not fetch anything.
  function script(src) {
    return new Promise((done, fail) => {
      const s = document.createElement("script");
      s.src = src;
      s.onload = done;
      s.onerror = () => {
        s.remove();
        fail(new Error("there is no " + src));
      };
      document.head.appendChild(s);
    });
  }

  // JupyterLab may be open before environment/lab has built the program.
  let missing;
  const absent = new Promise((done) => { missing = done; });
  async function program() {
    for (;;) {
      try {
        await script(base + "program.js");
        return compile();
      } catch (e) {
        if (!inJupyter) throw e;
        missing();
        await new Promise((done) => setTimeout(done, 2000));
      }
    }
  }

  let loading;
  function load() {
    if (!loading) {
      loading = Promise.all([viz.load(), program()]).then(([echarts, program]) => ({echarts, ...program}));
    }
    return loading;
  }

  async function compile() {
    const {worker, packed, size} = window.probodeProgram;
    delete window.probodeProgram;
    const plain = new Blob([ascii85(packed, size)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const module = await WebAssembly.compileStreaming(new Response(plain, {headers: {"Content-Type": "application/wasm"}}));
    return {module, worker: URL.createObjectURL(new Blob([worker], {type: "text/javascript"}))};
  }

  // Reads ASCII85, in which v and w stand for the two characters that a string of
  // JavaScript must escape, and z for four zeros.
  function ascii85(text, size) {
    const to = new Uint8Array(size + 4), view = new DataView(to.buffer);
    for (let i = 0, at = 0; at < size; at += 4) {
      let sum = 0;
      if (text[i] === "z") {
        i++;
      } else {
        for (let k = 0; k < 5; k++, i++) {
          const c = i < text.length ? text.charCodeAt(i) : 117;
          sum = 85 * sum + (c === 118 ? 34 : c === 119 ? 92 : c) - 33;
        }
      }
      view.setUint32(at, sum);
    }
    return to.subarray(0, size);
  }

  function bytes(text) {
    const from = atob(text), to = new Uint8Array(from.length);
    for (let i = 0; i < to.length; i++) to[i] = from.charCodeAt(i);
    return to;
  }

  // ---- the worker --------------------------------------------------------------------

  // All figures of a page share one worker. It answers in the order of the questions.
  const desk = {
    worker: undefined,
    figures: new Map(), // the open ones, by id
    asked: [], // the questions that are not answered yet: figure and patience
    watch: undefined,

    start(program) {
      this.worker = new Worker(program.worker);
      this.worker.onmessage = (event) => this.answered(JSON.parse(event.data));
      this.worker.onerror = () => this.restart();
      this.worker.postMessage(program.module);
      this.program = program;
      this.asked = [{time: PREPARE}]; // the start is answered, too
      this.wait();
    },

    ask(figure, question) {
      this.worker.postMessage(JSON.stringify({...question, id: figure.id}));
      if (this.asked.push({id: figure.id, time: question.do === "open" ? PREPARE : PATIENCE}) === 1) this.wait();
    },

    wait() {
      clearTimeout(this.watch);
      if (!this.asked.length) return;
      // The answer may be there already and wait until this page has drawn something.
      this.watch = setTimeout(() => { this.watch = setTimeout(() => this.restart(), 100); }, this.asked[0].time);
    },

    answered(answer) {
      if (answer.ended) return this.restart();
      this.asked.shift();
      this.wait();
      const figure = this.figures.get(answer.id);
      if (figure) figure.answered(answer);
    },

    // Ends the worker. The figure whose question it did not answer waits for another
    // value of a knob; the others begin again.
    restart() {
      const stuck = this.asked.length ? this.asked[0].id : undefined;
      clearTimeout(this.watch);
      this.worker.terminate();
      this.start(this.program);
      for (const figure of this.figures.values()) {
        if (figure.id === stuck) figure.stuck(); else figure.open();
      }
    }
  };

  // ---- knobs -------------------------------------------------------------------------

  function element(name, attributes, ...children) {
    const e = document.createElement(name);
    for (const [k, v] of Object.entries(attributes || {})) {
      if (v === undefined || v === false) continue;
      if (k === "text") e.textContent = v; else e.setAttribute(k, v === true ? "" : v);
    }
    e.append(...children);
    return e;
  }

  // Puts the parts into the element in this order, and leaves those that are in their place.
  function arrange(into, parts) {
    parts.forEach((part, i) => { if (into.children[i] !== part) into.insertBefore(part, into.children[i] || null); });
  }

  const short = (v) => String(Number(Number(v).toPrecision(4)));

  // What differs between the kinds of knobs: the element, how a value is put into it, and
  // how it is read. An input of text waits until the reader pauses.
  const kinds = {
    choice: {
      make: () => element("select"),
      put(input, c) {
        const now = JSON.stringify(c.options);
        if (input.dataset.options !== now) {
          input.replaceChildren(...c.options.map((o) => element("option", {value: o.value, text: o.label})));
          input.dataset.options = now;
        }
        input.value = c.value;
      },
      read: (input) => input.value
    },
    range: slider((v) => v, (p, c) => c.step ? Number(p.toPrecision(12)) : p, (c) => c.step || "any"),
    log: slider(Math.log10, (p) => Number((10 ** p).toPrecision(3)), (c) => c.step || 0.02),
    integer: {
      make: () => element("input", {type: "number", inputmode: "numeric"}),
      put(input, c) {
        Object.assign(input, {min: c.min, max: c.max, step: c.step || 1});
        input.value = c.value;
      },
      read: (input, c) => input.value === "" ? undefined : Math.min(c.max, Math.max(c.min, Math.round(input.valueAsNumber)))
    },
    text: {
      make: () => element("textarea", {spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off"}),
      put(input, c) {
        input.rows = c.step || 12;
        input.value = c.value;
      },
      read: (input) => input.value,
      pause: 150
    },
    toggle: {
      make: () => element("input", {type: "checkbox"}),
      put(input, c) { input.checked = c.value; },
      read: (input) => input.checked
    }
  };

  // A slider whose position is a function of the value.
  function slider(position, value, step) {
    return {
      make: () => element("input", {type: "range"}),
      put(input, c) {
        Object.assign(input, {min: position(c.min), max: position(c.max), step: step(c)});
        input.value = position(c.value);
        this.say(input, c.value);
      },
      read(input, c) {
        const v = Math.min(c.max, Math.max(c.min, value(input.valueAsNumber, c)));
        this.say(input, v);
        return v;
      },
      say(input, v) {
        input.setAttribute("aria-valuetext", short(v));
        if (input.nextSibling) input.nextSibling.textContent = short(v);
      },
      shown: true
    };
  }

  class Knob {
    constructor(figure, control) {
      this.name = control.name;
      this.kind = control.kind;
      const id = `probode-play-${figure.id}-${control.name}`;
      if (this.kind === "button") {
        this.input = element("button", {type: "button", id});
        this.input.onclick = () => figure.change(this.name, true);
        this.element = element("div", {class: "knob press"}, this.input);
        return;
      }
      const kind = kinds[this.kind];
      this.input = kind.make();
      this.input.id = id;
      this.label = element("label", {for: id});
      this.element = element("div", {class: "knob " + this.kind}, this.label, this.input);
      if (kind.shown) this.element.append(element("output", {for: id}));
      if (this.kind === "text") {
        this.problems = element("ul", {class: "problems", id: id + "-problems", "aria-live": "polite"});
        this.input.setAttribute("aria-describedby", this.problems.id);
        this.element.append(this.problems);
      }
      this.input.oninput = () => {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => {
          const v = kind.read(this.input, this.control);
          if (v !== undefined) figure.change(this.name, v);
        }, kind.pause || 0);
      };
    }

    // The reader's own change is not overwritten while the answer to it is under way.
    update(control, busy) {
      const before = this.control;
      this.control = control;
      if (this.kind === "button") {
        this.input.textContent = control.label;
        return;
      }
      this.label.textContent = control.label;
      const own = document.activeElement === this.input && (busy || ["text", "integer"].includes(this.kind));
      if (!before || (!own && JSON.stringify(before) !== JSON.stringify(control)) ||
        (this.kind === "text" && before.value !== control.value && !busy && document.activeElement !== this.input)) {
        kinds[this.kind].put(this.input, control);
      }
    }

    // Each problem is a button that leads to its place in the text.
    complain(problems) {
      this.input.setAttribute("aria-invalid", problems.length > 0);
      const now = JSON.stringify(problems);
      if (this.problems.dataset.now === now) return;
      this.problems.dataset.now = now;
      this.problems.replaceChildren(...problems.map((p) => {
        const where = p.line ? `line ${p.line}${p.column ? ", column " + p.column : ""}: ` : "";
        const b = element("button", {type: "button", text: where + p.text});
        b.onclick = () => {
          const lines = this.input.value.split("\n"), at = Math.max(0, (p.line || 1) - 1);
          const start = lines.slice(0, at).reduce((n, l) => n + l.length + 1, 0);
          this.input.focus();
          this.input.setSelectionRange(start + Math.max(0, (p.column || 1) - 1), start + (lines[at] || "").length);
        };
        return element("li", {}, b);
      }));
    }
  }

  // ---- charts ------------------------------------------------------------------------

  function theme(isDark) {
    const [ink, pale, faint] = isDark ? ["#dddddd", "#9a9a9a", "#3a3a3a"] : ["#222222", "#707070", "#e4e4e4"];
    const axis = {
      axisLine: {onZero: false, lineStyle: {color: pale}}, axisTick: {lineStyle: {color: pale}},
      axisLabel: {color: ink}, nameTextStyle: {color: ink}, splitLine: {lineStyle: {color: faint}}
    };
    return {
      textStyle: {fontFamily: "Arial, Liberation Sans, sans-serif", color: ink}, backgroundColor: "transparent",
      tooltip: {backgroundColor: isDark ? "#2a2a2a" : "#ffffff", borderColor: pale, textStyle: {color: ink}},
      valueAxis: {...axis, axisLabel: {color: ink, hideOverlap: true}}, logAxis: axis,
      colours: {ink, pale: isDark ? "#6a6a6a" : "#b8b8b8"}, isDark
    };
  }

  // Whether ECharts has a tick at a limit of an axis without it being the limit: the labels of
  // other limits would be close to those of ticks.
  function isTick(v, {min, max, log}) {
    const raw = (max - min) / 5, unit = 10 ** Math.floor(Math.log10(raw)), n = raw / unit;
    const step = unit * (n < 1.5 ? 1 : n < 2.5 ? 2 : n < 4 ? 3 : n < 7 ? 5 : 10);
    return log || Math.abs(v / step - Math.round(v / step)) < 1e-6;
  }

  // The options of ECharts for a chart of the program, in which some colours have names.
  function options({x, y, series}, {colours, isDark}) {
    const axis = (a) => ({
      type: a.log ? "log" : "value", name: a.name, nameLocation: "middle", nameGap: 28, min: a.min, max: a.max,
      axisLabel: {showMinLabel: isTick(a.min, a), showMaxLabel: isTick(a.max, a)}
    });
    const all = (series || []).map((s) => {
      const color = colours[s.colour] || (isDark ? viz.atNight(s.colour) : s.colour);
      return {
        type: s.size ? "scatter" : "line", name: s.name, data: pairs(s.data, x, y), color, silent: true,
        symbolSize: s.size, showSymbol: false, areaStyle: s.filled ? {opacity: 0.2} : undefined,
        lineStyle: {color, width: s.width, type: s.dashed ? "dashed" : "solid", opacity: Math.min(1, (isDark ? 2 : 1) * (s.opacity || 1))}
      };
    });
    // ECharts rounds the ends of a logarithmic axis to the digits of the extreme data.
    if (x.log || y.log) all.push({type: "scatter", data: [[x.min, y.min], [x.max, y.max]], symbolSize: 0, silent: true});
    return {
      animation: false, legend: {show: false}, series: all, xAxis: axis(x),
      yAxis: {...axis(y), nameLocation: "end", nameGap: 10, nameTextStyle: {align: "left"}}, // labels have room
      grid: {left: 8, right: 16, top: 24, bottom: 32, containLabel: true}
    };
  }

  // The data of a series, which come as pairs of numbers of 32 bits. ECharts cannot draw
  // points well that are far outside of a linear axis, or outside of a logarithmic one.
  function pairs(data, ...axes) {
    const all = new Float32Array(bytes(data).buffer), rows = [];
    const near = ({min, max, log}, v) => Math.min(Math.max(v, log ? min : 2 * min - max), log ? max : 2 * max - min);
    for (let i = 0; i < all.length; i += 2) {
      const row = axes.map((axis, k) => near(axis, all[i + k]));
      rows.push(isNaN(row[0] + row[1]) ? null : row);
    }
    return rows;
  }

  class Chart {
    constructor() {
      this.title = element("figcaption");
      this.host = element("div", {role: "img"});
      this.names = element("div", {class: "names", role: "group", "aria-label": "Shown in the chart"});
      this.element = element("figure", {}, this.title, this.names, this.host);
      this.sized = new ResizeObserver(() => { if (this.chart && this.host.clientWidth) this.chart.resize(); });
      this.sized.observe(this.host);
    }

    draw(echarts, chart, colours) {
      const now = JSON.stringify(chart);
      if (now === this.drawn || !this.element.clientWidth) return;
      this.drawn = now;
      this.title.textContent = chart.title || "";
      this.host.setAttribute("aria-label", chart.title || "chart");
      const height = (this.element.clientWidth < 500 ? Math.min(chart.height, 250) : chart.height) + "px";
      if (this.host.style.height !== height) this.host.style.height = height;
      if (!this.chart) {
        this.chart = echarts.init(this.host, colours);
        this.state = viz.watch(this.chart);
      }
      const option = options(chart, colours);
      viz.equip(option, this.state);
      this.legend(option.series);
      const series = JSON.stringify(option.series.map((s) => [s.type, s.name]));
      this.chart.setOption(option, series === this.series ? {} : {replaceMerge: ["series"]});
      this.series = series;
    }

    // A legend of ECharts would be cut off where there is little room. Here each name is a
    // button that hides or shows its series.
    legend(series) {
      const colours = new Map(series.filter((s) => s.name).map((s) => [s.name, s.color]));
      const now = JSON.stringify([...colours]);
      if (this.named === now) return;
      this.named = now;
      this.names.replaceChildren(...[...colours].map(([name, colour]) => {
        const b = element("button", {type: "button", "aria-pressed": String(this.state.selected[name] !== false)}, element("i"), name);
        b.firstChild.style.background = colour;
        b.onclick = () => {
          this.chart.dispatchAction({type: "legendToggleSelect", name});
          b.setAttribute("aria-pressed", String(this.state.selected[name] !== false));
        };
        return b;
      }));
    }

    clear() {
      this.named = this.drawn = undefined;
      if (this.chart) this.chart.dispose();
      this.chart = this.series = undefined;
    }

    remove() {
      this.clear();
      this.sized.disconnect();
      this.element.remove();
    }
  }

  // ---- figures -----------------------------------------------------------------------

  let count = 0;

  class Figure {
    constructor(box) {
      this.box = box;
      this.id = ++count;
      this.name = box.getAttribute("data-play");
      this.values = JSON.parse(box.getAttribute("data-values")) || {};
      this.first = Object.keys(this.values); // the knobs and charts that are not behind “more”, or none: all
      this.named = (box.getAttribute("data-charts") || "").split(" ").filter(Boolean);
      this.changes = {}; // not yet sent
      this.busy = false; // a question about values is not answered yet
      this.knobs = new Map();
      this.charts = new Map();
    }

    // The parts of the page. They are hidden until there is a first view.
    build() {
      const form = (label) => {
        const f = element("form", {class: "knobs", "aria-label": label});
        f.onsubmit = (e) => e.preventDefault();
        return f;
      };
      this.try = element("p", {class: "try"});
      this.form = form("Settings of this figure");
      this.others = form("More settings of this figure");
      this.top = element("div", {class: "top"});
      this.below = element("div", {class: "charts"});
      this.more = element("details", {}, element("summary", {text: "More"}), this.others, this.below);
      this.more.ontoggle = () => this.draw();
      this.error = element("p", {class: "error", role: "alert"});
      this.pictures = element("div", {class: "charts"});
      this.says = element("ul", {class: "says", "aria-live": "polite"});
      this.progress = element("progress", {max: 1, "aria-label": "Progress"});
      this.files = element("span");
      this.copy = element("button", {type: "button", text: "Copy link", hidden: inJupyter});
      this.copy.onclick = () => this.copyLink();
      this.stage = element("div", {class: "stage"}, this.form, this.error, this.top);
      this.root = element("div", {class: "probode-play", hidden: true, "data-lm-suppress-shortcuts": "true"}, this.try, this.stage,
        this.pictures, this.says, this.more, element("div", {class: "below"}, this.progress, this.files, this.copy));
      // A notebook that hears of a key moves the focus to its active cell.
      for (const key of ["keydown", "keypress", "keyup"]) this.root.addEventListener(key, (e) => e.stopPropagation());
      this.box.append(this.root);
    }

    async open() {
      const coming = element("p", {class: "coming", text: "The live figure is being built. It will appear here by itself; until then this is a recording."});
      absent.then(() => { if (!this.program) this.box.prepend(coming); });
      try {
        this.program = await load();
      } catch (e) {
        console.info("figure stays as recorded:", e);
        return;
      } finally {
        coming.remove();
      }
      if (!this.root) this.build();
      if (!desk.worker) desk.start(this.program);
      desk.figures.set(this.id, this);
      Object.assign(this.values, this.changes);
      this.changes = {};
      this.opened = this.busy = true;
      desk.ask(this, {do: "open", figure: this.name, values: this.values});
    }

    close() {
      desk.ask(this, {do: "close"});
      desk.figures.delete(this.id);
      this.opened = false;
      this.charts.forEach((c) => c.remove());
      this.charts.clear();
    }

    change(name, value) {
      this.changeAll({[name]: value});
    }

    changeAll(values) {
      for (const [name, value] of Object.entries(values)) {
        if (!this.knobs.get(name) || this.knobs.get(name).kind !== "button") this.values[name] = value;
        this.changes[name] = value;
      }
      this.send();
      remember(this);
    }

    // One question about values is under way at a time, so that a slider that is dragged
    // is followed as fast as the answers come.
    send() {
      if (this.busy || !Object.keys(this.changes).length) return;
      if (!this.opened) { this.open(); return; }
      this.busy = true;
      desk.ask(this, {do: "set", values: this.changes});
      this.changes = {};
    }

    stuck() {
      this.opened = this.busy = false;
      this.alert(`There was no answer for ${PATIENCE / 1000} s, and the computation was ended. Change a setting to begin again.`);
      this.progress.hidden = true;
    }

    alert(text) {
      if (this.error.textContent !== text) this.error.textContent = text;
    }

    reveal() {
      this.box.replaceChildren(this.root);
      this.root.hidden = false;
    }

    answered(answer) {
      if (answer.content !== undefined) return save(answer);
      if (answer.controls) this.busy = false;
      if (answer.try) this.try.textContent = "Try this: " + answer.try;
      if (answer.error) {
        this.busy = false;
        this.alert(answer.error);
        this.send();
        return;
      }
      if (!answer.view) return;
      // A recording stays until more than guide lines can be drawn.
      const begun = answer.view.done || (answer.view.charts || []).slice(0, 1).some((c) => c.series.some((s) => s.data.length > 100));
      if (this.root.hidden && begun) this.reveal();
      this.alert("");
      if (answer.controls) this.offer(answer.controls);
      this.view = answer.view;
      // The next part is computed while this one is drawn. Values that the reader has
      // changed meanwhile come first: they stop the old work.
      this.send();
      this.go();
      if (!this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this.draw(); });
    }

    // A figure that is not near the window waits.
    go() {
      this.going = this.opened && this.near && !this.busy && !this.view.done;
      if (this.going) desk.ask(this, {do: "advance", budget: 20});
    }

    offer(controls) {
      const names = new Set(controls.map((c) => c.name));
      const busy = Object.keys(this.changes).length > 0;
      this.knobs.forEach((k, name) => {
        if (!names.has(name)) { k.element.remove(); this.knobs.delete(name); }
      });
      for (const c of controls) {
        let k = this.knobs.get(c.name);
        if (k && k.kind !== c.kind) { k.element.remove(); k = undefined; }
        if (!k) this.knobs.set(c.name, k = new Knob(this, c));
        k.update(c, busy);
        if (c.kind !== "button" && !(c.name in this.changes)) this.values[c.name] = c.value;
      }
      Object.keys(this.values).forEach((name) => { if (!names.has(name)) delete this.values[name]; });
      const isFirst = (c) => !this.first.length || this.first.includes(c.name), parts = (list) => list.map((c) => this.knobs.get(c.name).element);
      arrange(this.form, parts(controls.filter(isFirst)));
      arrange(this.others, parts(controls.filter((c) => !isFirst(c))));
    }

    draw() {
      const {says, progress, done, problems, files} = this.view, charts = this.view.charts || [];
      if (this.root.clientWidth === 0) { this.undrawn = true; return; }
      this.undrawn = false;
      const isDark = viz.dark(this.box), ids = new Set(charts.map((c) => c.id));
      if (isDark !== this.dark) {
        this.dark = isDark;
        this.root.classList.toggle("dark", isDark);
        this.charts.forEach((c) => c.clear());
        this.theme = theme(isDark);
      }
      this.charts.forEach((c, id) => { if (!ids.has(id)) { c.remove(); this.charts.delete(id); } });
      for (const c of charts) if (!this.charts.has(c.id)) this.charts.set(c.id, new Chart());
      const isNamed = (c) => !this.named.length || this.named.includes(c.id), parts = (list) => list.map((c) => this.charts.get(c.id).element);
      const shown = parts(charts.filter(isNamed));
      arrange(this.top, shown.slice(0, 1));
      arrange(this.pictures, shown.slice(1));
      arrange(this.below, parts(charts.filter((c) => !isNamed(c))));
      this.more.hidden = !this.others.firstChild && !this.below.firstChild;
      charts.forEach((c) => this.charts.get(c.id).draw(this.program.echarts, c, this.theme));
      this.progress.hidden = done;
      this.progress.value = progress || 0;
      this.knobs.forEach((k) => { if (k.problems) k.complain(problems || []); });
      this.offerFiles(files || []);
      this.speak(says || []);
    }

    // The words follow at most twice a second, so that they can be read, and read out.
    speak(says) {
      this.words = says;
      if (this.speaking) return;
      const lines = [...this.says.children];
      says.forEach((s, i) => {
        if (!lines[i]) this.says.append(element("li", {text: s}));
        else if (lines[i].textContent !== s) lines[i].textContent = s;
      });
      lines.slice(says.length).forEach((l) => l.remove());
      this.speaking = setTimeout(() => {
        this.speaking = 0;
        if (this.words !== says) this.speak(this.words);
      }, 500);
    }

    offerFiles(files) {
      const now = JSON.stringify(files);
      if (this.files.dataset.now === now) return;
      this.files.dataset.now = now;
      this.files.replaceChildren(...files.map((f) => {
        const b = element("button", {type: "button", text: "Download " + f.name});
        b.onclick = () => desk.ask(this, {do: "file", name: f.name});
        return b;
      }));
    }

    async copyLink() {
      const url = await link(this);
      history.replaceState(null, "", url);
      try {
        await navigator.clipboard.writeText(location.href);
        this.copy.textContent = "Copied";
        setTimeout(() => { this.copy.textContent = "Copy link"; }, 2000);
      } catch (e) {
        prompt("The link to this figure:", location.href);
      }
    }
  }

  function save(answer) {
    const url = URL.createObjectURL(new Blob([answer.content], {type: answer.type || "text/plain"}));
    element("a", {href: url, download: answer.name}).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  }

  // ---- the link ----------------------------------------------------------------------

  // The fragment of the address holds the name of a figure and the values of its knobs.
  async function link(figure) {
    const text = JSON.stringify({figure: figure.name, values: figure.values});
    const packed = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
    const all = new Uint8Array(await new Response(packed).arrayBuffer());
    const code = btoa(Array.from(all, (b) => String.fromCharCode(b)).join(""));
    return "#play=" + code.replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  }

  let remembering;
  function remember(figure) {
    if (inJupyter) return;
    clearTimeout(remembering);
    remembering = setTimeout(async () => history.replaceState(null, "", await link(figure)), 400);
  }

  // A short link could be inflated to gigabytes.
  async function limited(stream) {
    const most = 1 << 22, reader = stream.getReader(), decoder = new TextDecoder();
    let text = "", size = 0;
    for (;;) {
      const {done, value} = await reader.read();
      if (done) return text + decoder.decode();
      if ((size += value.length) > most) {
        reader.cancel().catch(() => {});
        throw new Error("its values are longer than " + most + " bytes");
      }
      text += decoder.decode(value, {stream: true});
    }
  }

  async function recall() {
    const m = /^#play=([\w-]+)$/.exec(location.hash);
    if (!m || inJupyter) return;
    try {
      const packed = bytes(m[1].replace(/-/g, "+").replace(/_/g, "/"));
      const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
      const {figure: name, values} = JSON.parse(await limited(plain));
      const figure = figures.find((f) => f.name === name);
      if (!figure) return;
      figure.values = {...figure.values, ...values};
      figure.box.scrollIntoView();
      figure.open();
    } catch (e) {
      console.info("the link holds no figure:", e);
    }
  }

  // ---- the page ----------------------------------------------------------------------

  // A figure begins when it comes near the window. One whose output has been removed from
  // a notebook is closed.
  const figures = [];
  const near = new IntersectionObserver((entries) => {
    for (const e of entries) {
      const figure = figures.find((f) => f.box === e.target);
      figure.near = e.isIntersecting;
      if (figure.near && !figure.opened && !figure.starting) {
        figure.starting = true;
        figure.open().then(() => { figure.starting = false; });
      } else if (figure.near && figure.view) {
        if (figure.undrawn) figure.draw();
        if (!figure.going) figure.go();
      } else if (figure.opened && !figure.box.isConnected) {
        figure.close();
      }
    }
  }, {rootMargin: "300px"});

  // A notebook may run a script before the output of its cell is part of the page, so the
  // figures are looked for a while.
  function look(times = 50) {
    document.querySelectorAll("[data-play]:not([data-playing])").forEach((box) => {
      box.setAttribute("data-playing", "");
      const figure = new Figure(box);
      figures.push(figure);
      near.observe(box);
    });
    if (times > 0) setTimeout(look, 100, times - 1);
  }

  function redraw() {
    figures.forEach((f) => { if (f.view && f.opened) f.draw(); });
  }

  // A link such as #paths?h=0.05 moves knobs of the figure with this name.
  function follow(event) {
    const link = event.target.closest && event.target.closest("a[href^='#']");
    const m = link && /^#(\w+)\?(.+)$/.exec(link.getAttribute("href"));
    const figure = m && figures.find((f) => f.name === m[1] && f.box.isConnected);
    if (!figure) return;
    event.preventDefault();
    event.stopPropagation();
    const value = (text) => text === "true" || (text !== "false" && (isNaN(text) ? text : Number(text)));
    figure.changeAll(Object.fromEntries([...new URLSearchParams(m[2])].map(([name, text]) => [name, value(text)])));
    (figure.stage || figure.box).scrollIntoView({block: "nearest", behavior: "smooth"});
  }

  document.head.append(element("style", {text: styles}));
  viz.themed(redraw);
  window.addEventListener("hashchange", recall);
  document.addEventListener("click", follow, true);
  window.probodePlay = {look, figures, desk};
  look();
  recall();
})();
