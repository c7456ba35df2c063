// The search over the site.
(function () {
  "use strict";

  // The texts are loaded when the search is first used. They are a script, because that
  // also works for a site that is opened from a file.
  var texts;
  function load() {
    if (!texts) {
      texts = new Promise(function (done, fail) {
        var s = document.createElement("script");
        s.src = "assets/search.js";
        s.onload = function () {
          done(window.probodeSearch.map(function (e) {
            return {page: e[0], heading: e[1], to: e[2], text: e[3], names: e[0] + " " + e[1]};
          }));
        };
        s.onerror = fail;
        document.head.appendChild(s);
      });
    }
    return texts;
  }

  // Words are found at the beginnings of words: "stan" in "Stan's", not in "constant".
  function patterns(word) {
    var from = "(^|[^\\p{L}\\p{N}])" + word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return {word: word, begin: new RegExp(from, "giu"), whole: new RegExp(from + "(?![\\p{L}\\p{N}])", "giu")};
  }

  function count(text, pattern) { return (text.match(pattern) || []).length; }

  // Every word must occur. A word in a heading or in the name of a page counts more than
  // one in the text, a whole word more than a beginning, and a whole heading most.
  function score(entry, words) {
    var sum = 0;
    for (var i = 0; i < words.length; i++) {
      var w = words[i], heading = entry.heading.toLowerCase();
      if (heading === w.word || heading.split(".").pop() === w.word) sum += 50;
      else if (count(entry.names, w.begin)) sum += count(entry.names, w.whole) ? 20 : 10;
      else {
        var times = count(entry.text, w.begin);
        if (!times) return 0;
        sum += (count(entry.text, w.whole) ? 2 : 1) + Math.min(times, 5) / 5;
      }
    }
    return sum;
  }

  function around(entry, words) {
    var at = -1;
    for (var i = 0; i < words.length && at < 0; i++) at = entry.text.search(words[i].begin);
    var from = Math.max(0, at - 40);
    return (from ? "…" : "") + entry.text.slice(from, from + 140) + (entry.text.length > from + 140 ? "…" : "");
  }

  var input = document.getElementById("search"), found = document.getElementById("found"), chosen = -1;

  function look() {
    var words = input.value.toLowerCase().split(/\s+/).filter(Boolean).map(patterns);
    if (!words.length) { found.hidden = true; return; }
    load().then(function (entries) {
      var hits = entries.map(function (e) { return {entry: e, score: score(e, words)}; })
        .filter(function (h) { return h.score > 0; })
        .sort(function (a, b) { return b.score - a.score; }).slice(0, 30);
      found.textContent = "";
      chosen = -1;
      hits.forEach(function (h) {
        var item = document.createElement("li"), link = document.createElement("a"), line = document.createElement("span");
        link.href = h.entry.to;
        link.textContent = h.entry.page + (h.entry.heading ? " › " + h.entry.heading : "");
        line.textContent = around(h.entry, words);
        item.append(link, line);
        found.append(item);
      });
      if (!hits.length) found.append(Object.assign(document.createElement("li"), {textContent: "Nothing found."}));
      found.hidden = false;
    });
  }

  function choose(step) {
    var items = found.querySelectorAll("li");
    if (!items.length) return;
    if (items[chosen]) items[chosen].removeAttribute("aria-selected");
    chosen = (chosen + step + items.length) % items.length;
    items[chosen].setAttribute("aria-selected", "true");
    items[chosen].scrollIntoView({block: "nearest"});
  }

  input.addEventListener("focus", load);
  input.addEventListener("input", look);
  input.addEventListener("keydown", function (e) {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") { choose(e.key === "ArrowDown" ? 1 : -1); e.preventDefault(); }
    if (e.key === "Escape") found.hidden = true;
    if (e.key === "Enter") {
      var link = found.querySelectorAll("a")[Math.max(chosen, 0)];
      if (link) location.href = link.href;
      found.hidden = true;
    }
  });
  document.addEventListener("click", function (e) {
    if (!e.target.closest("#found, #search") || e.target.closest("#found a")) found.hidden = true;
  });
  document.addEventListener("keydown", function (e) {
    if (e.key === "/" && !/input|textarea/i.test(document.activeElement.tagName)) { input.focus(); e.preventDefault(); }
  });
})();
