// Which method for a problem like mine: the answers of the page to what is asked in
// the form #ask, from the table in #data. Nothing is loaded.
(function () {
  "use strict";
  var form = document.getElementById("ask");
  var data = { cells: csv("summary.csv"), answers: csv("answers.csv"), levels: [0.5, 0.68, 0.9, 0.95] };
  var methods = data.cells.map(function (c) { return c.method; }).filter(function (m, i, all) { return all.indexOf(m) === i; });
  var palette = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b", "#000000", "#7f3fbf", "#a0a000", "#dc143c", "#aa3377", "#117733", "#882255", "#44aa99", "#999933", "#661100"];
  var hidden = {};
  var tip = document.getElementById("tip");

  // The rows of a table: numbers where a cell holds one, null for one that is missing.
  function csv(id) {
    var lines = document.getElementById(id).textContent.trim().split("\n").map(function (line) {
      return line.match(/("([^"]|"")*"|[^,]*)(,|$)/g).slice(0, line.endsWith(",") ? undefined : -1).map(function (cell) {
        cell = cell.replace(/,$/, "").replace(/^"([\s\S]*)"$/, "$1").replace(/""/g, '"');
        if (cell === "" || cell === "NaN") return null;
        if (cell === "+Inf") return 1e9; // a stated sd of zero makes a mean square infinite
        return isNaN(cell) ? cell : Number(cell);
      });
    });
    return lines.slice(1).map(function (line) {
      var row = {};
      lines[0].forEach(function (name, i) { row[name] = line[i]; });
      return row;
    });
  }
  function colour(m) { return palette[methods.indexOf(m) % palette.length]; }
  function el(name, attributes, parent, text) {
    var svg = ["svg", "g", "path", "circle", "line", "text", "rect"].indexOf(name) >= 0;
    var e = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (var k in attributes) e.setAttribute(k, attributes[k]);
    if (text !== undefined) e.textContent = text;
    if (parent) parent.appendChild(e);
    return e;
  }
  function number(v) {
    if (v === null || v === undefined || v !== v) return "–";
    if (v !== 0 && (Math.abs(v) < 1e-3 || Math.abs(v) >= 1e5)) {
      var e = Math.floor(Math.log10(Math.abs(v)) + 1e-9);
      var m = (v / Math.pow(10, e)).toPrecision(2).replace(/\.0$/, "");
      return (m === "1" ? "" : m + "·") + "10" + String(e).replace(/./g, function (c) { return c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[+c]; });
    }
    return String(Number(Number(v).toPrecision(3)));
  }
  function mean(x) { return x.reduce(function (a, b) { return a + b; }, 0) / x.length; }
  function geometric(x) { return Math.exp(mean(x.map(function (v) { return Math.log(Math.min(Math.max(v, 1e-3), 1e3)); }))); }
  function percent(v) { return Math.round(100 * v) + " %"; }

  // What a solve costs, as it is asked for: milliseconds, or evaluations of f with
  // a Jacobian counted as as many as there are components.
  function cost(c) {
    if (form.cost.value === "time") return c.seconds === null ? null : 1e3 * c.seconds;
    return c.error === null ? null : c.evaluations + c.jacobians * c.dimension;
  }
  function costName() { return form.cost.value === "time" ? "time of a solve, ms" : "evaluations of f; d for a Jacobian"; }

  function chosen() {
    var kind = form.kind.value, size = form.dimension.value.split("-").map(Number);
    return data.cells.filter(function (c) {
      return (kind === "" || (kind === "not stiff" ? c.kind !== "stiff" : c.kind === kind)) && c.dimension >= size[0] && c.dimension <= size[1];
    });
  }
  function distinct(cells) {
    var seen = [];
    cells.forEach(function (c) { if (seen.indexOf(c.problem) < 0) seen.push(c.problem); });
    return seen;
  }

  // What a problem counts on which a method does not reach the error, in units of the
  // cheapest that does.
  var missed = 30;

  // The methods in the order of their cost relative to the cheapest on the same
  // problem, as a geometric mean.
  function rank(cells, problems, target) {
    var best = {};
    cells.forEach(function (c) {
      var v = cost(c);
      if (c.error === null || c.error > target || v === null) return;
      var key = c.problem + "|" + c.method;
      if (!best[key] || v < best[key].cost) best[key] = { cost: v, size: c.size };
    });
    return methods.map(function (m) {
      var ratios = [], sizes = [], squares = [], inside = [], near = 0;
      problems.forEach(function (p) {
        var mine = best[p + "|" + m];
        if (!mine) return;
        var least = Math.min.apply(null, methods.map(function (o) { return best[p + "|" + o] ? best[p + "|" + o].cost : Infinity; }));
        ratios.push(mine.cost / least);
        sizes.push(mine.size);
      });
      cells.forEach(function (c) {
        if (c.method !== m || c.mean_square === null) return;
        squares.push(c.mean_square);
        inside.push(c.within_2sd);
        if (c.mean_square > 1 / 9 && c.mean_square < 9) near++;
      });
      return {
        method: m, reached: ratios.length, of: problems.length, slower: ratios.length ? geometric(ratios) : NaN,
        score: geometric(problems.map(function (p, i) { return i < ratios.length ? ratios[i] : Math.max(missed, Math.max.apply(null, ratios.concat(1))); })),
        sizes: sizes, square: squares.length ? geometric(squares) : null, inside: squares.length ? mean(inside) : null, near: squares.length ? near / squares.length : null, judged: squares.length
      };
    }).filter(function (r) { return r.reached > 0; }).sort(function (a, b) {
      // Where a spread is asked for, a method whose spread cannot be had or is mostly wrong comes last.
      if (form.want.value === "spread") {
        var x = a.near !== null && a.near >= 0.8, y = b.near !== null && b.near >= 0.8;
        if (x !== y) return x ? -1 : 1;
      }
      return a.score - b.score;
    });
  }

  function table(header, rows, into) {
    into.textContent = "";
    var t = el("table", {}, into), h = el("tr", {}, el("thead", {}, t)), body = el("tbody", {}, t);
    header.forEach(function (x) { el("th", {}, h, x); });
    rows.forEach(function (r) {
      var line = el("tr", {}, body);
      r.forEach(function (x, k) { el("td", k ? { "class": "n" } : {}, line, x); });
    });
  }

  function paths(cells, problems, target) {
    var ranking = rank(cells, problems, target), say = document.getElementById("answer");
    var names = { path: "a path", spread: "a path with its spread" };
    if (!ranking.length) {
      say.textContent = problems.length ? "None of the methods reached a relative error of " + number(target) + " on such a problem with the steps and tolerances that were tried: ask for less, or take a smaller tolerance." : "No such problem was measured: leave something open.";
      document.getElementById("ranking").textContent = "";
      return;
    }
    var first = ranking[0], second = ranking[1];
    say.textContent = "For " + names[form.want.value] + " to a relative error of " + number(target) + ": " + first.method + ", which reaches it on " + first.reached + " of " + first.of + " such problems (" +
      first.sizes.filter(function (s, i) { return first.sizes.indexOf(s) === i; }).slice(0, 4).join(", ") + ")" +
      (first.square !== null && form.want.value === "spread" ? ", and whose calibrated spread holds " + percent(first.inside) + " of the errors within two standard deviations" : "") + "." +
      (second ? " Next comes " + second.method + (second.reached === first.reached ? ", at " + number(second.slower / first.slower) + " times the cost." : ", which reaches it on " + second.reached + ".") : "") +
      (first.reached < first.of ? " On the others a smaller step or tolerance than those tried is needed." : "");
    table(["method", "reaches it on", "× the cheapest there", "mean square", "within 2 sd", "spread within a factor 3"], ranking.map(function (r) {
      return [r.method, r.reached + " of " + r.of, number(r.slower), r.square === null ? "–" : number(r.square), r.inside === null ? "–" : percent(r.inside), r.near === null ? "–" : percent(r.near) + " of " + r.judged];
    }), document.getElementById("ranking"));
  }

  // Of the posteriors, each remedy at the largest step at which it is right.
  function posteriors() {
    var say = document.getElementById("answer"), into = document.getElementById("ranking");
    var names = [], remedies = [];
    data.answers.forEach(function (a) {
      if (names.indexOf(a.posterior) < 0) names.push(a.posterior);
      if (remedies.indexOf(a.remedy) < 0) remedies.push(a.remedy);
    });
    if (!names.length) {
      say.textContent = "No posteriors were measured in this run.";
      into.textContent = "";
      return;
    }
    function right(a) { return a.status === "ok" && Math.abs(a.bias_in_sd) < 0.1 + 2 * a.bias_se && a.sd_ratio_least > 0.85 && a.sd_ratio_most < 1.15 && !(a.khat >= 0.7) && a.rhat < 1.05; }
    function price(a) { return form.cost.value === "time" ? a.seconds_1000_effective : a.work_1000_effective; }
    var cheapest = {};
    data.answers.forEach(function (a) {
      var key = a.posterior + "|" + a.remedy;
      if (right(a) && (!cheapest[key] || price(a) < price(cheapest[key]))) cheapest[key] = a;
    });
    var list = remedies.map(function (r) {
      var ratios = [], worst = 0, at = "";
      names.forEach(function (p) {
        var mine = cheapest[p + "|" + r];
        if (mine) ratios.push(price(mine) / Math.min.apply(null, remedies.map(function (o) { return cheapest[p + "|" + o] ? price(cheapest[p + "|" + o]) : Infinity; })));
      });
      data.answers.forEach(function (a) { if (a.remedy === r && a.status === "ok" && Math.abs(a.bias_in_sd) > Math.abs(worst)) { worst = a.bias_in_sd; at = a.posterior + ", h = " + number(a.step); } });
      return { remedy: r, reached: ratios.length, slower: ratios.length ? geometric(ratios) : null, worst: worst, at: at };
    }).sort(function (a, b) { return b.reached - a.reached || a.slower - b.slower; });
    say.textContent = "Of " + names.length + " posteriors, solved by AM1 with three steps each, “" + list[0].remedy + "” gives the right one (bias below 0.1 sd and widths within 15 %, to the accuracy of the draws) at some step for " + list[0].reached + ". Noise widens a posterior and leaves its bias: see the table of all below.";
    table(["remedy", "right at some step for", "× the cheapest there", "worst bias, sd", "where"], list.map(function (r) {
      return [r.remedy, r.reached + " of " + names.length, r.slower === null ? "–" : number(r.slower), number(r.worst), r.at];
    }), into);
  }

  // A panel with logarithmic axes. marks: {x, y, colour, text}, lines: {points, colour}.
  function panel(into, title, xLabel, yLabel, lines, marks, options) {
    options = options || {};
    var w = 340, h = 250, l = 58, r = 10, t = 26, b = 40;
    var box = el("div", { "class": "panel" }, into);
    var svg = el("svg", { viewBox: "0 0 " + w + " " + h, role: "img", "aria-label": title + ": " + yLabel + " against " + xLabel }, box);
    el("text", { x: l, y: 16, "class": "title" }, svg, title);
    var xs = marks.map(function (m) { return m.x; }), ys = marks.map(function (m) { return m.y; }).concat(options.rules || []);
    if (!xs.length) { el("text", { x: l, y: h / 2, "class": "axis" }, svg, "nothing that was tried works here"); return; }
    function scale(v, from, to, log, lo, hi) {
      var f = log ? Math.log10 : Number, a = lo !== undefined ? f(lo) : f(Math.min.apply(null, v)), z = hi !== undefined ? f(hi) : f(Math.max.apply(null, v));
      var pad = lo !== undefined ? 0 : 0.06 * (z - a) + (log ? 0.1 : 1e-9);
      a -= pad; z += pad;
      var s = function (x) { return from + (f(x) - a) / (z - a) * (to - from); };
      s.ticks = [];
      if (log) {
        var every = Math.max(1, Math.ceil((z - a) / 5));
        for (var k = Math.ceil(a - 1e-9); k <= z + 1e-9; k += 1) if (k % every === 0) s.ticks.push(Math.pow(10, k));
        if (s.ticks.length < 2) for (var m = Math.floor(a); m <= z; m++) [2, 5].forEach(function (q) { var v = q * Math.pow(10, m); if (Math.log10(v) >= a && Math.log10(v) <= z) s.ticks.push(v); });
      } else for (var q = Math.ceil(a * 5) / 5; q <= z + 1e-9; q += 0.2) s.ticks.push(Number(q.toFixed(2)));
      return s;
    }
    var x = scale(xs, l, w - r, !options.linear, options.xMin, options.xMax), y = scale(ys, h - b, t, !options.linear, options.yMin, options.yMax);
    x.ticks.forEach(function (v) { el("line", { x1: x(v), x2: x(v), y1: t, y2: h - b, "class": "grid" }, svg); el("text", { x: x(v), y: h - b + 14, "class": "axis", "text-anchor": "middle" }, svg, number(v)); });
    y.ticks.forEach(function (v) { el("line", { x1: l, x2: w - r, y1: y(v), y2: y(v), "class": "grid" }, svg); el("text", { x: l - 5, y: y(v) + 4, "class": "axis", "text-anchor": "end" }, svg, number(v)); });
    el("text", { x: (l + w - r) / 2, y: h - 6, "class": "axis", "text-anchor": "middle" }, svg, xLabel);
    el("text", { x: 0, y: 0, "class": "axis", "text-anchor": "middle", transform: "translate(11," + (t + h - b) / 2 + ") rotate(-90)" }, svg, yLabel);
    (options.rules || []).forEach(function (v) { el("line", { x1: l, x2: w - r, y1: y(v), y2: y(v), "class": "rule" }, svg); });
    if (options.linear) el("line", { x1: x(options.xMin), y1: y(options.xMin), x2: x(options.xMax), y2: y(options.xMax), "class": "rule" }, svg);
    lines.forEach(function (n) {
      el("path", { d: n.points.map(function (p, i) { return (i ? "L" : "M") + x(p[0]).toFixed(1) + " " + y(p[1]).toFixed(1); }).join(""), stroke: n.colour, fill: "none", "stroke-width": 1.6 }, svg);
    });
    marks.forEach(function (m) {
      var c = el("circle", { cx: x(m.x).toFixed(1), cy: y(m.y).toFixed(1), r: options.small ? 3 : 4, fill: m.colour, "fill-opacity": options.small ? 0.6 : 1, tabindex: 0, "aria-label": m.text }, svg);
      function show() {
        tip.textContent = m.text;
        tip.style.display = "block";
        var at = c.getBoundingClientRect(), wide = tip.getBoundingClientRect();
        tip.style.left = Math.max(4, Math.min(at.left + 10, document.documentElement.clientWidth - wide.width - 8)) + window.scrollX + "px";
        tip.style.top = at.bottom + 8 + window.scrollY + "px";
      }
      function hide() { tip.style.display = "none"; }
      c.addEventListener("mouseenter", show); c.addEventListener("focus", show);
      c.addEventListener("mouseleave", hide); c.addEventListener("blur", hide);
    });
  }

  function legend(into, names, toggles) {
    into.textContent = "";
    names.forEach(function (n) {
      var b = el("button", { type: "button", "aria-pressed": String(!hidden[n.name]), "class": "key" }, into);
      el("span", { style: "background:" + n.colour }, b);
      b.appendChild(document.createTextNode(n.name));
      if (toggles) b.addEventListener("click", function () { hidden[n.name] = !hidden[n.name]; draw(); });
      else b.disabled = true;
    });
  }

  function work(cells, problems) {
    var into = document.getElementById("work");
    into.textContent = "";
    var there = methods.filter(function (m) { return cells.some(function (c) { return c.method === m && c.error !== null; }); });
    legend(document.getElementById("methods"), there.map(function (m) { return { name: m, colour: colour(m) }; }), true);
    problems.forEach(function (p) {
      var lines = [], marks = [];
      there.forEach(function (m) {
        if (hidden[m]) return;
        var points = cells.filter(function (c) { return c.problem === p && c.method === m && c.error > 0 && cost(c) > 0; });
        lines.push({ colour: colour(m), points: points.map(function (c) { return [cost(c), c.error]; }) });
        points.forEach(function (c) {
          marks.push({ x: cost(c), y: c.error, colour: colour(m), text: m + ", " + c.size + ": error " + number(c.error) + ", " + number(1e3 * c.seconds) + " ms, " + c.evaluations + " evaluations, " + c.jacobians + " Jacobians" +
            (c.mean_square === null ? "" : "; spread: mean square " + number(c.mean_square) + ", α* " + number(c.alpha)) });
        });
      });
      panel(into, p, costName(), "relative error", lines.filter(function (n) { return n.points.length > 1; }), marks);
    });
  }

  function honest(cells) {
    var into = document.getElementById("honest"), rules = [["mean_square", "coverage_", "log score, local errors", "#0072b2"], ["paper_mean_square", "paper_coverage_", "the paper's rule and noise", "#d55e00"]];
    into.textContent = "";
    legend(document.getElementById("rules"), rules.map(function (r) { return { name: r[2], colour: r[3] }; }), false);
    var lines = [], marks = [], scatter = [];
    rules.forEach(function (r) {
      var judged = cells.filter(function (c) { return c[r[0]] !== null && !hidden[c.method]; });
      if (!judged.length) return;
      var points = data.levels.map(function (l) { return [l, mean(judged.map(function (c) { return c[r[1] + Math.round(100 * l)]; }))]; });
      lines.push({ colour: r[3], points: points });
      points.forEach(function (p) { marks.push({ x: p[0], y: p[1], colour: r[3], text: r[2] + ": " + percent(p[1]) + " of the errors are in the " + percent(p[0]) + " interval, " + judged.length + " cells" }); });
      judged.forEach(function (c) {
        if (!(c.error > 0) || !(c[r[0]] > 0)) return;
        scatter.push({ x: c.error, y: Math.min(100, Math.max(0.01, Math.sqrt(c[r[0]]))), colour: r[3], text: c.problem + ", " + c.method + ", " + c.size + ", " + r[2] + ": root mean square " + number(Math.sqrt(c[r[0]])) });
      });
    });
    panel(into, "coverage", "stated", "observed", lines, marks, { linear: true, xMin: 0.4, xMax: 1, yMin: 0.2, yMax: 1 });
    panel(into, "root mean squared standardised error", "relative error of the classical solution", "1 is honest", [], scatter, { small: true, rules: [1, 3, 1 / 3] });
  }

  function draw() {
    var cells = chosen(), problems = distinct(cells);
    document.getElementById("matching").textContent = problems.length + " problems: " + (problems.join(", ") || "none");
    if (form.want.value === "posterior") posteriors();
    else paths(cells, problems, Number(form.error.value));
    work(cells, problems);
    honest(cells);
  }

  form.addEventListener("input", draw);
  form.addEventListener("submit", function (e) { e.preventDefault(); });
  draw();

  // The table of all cells, and the files behind the page.
  document.getElementById("filter").addEventListener("input", function (e) {
    var words = e.target.value.toLowerCase().split(/\s+/);
    document.querySelectorAll("#cells tbody tr").forEach(function (r) {
      var t = r.textContent.toLowerCase();
      r.hidden = !words.every(function (w) { return t.indexOf(w) >= 0; });
    });
  });
  document.querySelectorAll("a[data-csv]").forEach(function (a) {
    a.href = URL.createObjectURL(new Blob([document.getElementById(a.dataset.csv).textContent], { type: "text/csv" }));
  });
})();
