"""Markdown, Go and formulas as HTML, with links to what the site holds."""

import dataclasses
import html
import os
import re

from latex2mathml.converter import convert
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from pygments.lexers import GoLexer
from pygments.token import STANDARD_TYPES


@dataclasses.dataclass
class Section:
    heading: str
    anchor: str
    text: str = ""
    level: int = 2

    def words(self):
        return re.sub(r"\s+", " ", self.text).strip()


class Site:
    """The addresses of the files on the site, and a list of findings, which are errors."""

    def __init__(self, files):
        self.files, self.findings = files, []


class Writer:
    """Writes one page, in parts, and collects its sections."""

    def __init__(self, site, path):
        self.site, self.path = site, path
        self.title, self.sections = "", [Section("", "", level=1)]
        self.anchors = set()
        self.render = MarkdownWithMath(renderer=Renderer(self))

    def markdown(self, source):
        return str(self.render(source))

    def code(self, source):
        self.sections[-1].text += " " + source
        return f'<pre class="go">{self.go(source)}</pre>\n'

    def go(self, source):
        """Returns highlighted Go."""
        out = []
        for kind, value in GoLexer().get_tokens(source):
            css = STANDARD_TYPES.get(kind, "")
            out.append(f'<span class="{css}">{html.escape(value)}</span>' if css and css not in ("n", "nx", "p", "w", "o") else html.escape(value))
        return "".join(out).strip("\n")

    def find(self, what):
        self.site.findings.append(f"{self.path.name}: {what}")


class Renderer(IPythonRenderer):
    def __init__(self, writer):
        super().__init__(escape=False)
        self.writer = writer

    def heading(self, text, level, **attrs):
        plain = html.unescape(re.sub(r"<[^>]+>", "", text))
        anchor = base = re.sub(r"\W+", "-", plain.lower()).strip("-") or "section"
        for n in range(2, 100):
            if anchor not in self.writer.anchors:
                break
            anchor = f"{base}-{n}"
        self.writer.anchors.add(anchor)
        if level == 1 and not self.writer.title:
            self.writer.title = plain
        else:
            self.writer.sections.append(Section(plain, anchor, level=level))
        return f'<h{level} id="{anchor}">{text}</h{level}>\n'

    def text(self, text):
        self.writer.sections[-1].text += text + " "
        return super().text(text)

    def codespan(self, text):
        self.writer.sections[-1].text += text + " "
        return f"<code>{html.escape(html.unescape(text), quote=False)}</code>"

    def block_code(self, code, info=None):
        self.writer.sections[-1].text += code + " "
        if (info or "").strip() == "go":
            return f'<pre class="go">{self.writer.go(code)}</pre>\n'
        return f"<pre>{html.escape(code, quote=False)}</pre>\n"

    def link(self, text, url, title=None):
        return super().link(text, self.address(url), title)

    def image(self, text, url, title=None):
        self.writer.find(f"shows the picture {url}, which is not on the site")
        return ""

    def address(self, url):
        if re.match(r"[a-z]+:|#", url):
            return url
        path, _, anchor = url.partition("#")
        to = (self.writer.path.parent / path).resolve()
        if to not in self.writer.site.files:
            self.writer.find(f"links to {url}, which is not on the site")
            return url
        return self.writer.site.files[to] + ("#" + anchor if anchor else "")

    def block_math(self, body):
        return f'<div class="math">{self.math(body, "block")}</div>'

    def inline_math(self, body):
        return self.math(body, "inline")

    def latex_environment(self, name, body):
        return self.block_math(rf"\begin{{{name}}}{body}\end{{{name}}}")

    def math(self, tex, display):
        # The converter knows array, but not aligned.
        tex = tex.replace(r"\begin{aligned}", r"\begin{array}{rlrl}").replace(r"\end{aligned}", r"\end{array}")
        try:
            mathml = convert(tex, display=display)
        except Exception as e:
            self.writer.find(f"formula {tex.strip()}: {e!r}")
            return html.escape(tex)
        if m := re.search(r"\\[a-zA-Z]+", re.sub(r"<[^>]+>", " ", mathml)):
            self.writer.find(f"formula {tex.strip()}: {m[0]} is not converted")
        if "&amp;" in mathml or "<mo>&</mo>" in mathml or "<mi>&</mi>" in mathml:
            self.writer.find(f"formula {tex.strip()}: & is not converted")
        return mathml
