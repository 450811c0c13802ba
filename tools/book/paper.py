"""The paper's order as a way in: every row of spec/index.md's table, with the errata beside it."""

import re

from book import markdown, pages, status
from book.clause_pages import erratum


def add(book, rooms):
    body = ["<h1>In the paper's order</h1>"
            '<p class="lead">Every label, equation and table of "SLIP: Securing LLM\'s IP Using Weights '
            'Decomposition", what became of it, and the errata beside the statements that they correct.</p>'
            "<p>The paper itself is not part of this book. Labels are those of its source.</p>"]
    table = markdown.section(rooms.library.documents["spec/index.md"], "from-the-paper-to-the-clauses")
    errata = {re.match(r"E-([0-9]+)", title)[1]: one for one in rooms.errata for title in [one[1]]}
    shown = set()
    for number, (label, subject, clauses) in enumerate(markdown.rows(table), 1):
        name = f"row-{number}"
        body.append(f'<section class="chapter"><h3 id="{name}">{label}</h3><p>{subject}</p><p>{clauses}</p>'
                    f"{definitions(rooms, clauses)}{corrections(rooms, errata, clauses, shown)}</section>")
        book.list(f"{markdown.text_of(label)}: {markdown.text_of(subject)}", "paper", f"paper.html#{name}",
                  markdown.text_of(clauses))
    book.add("paper.html", "In the paper's order", "".join(body), kind="paper")


def definitions(rooms, cell):
    """The first formulas of the first clauses of a row, in words and signs: what the statement became."""
    named = status.named(text := markdown.text_of(cell))
    found = sorted((clause for clause in rooms.clauses if clause in named),
                   key=lambda clause: text.find(clause) % len(text))[:3]
    if not found:
        return ""
    return pages.details(f"What {', '.join(found)} " + ("say" if len(found) > 1 else "says"), "".join(
        f'<h4><a class="id" href="book:clause/{clause}.html">{clause}</a> {rooms.title_of(clause)}</h4>'
        f"{first_part(rooms.texts[clause])}" for clause in found))


def first_part(text):
    """A clause's text without its heading line, up to its source."""
    text = re.sub(r'<figure class="code">.*?</figure>', "", text, flags=re.DOTALL)
    return re.split(r"<p>(?:Source|Rationale|Derivation):", text.split("</p>", 1)[1])[0]


def corrections(rooms, errata, cell, shown):
    """The errata of a row, open where they stand for the first time."""
    parts = []
    for number in dict.fromkeys(re.findall(r"errata\.html#e-([0-9]+)-", cell)):
        parts.append(erratum(rooms, errata[number], opened=number not in shown))
        shown.add(number)
    return "".join(parts)
