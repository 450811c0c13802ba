"""Indexes: symbols, functions, clauses, theorems, threats, claims, words."""

import html
import re

from book import markdown, pages, sources
from book.pages import badge


def add(book, rooms):
    """Adds a page for each index, and one that lists them."""
    found = [("symbols", "Symbols", "The letters, and the clauses that use them", symbols),
             ("functions", "Functions of the reference", "Where each is declared, and for which clauses",
              functions),
             ("clauses", "Clauses", "Titles, rooms and badges", clauses),
             ("theorems", "Theorems", "Every claim of Coq's, with its clauses", theorems),
             ("threats", "Threats", "Clauses of the threat model, attacks and faults", threats),
             ("claims", "Claims", "What is claimed, and what is not", claims),
             ("glossary", "Glossary", "One word for one thing", glossary)]
    for name, title, about, make in found:
        book.add(f"index/{name}.html", title,
                 f'<h1>{title}</h1><p class="lead">{about}.</p>{make(book, rooms)}', kind="paper")
    cards = "".join(f'<li><a href="book:index/{name}.html">{title}</a><p>{about}.</p></li>'
                    for name, title, about, _ in found)
    book.add("indexes.html", "Indexes", f'<h1>Indexes</h1><ul class="cards">{cards}</ul>')


def linked(found):
    return ", ".join(f'<a class="id" href="book:clause/{clause}.html">{clause}</a>' for clause in found)


def symbols(book, rooms):
    """The tables of conventions.md, with the clauses whose formulas have each symbol."""
    tables = markdown.section(rooms.library.documents["spec/conventions.md"], "symbols")
    used = {clause: "\n".join(re.findall(r'<annotation encoding="text/plain">(.*?)</annotation>', text))
            for clause, text in rooms.texts.items()}
    parts = []
    part = re.compile(r'<p>((?:(?!<p>).)*?)</p>\s*<div class="scroll">(<table>.*?</table>)', re.DOTALL)
    for before, table in part.findall(tables):
        rows = []
        for cells in markdown.rows(table):
            names = re.findall(r"<annotation[^>]*>(.*?)</annotation>", cells[0])
            where = [clause for clause, text in used.items() if any(
                re.search(rf"(?<![\w~]){re.escape(name)}(?![\w~'])", text) for name in names)]
            rows.append([*cells, linked(where[:24]) + (f" and {len(where) - 24} more" if where[24:] else "")])
            book.list(f"Symbol {' '.join(map(html.unescape, names))}", "symbol", "index/symbols.html",
                      markdown.text_of(cells[-1]))
        parts.append(f"<p>{before}</p>" + pages.table(["symbol", "type", "meaning", "clauses"], rows))
    return "".join(parts)


def functions(book, rooms):
    found = {}
    for clause, places in rooms.places.items():
        for place in places.get("reference", []):
            if place.symbol and place.file.endswith(".hpp"):
                found.setdefault((place.symbol, place.file), (place.line, []))[1].append(clause)
    rows = []
    for (symbol, file), (line, named) in sorted(found.items(), key=lambda one: one[0][0].lower()):
        address = sources.address(file, line)
        rows.append([f'<a href="{address}"><code>{html.escape(symbol)}</code></a>', f"<code>{file}</code>",
                     linked(dict.fromkeys(named))])
        book.list(symbol, "function", address.removeprefix("book:"), f"{file} {' '.join(named)}")
    return pages.table(["function or type", "file", "clauses"], rows)


def clauses(_, rooms):
    return pages.table(["clause", "title", "rooms", "state"], [
        [linked([clause]), rooms.title_of(clause), ", ".join(declared),
         "".join(badge(kind, text) for kind, text, _ in rooms.badges(clause))]
        for clause, (_, declared, _) in rooms.clauses.items()])


def theorems(book, rooms):
    rows = []
    for claim in rooms.claims:
        first = next((clause for clause in claim.clauses if clause in rooms.clauses), None)
        address = f"book:clause/{first}.html#{claim.name}" if first else sources.address(
            "proofs/coq/Claims.v", claim.first)
        rows.append([f'<a href="{address}"><code>{claim.name}</code></a>', html.escape(claim.words),
                     linked(clause for clause in claim.clauses if clause in rooms.clauses)])
        book.list(claim.name, "theorem", address.removeprefix("book:"), claim.words)
    return "<p>The paper's theorem and lemmas stand in <a href=\"book:paper.html\">the paper's order</a>." + \
        "</p>" + pages.table(["claim", "in words", "clauses"], rows)


def threats(book, rooms):
    threat = [clause for clause in rooms.clauses if clause.startswith("THREAT-")]
    parts = ["<h2>Clauses</h2>" + pages.listed(f"{linked([clause])} {rooms.title_of(clause)}"
                                               for clause in threat)]
    chapter = rooms.library.documents["spec/threat-model.md"]
    parts.append("<h2>Sections</h2>" + pages.listed(
        f'<a href="book:spec/threat-model.html#{name}">{heading}</a>' for name, heading, _ in
        markdown.sections(chapter, 2)))
    heads = {}
    for head, cells in rooms.attacks:
        heads.setdefault(tuple(head), []).append(cells)
        book.list("Attack " + markdown.text_of(cells[0])[:120], "attack", "index/threats.html#attacks",
                  markdown.text_of(" ".join(cells)))
    parts.append('<h2 id="attacks">Attacks</h2>')
    parts += [pages.table(head, rows) for head, rows in heads.items()]
    return "".join(parts)


def claims(_, rooms):
    page, model = (rooms.library.documents[path] for path in ("docs/claims.md", "spec/threat-model.md"))
    return (markdown.section(page, "claimed")
            + "<h2>Properties</h2>" + markdown.section(model, "what-is-protected")
            + "<h2>Not claimed</h2>" + markdown.section(page, "not-claimed")
            + markdown.section(model, "what-is-not-claimed"))


def glossary(book, rooms):
    words = markdown.section(rooms.library.documents["spec/conventions.md"], "words")
    for cells in markdown.rows(words):
        book.list(markdown.text_of(cells[0]), "word", "index/glossary.html",
                  markdown.text_of(" ".join(cells[1:])))
    return words
