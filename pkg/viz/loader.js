(function () {
  "use strict";
  if (window.probodeViz && window.probodeViz.dark) return;
  var cdn = "https://cdn.jsdelivr.net/npm/echarts@5.6.0/dist/echarts.min.js";
  // The hash of that file: another one, whoever put it there, is not run.
  var hash = "sha384-pPi0zxBAoDu6+JXW/C68UZLvBUUtU+7zonhif43rqj7pxsGyqyqzcian2Rj37Rss";
  var pending;

  function usable(e) { return e && e.init && parseInt(e.version, 10) >= 5; }

  // The address of a local file that a page or notebook names; a bare path starts at
  // Jupyter's root.
  function address(local) {
    if (/^([a-z]+:|\/|\.)/i.test(local)) return local;
    var config = document.getElementById("jupyter-config-data");
    var base = document.body.getAttribute("data-base-url");
    if (config) { try { base = JSON.parse(config.textContent).baseUrl || base; } catch (e) { } }
    return base ? base.replace(/\/?$/, "/") + "files/" + local : local;
  }

  // The copies of ECharts to try, in this order.
  function copies() {
    return window.probodeECharts ? [address(window.probodeECharts), cdn] : [cdn];
  }

  function add(url) {
    return new Promise(function (done, fail) {
      var s = document.createElement("script");
      s.src = url;
      if (url === cdn) { s.integrity = hash; s.crossOrigin = "anonymous"; }
      s.onload = done;
      s.onerror = function () { fail(new Error("there is no " + url)); };
      document.head.appendChild(s);
    });
  }

  function fetchFrom(url) {
    return new Promise(function (done, fail) {
      function check(e) { if (usable(e)) done(e); else fail(new Error("no ECharts at " + url)); }
      if (typeof window.requirejs === "function" && url === cdn) {
        // RequireJS compares no hashes. Without define the file makes window.echarts.
        fetch(url, { integrity: hash }).then(function (r) { return r.text(); }).then(function (code) {
          var text = "(function (define, exports, module) {" + code + "\n}).call(window);";
          return add(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
        }).then(function () { check(window.echarts); }).catch(fail);
        return;
      }
      if (typeof window.requirejs === "function") {
        window.requirejs([url], check, fail);
        return;
      }
      add(url).then(function () { check(window.echarts); }).catch(fail);
    });
  }

  // All figures of a page share one load.
  function load() {
    if (usable(window.echarts)) return Promise.resolve(window.echarts);
    if (!pending) {
      pending = copies().reduce(function (p, url) {
        return p.catch(function () { return fetchFrom(url); });
      }, Promise.reject());
      pending.catch(function () { pending = undefined; });
    }
    return pending;
  }

  function num(v) {
    if (v === null || v === undefined || v !== v) return "–";
    return String(Number(Number(v).toPrecision(4)));
  }
  function tick(v) { return String(Number(Number(v).toPrecision(8))); }
  function power(v) {
    // ECharts may round the end of an axis to zero.
    if (!(v > 0)) return "";
    var e = Math.floor(Math.log10(v) + 1e-9), m = v / Math.pow(10, e);
    if (Math.abs(e) <= 3) return tick(v);
    var s = String(e).replace(/./g, function (c) { return c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[+c]; });
    m = Number(m.toPrecision(3));
    return (m === 1 ? "" : m + "·") + "10" + s;
  }
  function text(s) {
    return String(s).replace(/[&<>"]/g, function (c) { return "&#" + c.charCodeAt(0) + ";"; });
  }

  // The area between two curves: one polygon for each run without a gap, made
  // when ECharts asks for the first item.
  function band(data, color) {
    return function (params, api) {
      if (params.dataIndex !== 0) return null;
      var areas = [], run = [];
      function close() {
        if (run.length > 1) {
          var points = run.map(function (d) { return api.coord([d[0], d[1]]); });
          run.slice().reverse().forEach(function (d) { points.push(api.coord([d[0], d[2]])); });
          areas.push({ type: "polygon", shape: { points: points }, style: { fill: color } });
        }
        run = [];
      }
      data.forEach(function (d) {
        if (!d || d[0] === null || d[1] === null || d[2] === null) close(); else run.push(d);
      });
      close();
      return { type: "group", children: areas };
    };
  }

  // The value, or the two of a band, of a curve at x, between its vertices; null
  // where it has none.
  function valueAt(data, x, log) {
    for (var i = 0; i + 1 < data.length; i++) {
      var a = data[i], b = data[i + 1];
      if (!a || !b || a[0] === null || b[0] === null || (a[0] - x) * (b[0] - x) > 0) continue;
      var f = b[0] === a[0] ? 0 : (x - a[0]) / (b[0] - a[0]);
      return a.slice(1).map(function (v, k) {
        var w = b[k + 1];
        if (v === null || w === null) return null;
        return log ? v * Math.pow(w / v, f) : v + f * (w - v);
      });
    }
    return null;
  }

  function dot(color) {
    return '<span style="display:inline-block;margin-right:4px;border-radius:10px;width:10px;height:10px;background:' + color + '"></span>';
  }

  // What the reader has chosen in a chart: the frame of its slider, and the names that the
  // legend shows.
  function watch(chart) {
    var state = { selected: {} };
    chart.on("timelinechanged", function (e) { state.frame = e.currentIndex; });
    chart.on("legendselectchanged", function (e) { state.selected = e.selected; });
    chart.on("restore", function () { state.selected = {}; state.frame = undefined; });
    return state;
  }

  // Adds to an option the functions that JSON cannot hold. ECharts' own tooltip
  // shows only the curve that has a vertex nearest to the pointer; this one
  // shows all curves of the panel.
  function equip(option, state) {
    var base = option.baseOption || option, frames = option.options || [option];
    var axes = [].concat(base.xAxis || []), heights = [].concat(base.yAxis || []);
    frames.forEach(function (o) {
      o.series.forEach(function (s) {
        if (s.renderItem === "band") s.renderItem = band(s.data, s.itemStyle.color);
      });
    });
    axes.concat(heights).forEach(function (a) {
      if (a.type === "category") return;
      a.axisLabel = a.axisLabel || {};
      a.axisLabel.formatter = a.type === "log" ? power : tick;
    });
    if (!base.tooltip) return option;
    base.tooltip.confine = true;
    base.tooltip.formatter = function (params) {
      if (!Array.isArray(params)) {
        return params.marker + text(params.seriesName) + "&ensp;<b>(" + num(params.value[0]) + ", " + num(params.value[1]) + ")</b>";
      }
      if (!params.length) return "";
      var grid = params[0].axisIndex || 0, x = params[0].axisValue;
      var rows = [text(axes[grid].name || "x") + " = " + num(x)];
      var frame = state.frame === undefined && base.timeline ? base.timeline.currentIndex : state.frame || 0;
      frames[frame].series.forEach(function (s) {
        if ((s.xAxisIndex || 0) !== grid || s.tooltip || !s.name || state.selected[s.name] === false) return;
        var v = valueAt(s.data, x, heights[grid].type === "log");
        if (v) rows.push(dot(s.color || s.itemStyle.color) + text(s.name) + "&ensp;<b>" + v.map(num).join(" to ") + "</b>");
      });
      return rows.join("<br>");
    };
    return option;
  }

  // The option with the layout for a phone, and with the same series.
  function onPhone(option) {
    var base = Object.assign({}, option.baseOption || option, option.phone.layout);
    if (!option.options) return base;
    return { baseOption: base, options: option.options.map(function (o, i) {
      return { title: option.phone.titles[i], series: o.series };
    }) };
  }

  // Whether an element is on a dark ground: then its text is light.
  function dark(e) {
    var c = getComputedStyle(e).color.match(/[\d.]+/g);
    return +c[0] + +c[1] + +c[2] > 3 * 128;
  }

  // Calls f when the ground of the page may have changed.
  function themed(f) {
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", f);
    new MutationObserver(f).observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
  }

  // The colours of package viz on a dark ground, where others are used as they are, and a
  // ring, which ECharts would fill with white.
  var night = {
    "#ffffff": "transparent", "#000000": "#dddddd", "#222222": "#dddddd", "#555555": "#9a9a9a", "#707070": "#9a9a9a",
    "#e6e6e6": "#3a3a3a", "#0072b2": "#4da9e6", "#d55e00": "#ff8a3d", "#009e73": "#3fcf9f",
    emptyCircle: "path://M0 5a5 5 0 1 1 10 0a5 5 0 1 1 -10 0zM1.6 5a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0 -6.8 0z"
  };
  function atNight(colour) {
    var c = /^rgba\((\d+),(\d+),(\d+),(.*)\)$/.exec(colour);
    if (!c) return night[colour] || colour;
    var hex = "#" + c.slice(1, 4).map(function (v) { return (256 + +v).toString(16).slice(1); }).join("");
    return (night[hex] || hex) + Math.min(511, 256 + Math.round(1.25 * 255 * c[4])).toString(16).slice(1);
  }

  // A copy of an option, in other colours on a dark ground. The lists of points, which are
  // lists of lists, are the same.
  function shaded(v, isDark) {
    if (typeof v === "string") return isDark ? atNight(v) : v;
    if (v === null || typeof v !== "object" || (Array.isArray(v) && Array.isArray(v[0]))) return v;
    if (Array.isArray(v)) return v.map(function (w) { return shaded(w, isDark); });
    var copy = {};
    Object.keys(v).forEach(function (k) { copy[k] = shaded(v[k], isDark); });
    return copy;
  }

  // A chart is laid out in pixels, for a large screen and for a phone. Where there is less
  // room than the layout takes, the chart is shown smaller, as its picture is.
  function draw(echarts, box, option) {
    var picture = box.querySelector("img"), chart, shown, state;
    var frame = document.createElement("div"), host = document.createElement("div");
    var large = { width: +box.getAttribute("data-width"), height: +box.getAttribute("data-height"), option: option };
    var small = { width: option.phone.width, height: option.phone.height, option: onPhone(option) };
    delete option.phone;
    function paint() {
      if (!box.isConnected) return;
      var isDark = dark(box.parentElement);
      box.style.background = isDark ? "none" : "#fff";
      chart.setOption(equip(shaded(shown.option, isDark), state), true);
    }
    function fit() {
      var room = box.clientWidth || large.width;
      var layout = room < 0.6 * large.width ? small : large;
      var share = Math.min(layout === small ? 1.25 : 1, room / layout.width);
      frame.style.width = share * layout.width + "px";
      frame.style.height = share * layout.height + "px";
      host.style.width = layout.width + "px";
      host.style.height = layout.height + "px";
      host.style.transform = share === 1 ? "" : "scale(" + share + ")";
      var other = layout !== shown;
      shown = layout;
      if (chart && other) {
        chart.resize();
        paint();
      }
      return share;
    }
    frame.style.overflow = "hidden";
    host.style.transformOrigin = "0 0";
    picture.style.display = "none";
    frame.appendChild(host);
    box.appendChild(frame);
    try {
      var share = fit();
      chart = echarts.init(host, null, { devicePixelRatio: (window.devicePixelRatio || 1) * share });
      state = watch(chart);
      paint();
      themed(paint);
      if (window.ResizeObserver) new ResizeObserver(fit).observe(box);
    } catch (e) {
      if (chart) chart.dispose();
      box.removeChild(frame);
      box.style.background = "#fff";
      picture.style.display = "";
      console.warn("figure stays static:", e);
    }
  }

  // The reverse of pack in pack.go: columns of differences become lists of points.
  function unpack(v) {
    if (v === null || typeof v !== "object") return v;
    if (Array.isArray(v)) return v.map(unpack);
    if (!v.$) {
      Object.keys(v).forEach(function (k) { v[k] = unpack(v[k]); });
      return v;
    }
    var m = v.$[0], unit = Math.pow(10, v.$[1]), n = (v.$.length - 2) / m, rows = [];
    for (var i = 0; i < n; i++) rows.push([]);
    for (var j = 0, at = 2; j < m; j++) {
      for (var sum = 0, i = 0; i < n; i++, at++) {
        if (v.$[at] === 0.5) { rows[i].push(null); continue; }
        sum += v.$[at];
        rows[i].push(sum / unit);
      }
    }
    return rows;
  }
  function unzip(text) {
    var bytes = Uint8Array.from(atob(text), function (c) { return c.charCodeAt(0); });
    var plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new Response(plain).text();
  }

  // show turns the pictures with this id into charts. A notebook may run the
  // script before its output is part of the page, so it looks again for a while.
  function show(id, packed) {
    Promise.all([load(), unzip(packed)]).then(function (ready) {
      var tries = 0;
      (function look() {
        var boxes = document.querySelectorAll('[data-probode="' + id + '"]:not([data-drawn])');
        if (!boxes.length && tries++ < 50) { setTimeout(look, 100); return; }
        boxes.forEach(function (box) {
          box.setAttribute("data-drawn", "");
          draw(ready[0], box, unpack(JSON.parse(ready[1])));
        });
      })();
    }).catch(function () { /* no ECharts, or an old browser: the pictures stay */ });
  }

  // play begins the live figures of the page, whose script is at this place.
  function play(script) {
    if (window.probodePlay) window.probodePlay.look();
    else add(address(window.probodePlayground || script)).catch(function () { /* the recordings stay */ });
  }

  window.probodeViz = { show: show, load: load, watch: watch, equip: equip, dark: dark, themed: themed, atNight: atNight, play: play };
})();
