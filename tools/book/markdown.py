"""Every Markdown file of the tree as HTML, in one call of pandoc: headings with the fragments that
tools/check expects, formulas as MathML, code highlighted, links to pages of the book, and every id of a
clause or of an erratum a link."""

import html
import posixpath
import re
import subprocess

from book import formulas, sources
from checks import excerpts, links, tree

BOUNDARY = re.compile(r"<!-- document (\S+) -->\n?")
EXCERPT = re.compile(r"<!-- excerpt: (\S+) (\S+) -->\s*<pre class=\"cpp\"><code>(.*?)</code></pre>\s*"
                     r"<!-- end of excerpt -->", re.DOTALL)
BLOCK = re.compile(r'<pre(?: class="(\w+)")?><code>(.*?)</code></pre>', re.DOTALL)
HEADING = re.compile(r"<h([1-6])>(.*?)</h\1>", re.DOTALL)
LINK = re.compile(r'<a\s+href="([^"]*)"[^>]*>(.*?)</a>', re.DOTALL)
TAG = re.compile(r"(<[^>]+>)")
ASSETS = (".svg", ".png")
WIDE = 26  # characters of a formula that a phone may have to scroll, since formulas are not broken
# What makes `code` outside the specification a formula, if it parses as one.
FORMULA = re.compile(r"\^|\b[A-Za-z]_[A-Za-z]\b| mod | = ")


def text_of(fragment):
    """What a fragment of HTML says, without its tags, and of its formulas the sources."""
    said = re.sub(r"<math>.*?<annotation[^>]*>(.*?)</annotation>.*?</math>", r"\1", fragment, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", " " if "<td" in said else "", said))


class Library:
    """The documents of a tree. `documents` has the HTML of each by its path; addresses in it begin with
    `book:`, and are those of pages from the book's own folder."""

    def __init__(self, root, clauses):
        self.root, self.clauses = root, clauses
        paths = [path.relative_to(root).as_posix() for path in tree.files(root, (".md",))]
        self.texts = {path: (root / path).read_text() for path in paths}
        headings = re.findall(r"^## E-([0-9]+) (.+)$", self.texts.get("spec/errata.md", ""), re.MULTILINE)
        self.errata = {number: links.anchor(f"E-{number} {title}") for number, title in headings}
        families = "|".join(sorted({clause.split("-")[0] for clause in clauses}))
        self.named = re.compile(rf"(?<![\w/.-])((?:{families})-[0-9]+|E-[0-9]+)(?![\w-])")
        self.documents = {path: self.finish(path, body) for path, body in self.converted().items()}

    def converted(self):
        """{path: HTML as pandoc makes it}."""
        joined = "".join(f"<!-- document {path} -->\n\n{text}\n\n" for path, text in self.texts.items())
        done = subprocess.run(
            ["pandoc", "--from=commonmark+pipe_tables+raw_html", "--to=html", "--no-highlight",
             "--wrap=none"], input=joined, capture_output=True, text=True, check=True).stdout
        parts = BOUNDARY.split(done)[1:]
        return dict(zip(parts[::2], parts[1::2], strict=True))

    def finish(self, path, body):
        body = EXCERPT.sub(self.quoted, body)
        body = BLOCK.sub(lambda match: self.block(path, match[1], html.unescape(match[2])), body)
        body = re.sub(r"<!--.*?-->\n?", "", body, flags=re.DOTALL)
        body = LINK.sub(lambda match: self.link(path, match[1], match[2]), body)
        body = self.headings(body)
        body = body.replace("<table>", '<div class="scroll"><table>')
        body = body.replace("</table>\n", "</table></div>\n")
        body = re.sub(r'<img src="([^":]+)"', lambda match: f'<img src="{self.asset(path, match[1])}"', body)
        return self.texts_and_code(body, in_spec=path.startswith("spec/"))

    def quoted(self, match):
        """An excerpt of the reference, with the numbers of its lines."""
        file, symbol, _ = match.groups()
        _, first, last = excerpts.span(self.root, file, symbol)
        return sources.excerpt(self.root, file, first + 1, last + 1)

    def block(self, path, language, text):
        table = formulas.block(text) if not language and path.startswith("spec/") else None
        return table or f'<pre tabindex="0"><code>{sources.highlight(text, language)}</code></pre>'

    @staticmethod
    def headings(body):
        """Headings have ids, those of a document different."""
        used = {}

        def one(match):
            level, content = match.groups()
            name = links.anchor(text_of(content))
            used[name] = used.get(name, 0) + 1
            name += f"-{used[name] - 1}" if used[name] > 1 else ""
            return f'<h{level} id="{name}">{content}</h{level}>'
        return HEADING.sub(one, body)

    def asset(self, path, target):
        return "book:asset/" + posixpath.normpath(posixpath.join(posixpath.dirname(path), target))

    def link(self, path, target, content):
        address = self.address(path, html.unescape(target), text_of(content))
        if address is None:
            return f"<span class=\"elsewhere\">{content}</span>"
        shown = ' class="id"' if self.named.fullmatch(content) else ""
        return f'<a{shown} href="{html.escape(address)}">{content}</a>'

    def address(self, path, target, content):
        """Where a link of document `path` leads to in the book; None if the book lacks it."""
        if re.match(r"[a-z]+:", target):
            return target
        if content in self.clauses:
            return f"book:clause/{content}.html"
        file, _, fragment = target.partition("#")
        file = posixpath.normpath(posixpath.join(posixpath.dirname(path), file)) if file else path
        if file == "spec" or file.startswith("spec/"):
            clause = fragment.upper()
            if clause in self.clauses:
                return f"book:clause/{clause}.html"
        if (self.root / file).is_dir():
            file += "/README.md"
        if file in self.texts:
            return f"book:{page_of(file)}" + (f"#{fragment}" if fragment else "")
        if file.endswith(ASSETS):
            return f"book:asset/{file}"
        return sources.address(file, self.line_of(file, content)) if is_text(self.root / file) else None

    def line_of(self, file, content):
        """The line of a file on which the function that a link names stands; None if it names none."""
        name = re.fullmatch(r"([\w:]+)(?:\(\))?", content)
        if not name or not file.endswith(tree.SOURCES):
            return None
        try:
            return excerpts.span(self.root, file, name[1])[1] + 1
        except excerpts.Unknown:
            lines = (self.root / file).read_text().splitlines()
            word = re.compile(rf"\b{re.escape(name[1].split(':')[-1])}\b")
            return next((number for number, line in enumerate(lines, 1)
                         if word.search(line) and not sources.is_comment(line)), None)

    def texts_and_code(self, body, in_spec):
        """Ids become links, and in chapters `code` that is a formula becomes one."""
        parts, inside, at = TAG.split(body), [], 0
        while at < len(parts):
            part = parts[at]
            if part == "<code>" and "pre" not in inside and at + 2 < len(parts):
                source = html.unescape(parts[at + 1])
                math = formulas.mathml(source) if in_spec or FORMULA.search(source) else None
                if math and parts[at + 2] == "</code>":
                    parts[at:at + 3] = [math, "", ""]
                    sign = re.match(r"[.,;:)]*", parts[at + 3])[0] if at + 3 < len(parts) else ""
                    if sign or len(source) > WIDE:  # what follows a formula stays on its line
                        name = "wide" if len(source) > WIDE else "whole"
                        parts[at] = f'<span class="{name}">{math}{sign}</span>'
                        parts[at + 3] = parts[at + 3][len(sign):]
            elif part.startswith("</"):
                if inside and inside[-1] == part[2:-1]:
                    inside.pop()
            elif part.startswith("<"):
                name = re.match(r"<(\w+)", part)
                if name and name[1] in ("a", "pre", "code", "h1", "h2", "h3", "math"):
                    inside.append(name[1])
            elif not inside and part:
                parts[at] = self.named.sub(self.link_of_id, part)
            at += 1
        return "".join(parts)

    def link_of_id(self, match):
        return self.reference(match[1]) or match[1]

    def reference(self, name):
        """A link to a clause or an erratum; None if there is no such."""
        if name in self.clauses:
            return f'<a class="id" href="book:clause/{name}.html">{name}</a>'
        if name.startswith("E-") and name[2:] in self.errata:
            return f'<a class="id" href="book:spec/errata.html#{self.errata[name[2:]]}">{name}</a>'
        return None


def page_of(path):
    """The page of a Markdown file."""
    return path[:-len(".md")] + ".html"


def is_text(path):
    if not path.is_file() or path.stat().st_size > 1_000_000:
        return False
    try:
        path.read_text()
    except UnicodeDecodeError:
        return False
    return True


def sections(body, level):
    """[(id, heading, HTML below it)] of the headings of a level, each up to the next that is not lower."""
    pattern = re.compile(rf'<h([1-{level}]) id="([^"]*)">(.*?)</h\1>', re.DOTALL)
    found = list(pattern.finditer(body))
    ends = [after.start() for after in found[1:]] + [len(body)]
    return [(one[2], one[3], body[one.end():end])
            for one, end in zip(found, ends, strict=False) if one[1] == str(level)]


def section(body, name):
    """The HTML below the heading with the id `name`; KeyError if there is none."""
    for level in range(1, 5):
        for found, _, content in sections(body, level):
            if found == name:
                return content
    raise KeyError(name)


def rows(body):
    """[[HTML of a cell]] of the rows of all tables, without those of headings."""
    return [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)
            for row in re.findall(r"<tr[^>]*>(.*?)</tr>", body, re.DOTALL) if "<td" in row]
