"""A page for each clause, with all its rooms."""

import html
import re

from book import pages, sources, vectors
from book.pages import badge, details, listed

OPEN_EXCERPTS = 6  # of a room that are shown unfolded
ROOMS = [("text", "Text"), ("reference", "Reference"), ("kernels", "Contract and kernels"),
         ("product", "Product"), ("proof", "Proof"), ("tests", "Tests"), ("vectors", "Vectors"),
         ("attacks", "Attacks"), ("errata", "Errata")]
BACKENDS = {"portable": "portable C++", "avx2": "AVX2", "avx512": "AVX-512", "neon": "NEON",
            "portable on AArch64": "portable C++ on AArch64",
            "every backend": "every backend"}


class ClausePage:
    """The rooms of one clause in HTML, "" for one that it does not have."""

    def __init__(self, rooms, clause):
        self.rooms, self.clause, self.root = rooms, clause, rooms.root

    def excerpt(self, one, title=""):
        return sources.excerpt(self.root, one.file, one.first, one.last, title)

    def places(self, found):
        """A folded list of places, by file."""
        files = {}
        for file, line, name in found:
            files.setdefault(file, []).append(
                f'<a href="{sources.address(file, line)}">{html.escape(name or f"line {line}")}</a>')
        return listed(f"<code>{file}</code>: {', '.join(dict.fromkeys(names))}"
                      for file, names in files.items())

    def others(self, room, shown, title):
        """What else of a room names the clause, folded."""
        found = [place for place in self.rooms.places[self.clause].get(room, [])
                 if not any(one.file == place.file and one.first <= place.line <= one.last for one in shown)]
        return details(f"{title} ({len(found)})", self.places(found)) if found else ""

    def text(self):
        return re.sub(r'<figure class="code">.*?</figure>', "", self.rooms.texts[self.clause],
                      flags=re.DOTALL)

    def reference(self):
        if "reference" not in self.rooms.clauses[self.clause][1]:
            return ""
        found = self.rooms.excerpts(self.clause, "reference")
        shown = "".join(map(self.excerpt, found[:OPEN_EXCERPTS]))
        if found[OPEN_EXCERPTS:]:
            shown += details(f"{len(found) - OPEN_EXCERPTS} more definitions",
                             "".join(map(self.excerpt, found[OPEN_EXCERPTS:])))
        return shown + self.others("reference", found, "Other places of the reference")

    def kernels(self):
        parts = []
        for contract, kernels in self.rooms.contracts(self.clause):
            parts.append(self.excerpt(contract, "contract: "))
            for kernel in kernels:
                backend = BACKENDS.get(kernel.backend, kernel.backend)
                parts.append(details(f"<code>{kernel.name}</code>, {backend} {badge(*kernel.proof)}",
                                     self.excerpt(kernel.code)))
        if parts:
            parts.append('<p>What the badges say of machine code is the table of <a href="'
                         'book:proofs/SOUNDNESS.html#machine-code">SOUNDNESS</a>, which also says what is '
                         'not covered.</p>')
        return "".join(parts)

    def product(self):
        if "optimized" not in self.rooms.clauses[self.clause][1]:
            return ""
        leaves = ("optimized/kernels/leaf", "optimized/masks/leaf", "optimized/kernels/contracts.hpp",
                  "optimized/masks/contracts.hpp")
        found = [one for one in self.rooms.excerpts(self.clause, "optimized")
                 if not one.file.startswith(leaves)]
        shown = "".join(details(f"<code>{one.file}</code>, line {one.first}", self.excerpt(one),
                                opened=at < 2) for at, one in enumerate(found))
        return shown + self.others("optimized", found, "Other places of the product")

    def proof(self):
        parts = [pages.table(["claim", "mathematics", "machine code", "otherwise"], [
            [self.marked(cell) for cell in row] for row in self.rooms.soundness_of(self.clause)])
        ] if self.rooms.soundness_of(self.clause) else []
        for claim in self.rooms.claims_of(self.clause):
            state = badge("proved", "closed, no axiom") if claim.closed else badge("failed", "not closed")
            parts.append(f'<h3 id="{claim.name}"><code>{claim.name}</code> {state}</h3>'
                         f"<p>{html.escape(claim.words)}</p>"
                         f"{sources.excerpt(self.root, 'proofs/coq/Claims.v', claim.first, claim.last)}")
        places = [place for place in self.rooms.places[self.clause].get("proof", [])
                  if not place.file.endswith((".md", ".golden", "Claims.v"))]
        if places:
            parts.append(details(f"Places of proofs/ that name it ({len(places)})", self.places(places)))
        return "".join(parts)

    def marked(self, cell):
        """A cell of Markdown, with its code as code and ids as links."""
        cell = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(cell, quote=False))
        return self.rooms.library.texts_and_code(cell, in_spec=False)

    def tests(self):
        parts = []
        if "test" in self.rooms.clauses[self.clause][1]:
            found = self.rooms.tests_of(self.clause)
            parts.append(self.places(found))
        for mutant in self.rooms.mutants_of(self.clause):
            name = html.escape(mutant["name"].split(": ", 1)[-1])
            parts.append(details(f"Mutant: {name}", self.mutant(mutant)))
        return "".join(parts)

    def mutant(self, mutant):
        changes = "".join(
            f'<p><a href="{sources.address(one["file"])}"><code>{one["file"]}</code></a></p>'
            f'<pre class="diff" tabindex="0"><code><del>{html.escape(one["before"])}</del>\n'
            f'<ins>{html.escape(one["after"])}</ins></code></pre>'
            for one in [mutant, *mutant.get("also", [])])
        return f"{changes}<p>Refused by <code>{html.escape(mutant['test'])}</code> of " \
               f"<code>{html.escape(mutant['program'])}</code>.</p>"

    def vectors(self):
        cases = self.rooms.vectors.get(self.clause)
        return vectors.worked(self.root, cases) if cases else ""

    def attacks(self):
        found = self.rooms.attacks_on(self.clause)
        return "".join(pages.table(head, [cells]) for head, cells in found)

    def errata(self):
        return "".join(erratum(self.rooms, one) for one in self.rooms.errata_on(self.clause))

    def body(self, before, after):
        """The page between that of the clause before and that of the one after, each None at an end."""
        level, _, chapter = self.rooms.clauses[self.clause]
        badges = "".join(badge(kind, text, f"as {source} says") for kind, text, source in
                         self.rooms.badges(self.clause))
        found = {name: getattr(self, name)() for name, _ in ROOMS}
        ways = " ".join(f'<a href="#{name}">{title}</a>' for name, title in ROOMS if found[name])
        steps = "".join(f'<a href="book:clause/{other}.html" rel="{rel}">{sign}</a>' for other, rel, sign in
                        [(before, "prev", f"← {before}"), (after, "next", f"{after} →")] if other)
        name = chapter.removeprefix("spec/").removesuffix(".md")
        head = (f'<p class="crumbs"><a href="book:index.html#clauses">Clauses</a> › '
                f'<a href="book:spec/{name}.html#{self.clause.lower()}">{name}</a>'
                f'<span class="steps">{steps}</span></p>'
                f'<h1><span class="id">{self.clause}</span> {self.rooms.title_of(self.clause)}</h1>'
                f'<p class="badges">{badge("level", level)}{badges}</p>'
                f'<nav class="ways" aria-label="Rooms">{ways}</nav>')
        return head + self.arranged(found)

    def arranged(self, found):
        """Text and reference beside each other, the other rooms below."""
        def room(name):
            title = dict(ROOMS)[name]
            return f'<section id="{name}"><h2>{title}</h2>{found[name]}</section>' if found[name] else ""
        beside = f'<div class="beside">{room("text")}{room("reference")}</div>'
        return beside + "".join(room(name) for name, _ in ROOMS[2:])


def erratum(rooms, one, opened=False):
    """An erratum, folded: the paper's statement beside what is right."""
    name, title, parts = one
    said = f'<div class="said"><h4>The paper</h4>{parts.get("Place", "")}{parts.get("The paper", "")}</div>'
    right = f'<div class="right"><h4>Right</h4>{parts.get("Right", "")}</div>'
    here = f'<h4>Here</h4>{parts.get("Here", "")}' if "Here" in parts else ""
    more = f'<p><a href="book:spec/errata.html#{name}">In the errata, with its clauses and tests</a></p>'
    return details(title, f'<div class="contrast">{said}{right}</div>{here}{more}', opened)


def add(book, rooms):
    """Adds the page of every clause, and what the search finds of it."""
    order = list(rooms.clauses)
    for at, clause in enumerate(order):
        before, after = order[at - 1] if at else None, order[at + 1] if at + 1 < len(order) else None
        title = f"{clause} {rooms.title_of(clause)}"
        book.add(f"clause/{clause}.html", title, ClausePage(rooms, clause).body(before, after), kind="clause")
