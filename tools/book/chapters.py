"""The documents as pages, and the front page."""

import html
import re

from book import clause_pages, markdown, pages, status
from book.pages import badge

CARDS = [
    ("docs/tour.html", "A tour in ten stops", "One token through the product, for a first reader."),
    ("paper.html", "The paper's order",
     "Every label, equation and table of the paper, what became of it, and what is wrong with it."),
    ("charts.html", "The protocols, step by step", "The attention protocol and the hidden split as charts."),
    ("spec/threat-model.html", "The threat model", "The attacker, what he learns, what is not claimed."),
    ("proofs/SOUNDNESS.html", "What is proved, and what is not", "From the mathematics to machine code."),
    ("report.html", "Measurements", "What a split costs and what it protects, measured."),
    ("api.html", "The C interface", "Every function of include/slip/slip.h."),
    ("indexes.html", "Indexes", "Symbols, clauses, theorems, threats, claims, words."),
]


def add(book, rooms):
    """Adds a page for every document, and the front page."""
    for path, body in rooms.library.documents.items():
        title = re.search(r"<h1[^>]*>(.*?)</h1>", body, re.DOTALL)
        title = markdown.text_of(title[1]) if title else path
        shown = with_badges(rooms, body) if path.startswith("spec/") else body
        book.add(markdown.page_of(path), title, shown, kind="document")
        if path != "CHANGELOG.md":
            list_sections(book, rooms, path, title, body)
    book.add("index.html", "Contents", front(rooms), kind="front")


def with_badges(rooms, body):
    """A chapter whose clauses lead to their rooms."""
    def heading(match):
        clause = match[2]
        if clause not in rooms.clauses:
            return match[0]
        badges = "".join(badge(kind, text) for kind, text, _ in rooms.badges(clause))
        return (f'<h3 id="{match[1]}"><a class="id" href="book:clause/{clause}.html">{clause}</a></h3>'
                f'<p class="badges">{badges}</p>')
    return re.sub(r'<h3 id="([^"]*)">([A-Z]+-[0-9]+)</h3>', heading, body)


def list_sections(book, rooms, path, title, body):
    """Lets the search find the sections of a document and the clauses of a chapter."""
    address = markdown.page_of(path)
    book.list(title, "document", address, markdown.text_of(body)[:400])
    for name, heading, content in markdown.sections(body, 2):
        own = re.sub(r'<h3 id="[a-z]+-[0-9]+">[A-Z]+-.*', "", content, flags=re.DOTALL)
        book.list(f"{markdown.text_of(heading)} · {title}", "section", f"{address}#{name}",
                  markdown.text_of(own)[:1500])
    for name, heading, content in markdown.sections(body, 3):
        said = markdown.text_of(content)
        if heading in rooms.clauses and path.startswith("spec/"):
            book.list(f"{heading} {markdown.text_of(rooms.title_of(heading))}", "clause",
                      f"clause/{heading}.html", f"{said} {state(rooms, heading)}")
        else:
            book.list(f"{markdown.text_of(heading)} · {title}", "section", f"{address}#{name}", said[:1500])


def state(rooms, clause):
    """What the badges of a clause and of its kernels say, for the search."""
    kernels = [f"{kernel.name} {clause_pages.BACKENDS.get(kernel.backend, kernel.backend)} {kernel.proof[1]}"
               for _, kernels in rooms.contracts(clause) for kernel in kernels]
    return "; ".join([text for _, text, _ in rooms.badges(clause)] + kernels)


def front(rooms):
    cards = "".join(f'<li><a href="book:{address}">{title}</a><p>{about}</p></li>'
                    for address, title, about in CARDS)
    return (f"<h1>SLIP, for auditors</h1>"
            '<p class="lead">The specification, and beside each clause the code that defines it, the code '
            "that ships, the proof, the tests, the vectors and the attacks.</p>"
            f'<ul class="cards">{cards}</ul>{legend(rooms)}<h2 id="clauses">Clauses</h2>{contents(rooms)}'
            f"<h2 id=\"documents\">Documents</h2>{documents(rooms)}")


def legend(rooms):
    """What the badges mean, and of how many clauses they stand."""
    counts = dict.fromkeys(status.KINDS, 0)
    for clause in rooms.clauses:
        for kind in {kind for kind, _, _ in rooms.badges(clause)} & counts.keys():
            counts[kind] += 1
    shown = "".join(f"<li>{badge(kind, text)} {counts[kind]} of {len(rooms.clauses)}</li>"
                    for kind, text in status.KINDS.items())
    run = f"The last run in build/results has {len(rooms.run)} tests." if rooms.run else \
        "build/results has no run: badges of tests say which tests there are, not how they ended."
    return f'<h2>What the badges say</h2><ul>{shown}</ul><p>{run}</p>'


def contents(rooms):
    """The chapters in the order of spec/index.md, each with its clauses."""
    chapters = markdown.section(rooms.library.documents["spec/index.md"], "chapters")
    parts = []
    for name, _, about in markdown.rows(chapters):
        path = re.search(r'href="book:(spec/[\w-]+)\.html"', name)
        if not path:
            continue
        chips = "".join(
            f'<li><a href="book:clause/{clause}.html" title="{tip(rooms, clause)}">{clause}</a></li>'
            for clause, (_, _, chapter) in rooms.clauses.items() if chapter == f"{path[1]}.md")
        parts.append(f'<div class="chapter"><h3>{name}</h3><p>{about}</p>'
                     + (f'<ul class="chips">{chips}</ul>' if chips else "") + "</div>")
    return "".join(parts)


def documents(rooms):
    return pages.listed(f'<a href="book:{markdown.page_of(path)}"><code>{path}</code></a>'
                        for path in rooms.library.documents if not path.startswith("spec/"))


def tip(rooms, clause):
    return html.escape(markdown.text_of(rooms.title_of(clause)))
