"""The C interface from the comments of its header, and what was measured."""

import html
import re
import textwrap

from book import markdown, pages, sources

HEADER = "include/slip/slip.h"
FIGURES = "experiments/results/svg"


def in_code(match):
    return f"<code>{match[1]}</code>"


def words_of(comment):
    """A comment's text as paragraphs, what is indented as code."""
    text = re.sub(r"^ \* ?", "", comment, flags=re.MULTILINE)
    text = re.sub(r"@(?:file\b|name .*)", "", text).strip()
    name = re.compile(r"((?:SLIP|slip)_[A-Za-z_]+\*?|slip::[A-Za-z:]+)")
    parts = []
    for one in re.split(r"\n\s*\n", text):
        if one.startswith("    "):
            code = sources.highlight(textwrap.dedent(one), "c")
            parts.append(f'<pre tabindex="0"><code>{code}</code></pre>')
        elif one:
            parts.append(f"<p>{name.sub(in_code, html.escape(one, quote=False))}</p>")
    return "".join(parts)


def declarations(text):
    """[(line, comment, declaration)] of a header, a comment for each group that it opens with `@{`."""
    found = []
    for match in re.finditer(r"^/\*\*(.*?)\*/\n", text, re.MULTILINE | re.DOTALL):
        after = text[match.end():]
        group = "@name" in match[1] or "@file" in match[1]
        declared = "" if group or after.startswith(("\n", "/*")) else declaration(after)
        if match[1].strip() not in ("@{", "@}"):
            found.append((text.count("\n", 0, match.start()) + 1, match[1], declared))
    return found


def declaration(text):
    """The declaration that a text begins with, and those that follow without a blank line or a comment."""
    lines, depth = [], 0
    for line in text.splitlines():
        if depth == 0 and (not line.strip() or line.startswith(("/*", "#else", "#endif"))):
            break
        lines.append(line)
        depth += line.count("{") + line.count("(") - line.count("}") - line.count(")")
    return "\n".join(lines)


def add_api(book, rooms):
    text = (rooms.root / HEADER).read_text()
    parts = [f'<h1>The C interface</h1><p>From the comments of <a href="{sources.address(HEADER)}">'
             f"<code>{HEADER}</code></a>.</p>"]
    for line, comment, declared in declarations(text):
        names = re.findall(r"\b(slip_\w+)\(|^\} (slip_\w+);|struct (slip_\w+)|\(\*(slip_\w+)\)", declared,
                           re.MULTILINE)
        name = next((one for found in names for one in found if one), "")
        if name:
            book.list(name, "C interface", f"api.html#{name}-{line}", markdown.text_of(words_of(comment)))
        group = re.search(r"@name (.+)", comment)
        heading = f'<h3 id="{name}-{line}"><code>{name}</code></h3>' if name else ""
        heading = f"<h2>{group[1]}</h2>" if group else heading
        code = f'<pre tabindex="0"><code>{sources.highlight(declared, "c")}</code></pre>' if declared else ""
        parts.append(f"{heading}{words_of(comment)}{code}")
    book.add("api.html", "The C interface", "".join(parts))


def add_report(book, rooms):
    """The chapters of measurements, and the committed figures."""
    chapters = ["docs/measured.md", "docs/cost.md", "experiments/README.md", "spec/hardness.md",
                "spec/latency.md", "spec/related-work.md"]
    listed = pages.listed(f'<a href="book:{markdown.page_of(path)}">{title(rooms, path)}</a>'
                          for path in chapters)
    figures = []
    for path in sorted((rooms.root / FIGURES).glob("*.svg")):
        said = re.findall(r'class="title"[^>]*>([^<]+)<', path.read_text())
        caption = html.unescape("; ".join(dict.fromkeys(said))) or path.stem
        figures.append(f'<figure id="{path.stem}"><div class="scroll"><img alt="{html.escape(caption)}" '
                       f'src="book:asset/{FIGURES}/{path.name}" loading="lazy"></div><figcaption>'
                       f"{path.stem}: {html.escape(caption)}</figcaption></figure>")
        book.list(f"Figure {path.stem}", "figure", f"report.html#{path.stem}", caption)
    book.add("report.html", "Measurements",
             f'<h1>Measurements</h1><p class="lead">Each chapter names its machine and its date.</p>{listed}'
             f"<h2>Figures</h2><p>Drawn from experiments/results; {rooms.library.reference('E-33')} says "
             f"what they show.</p>{''.join(figures)}", kind="paper")


def title(rooms, path):
    return re.search(r"<h1[^>]*>(.*?)</h1>", rooms.library.documents[path], re.DOTALL)[1]
