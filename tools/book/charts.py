"""Message-sequence charts from charts.toml, as SVG whose steps link to the code that takes them."""

import html
import pathlib
import re
import tomllib

from book import formulas, sources
from checks import excerpts

TABLE = pathlib.Path(__file__).with_name("charts.toml")
WIDTH, LINE, GAP = 740, 20, 14
CHARLIE, DAVID = 10, 410  # left edges of what the parties do
BOX = 320

SCRIPT = re.compile(r"~([A-Za-z])?|([_^])(\([^()]*\)|[A-Za-z0-9]+)")
LOWER, UPPER = 4, -5  # how far below its line a subscript stands, and a superscript
LETTER = re.compile(r"[A-Za-z]+")


def drawn(formula):
    """A formula as the text of an SVG: subscripts below the line, superscripts above, x~ with its tilde."""
    runs, at = [], 0
    for match in SCRIPT.finditer(formula):
        runs.append((formula[at:match.start()] + ("\u0303" if match[0][0] == "~" else ""), 0))
        below = match[1] or (match[3] if match[2] == "_" else None)
        if below or match[2] == "^":
            runs.append(((below or match[3]).strip("()"), LOWER if below else UPPER))
        at = match.end()
    parts, level = [], 0
    for text, height in [*runs, (formula[at:], 0)]:
        if not text:
            continue
        shown = LETTER.sub(lambda match: formulas.GREEK.get(match[0], match[0]), text).replace("-", "\u2212")
        moved = f' dy="{height - level}"' if height != level else ""
        small = ' class="script"' if height else ""
        parts.append(f"<tspan{small}{moved}>{html.escape(shown)}</tspan>")
        level = height
    return "".join(parts)


class Chart:
    """Draws one chart from top to bottom."""

    def __init__(self, root, chart):
        self.root, self.chart = root, chart
        self.y, self.parts = 44, []

    def line_of(self, row):
        """The address of the code of a step. Raises excerpts.Unknown if it is not there."""
        file, symbol = row["code"]
        return sources.address(file, excerpts.span(self.root, file, symbol)[1] + 1)

    def step(self, row):
        party = "charlie" if "charlie" in row else "david"
        left = CHARLIE if party == "charlie" else DAVID
        height = LINE * (1 + len(row["formulas"])) + 12
        self.parts.append(f'<a href="{self.line_of(row)}"><rect class="step" x="{left}" y="{self.y}" '
                          f'width="{BOX}" height="{height}" rx="5"/>'
                          f'<text class="title" x="{left + 10}" y="{self.y + LINE}">{html.escape(row[party])}'
                          "</text></a>")
        for number, formula in enumerate(row["formulas"], 2):
            self.parts.append(f'<text class="formula" x="{left + 10}" y="{self.y + number * LINE}">'
                              f"{drawn(formula)}</text>")
        self.y += height + GAP

    def message(self, row):
        begin, end = (CHARLIE + BOX / 2, DAVID + BOX / 2)[::1 if row["to"] == "david" else -1]
        head = 9 if end < begin else -9
        y = self.y + LINE + 4
        self.parts.append(f'<text class="holds" x="{WIDTH / 2}" y="{y - 8}" text-anchor="middle">'
                          f'{drawn(row["holds"])}</text>'
                          f'<path class="arrow" d="M{begin} {y}H{end}m{head} -5L{end} {y}l{head} 5"/>')
        self.y = y + GAP + 4

    def svg(self):
        for row in self.chart["row"]:
            (self.message if "to" in row else self.step)(row)
        lines = "".join(f'<path class="life" d="M{left + BOX / 2} 34V{self.y}"/>'
                        f'<text class="party" x="{left + BOX / 2}" y="24" text-anchor="middle">{name}</text>'
                        for left, name in [(CHARLIE, "Charlie"), (DAVID, "David")])
        label = f'aria-label="{html.escape(self.chart["title"])}"'
        return (f'<div class="scroll" tabindex="0" role="group" {label}>'
                f'<svg class="sequence" viewBox="0 0 {WIDTH} {self.y + 6}" role="group" {label}>'
                f'{lines}{"".join(self.parts)}</svg></div>')

    def steps(self):
        """The same steps as a list, for who does not look at the picture."""
        entries = []
        for row in self.chart["row"]:
            if "to" in row:
                entries.append(f'to {row["to"].capitalize()}: <code>{html.escape(row["holds"])}</code>')
            else:
                party = "charlie" if "charlie" in row else "david"
                symbol = html.escape(row["code"][1].split("@")[0])
                entries.append(f'{party.capitalize()}: <a href="{self.line_of(row)}">'
                               f'{html.escape(row[party])}</a>, <code>{symbol}</code>')
        return "<ol>" + "".join(f"<li>{entry}</li>" for entry in entries) + "</ol>"


def charts(root):
    """[(chart of the table, its Chart)]."""
    return [(chart, Chart(root, chart)) for chart in tomllib.loads(TABLE.read_text())["chart"]]


def add(book, rooms):
    """Adds a page with all charts."""
    parts = ['<h1>The protocols, step by step</h1><p class="lead">Each step leads to the lines of the '
             'reference that take it.</p>']
    for chart, figure in charts(rooms.root):
        about = f'<a href="book:clause/{chart["clause"]}.html">{chart["clause"]}</a>'
        if "erratum" in chart:
            about += f', corrected by {rooms.library.reference("E-" + chart["erratum"])}'
        parts.append(f'<h2 id="{chart["name"]}">{html.escape(chart["title"])}</h2><p>{about}.</p>'
                     f"{figure.svg()}<details><summary>The steps as a list</summary>{figure.steps()}"
                     "</details>")
        book.list(chart["title"], "chart", f"charts.html#{chart['name']}",
                  "message sequence figure protocol steps")
    book.add("charts.html", "The protocols, step by step", "".join(parts), kind="paper")
