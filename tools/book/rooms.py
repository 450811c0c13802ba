"""What stands in each room of a clause: its reference, contracts and kernels, claims, tests, mutants,
vectors, attacks and errata. tools/places.py says where the rooms name it; this says what is there."""

import json
import re
from typing import NamedTuple

from book import markdown, sources, status
from checks import clauses, leaves, mutants
from places import places

CONTRACTS = ["optimized/kernels/contracts.hpp", "optimized/masks/contracts.hpp"]
KERNEL = re.compile(r"\(\*(?:const )?(\w+)\)\s*\(")
MASKS = "optimized/masks/leaf"


class Excerpt(NamedTuple):
    file: str
    first: int  # lines, from 1
    last: int


class Kernel(NamedTuple):
    name: str
    backend: str
    code: Excerpt
    proof: tuple  # (kind of badge, what is proved)


class Rooms:
    """All clauses of a tree and what belongs to each."""

    def __init__(self, root):
        self.root = root
        self.clauses = clauses.read_clauses(root, [])
        self.places = places(root, self.clauses)
        self.library = markdown.Library(root, self.clauses)
        self.implemented = self.begins_comment()
        self.claims = status.claims(root)
        self.kernels = status.Kernels(self.library.texts["proofs/SOUNDNESS.md"])
        self.soundness = self.rows_of_soundness()
        self.assumptions, self.unclaimed = status.assumptions(root), status.unclaimed(root)
        self.tests, self.run = status.test_names(root), status.last_run(root)
        self.mutants = [mutant for _, mutant in mutants.read_tables(root)]
        self.vectors = self.cases()
        self.attacks = self.rows_of_attacks()
        self.errata = self.errata_of()
        self.lines, self.texts = {}, {}
        for path, body in self.library.documents.items():
            if path.startswith("spec/"):
                self.texts |= {heading: content for _, heading, content in markdown.sections(body, 3)
                               if heading in self.clauses}

    def lines_of(self, file):
        if file not in self.lines:
            self.lines[file] = (self.root / file).read_text().splitlines()
        return self.lines[file]

    def begins_comment(self):
        """A pattern for lines that say that what stands there implements a clause."""
        families = "|".join(sorted({clause.split("-")[0] for clause in self.clauses}))
        one = rf"(?:{families})-[0-9]+"
        return re.compile(rf"//[/!<]* *((?:{one}(?:, | and | to )?)+) *(?:[.:(]|$)")

    def implements(self, place, clause):
        """Whether the line of a place says that it implements the clause."""
        match = self.implemented.search(self.lines_of(place.file)[place.line - 1])
        return bool(match) and clause in status.named(match[1])

    def excerpts(self, clause, room, within=""):
        """The definitions and declarations of a room that implement a clause, each once: declarations, which
        have the contract, before definitions. All that mention it if none implements it."""
        found = [place for place in self.places[clause].get(room, []) if place.file.startswith(within)
                 and place.file.endswith((".hpp", ".cpp", ".h", ".cu")) and "/vectors/" not in place.file]
        chosen = [place for place in found if self.implements(place, clause)] or found
        spans = []
        for place in chosen:
            lines = self.lines_of(place.file)
            span = sources.definition_around(lines, place.line - 1)
            if span and span[1] - span[0] < 120 and lines[span[0]].strip():
                spans.append(Excerpt(place.file, span[0] + 1, span[1] + 1))
        spans = [one for one in dict.fromkeys(spans) if not any(
            other != one and other.file == one.file and other.first <= one.first and one.last <= other.last
            for other in spans)]
        return sorted(spans, key=lambda one: (not one.file.endswith((".hpp", ".h")), one.file, one.first))

    def contracts(self, clause):
        """[(contract, its kernels)] of the leaves that a clause rules."""
        found = []
        for file in CONTRACTS:
            for place in self.places[clause].get("optimized", []):
                span = sources.unit(self.lines_of(file), place.line - 1) if place.file == file else None
                name = KERNEL.search("\n".join(self.lines_of(file)[span[0]:span[1] + 1])) if span else None
                if name:
                    found.append((Excerpt(file, span[0] + 1, span[1] + 1), self.kernels_of(name[1], file)))
        return list({contract: kernels for contract, kernels in found}.items())

    def kernels_of(self, name, contracts):
        """Every backend's definition of a kernel."""
        folder = MASKS if contracts == CONTRACTS[1] else leaves.LEAVES
        pattern = re.compile(rf"^(?:template .*\n)?(?:\[\[.*\]\] )?[\w:<>,*& ]+[ &*]{name}\(", re.MULTILINE)
        found = []
        for path in sorted((self.root / folder).glob("**/*.[ch]pp")):
            file, text = path.relative_to(self.root).as_posix(), path.read_text()
            match = pattern.search(text)
            span = sources.unit(self.lines_of(file), text.count("\n", 0, match.start())) if match else None
            if span and "{" in "".join(self.lines_of(file)[span[0]:span[1] + 1]):
                backend = path.parent.name if path.parent.name != "leaf" else "every backend"
                if folder == MASKS:
                    proof = self.kernels.of_masks(name)
                else:
                    proof = self.kernels.of(backend, name)
                found.append(Kernel(name, backend, Excerpt(file, span[0] + 1, span[1] + 1), proof))
                if backend == "portable":
                    proof = self.kernels.of("portable on AArch64", name)
                    found.append(found[-1]._replace(backend="portable on AArch64", proof=proof))
        if any(kernel.backend == "neon" for kernel in found):  # which then does not take the portable one
            found = [kernel for kernel in found if kernel.backend != "portable on AArch64"]
        return found

    def claims_of(self, clause):
        return [claim for claim in self.claims if clause in claim.clauses]

    def rows_of_soundness(self):
        """The table "Claim by claim"; where a cell is as the one above it, the one above it."""
        found = status.table_rows(self.library.texts["proofs/SOUNDNESS.md"], "Claim by claim")
        for above, row in zip(found, found[1:], strict=False):
            row[:] = [up if cell == "as above" else cell for up, cell in zip(above, row, strict=True)]
        return found

    def soundness_of(self, clause):
        return [row for row in self.soundness if clause in status.named(row[0])]

    def mutants_of(self, clause):
        return [one for one in self.mutants if clause in status.named(one["name"])]

    def cases(self):
        """{clause: [(file, line, group, case)]} of the vectors."""
        found = {}
        for path in sorted((self.root / "conformance/vectors").glob("*.json")):
            text = path.read_text()
            at = {match[1]: text.count("\n", 0, match.start()) + 1
                  for match in re.finditer(r'"tcId": "([^"]+)"', text)} if len(text) < 3_000_000 else {}
            for group in json.loads(text).get("testGroups", []):
                for case in group["tests"]:
                    name = path.relative_to(self.root).as_posix()
                    found.setdefault(case["tcId"].split("/")[0], []).append(
                        (name, at.get(case["tcId"]), group, case))
        return found

    def rows_of_attacks(self):
        """[(head, cells)] of the tables of attacks of the threat model."""
        part = markdown.section(self.library.documents["spec/threat-model.md"], "attacks")
        found = []
        for table in re.findall(r"<table.*?</table>", part, re.DOTALL):
            head = re.findall(r"<th[^>]*>(.*?)</th>", table, re.DOTALL)
            found += [(head, cells) for cells in markdown.rows(table)]
        return found

    def attacks_on(self, clause):
        return [(head, cells) for head, cells in self.attacks
                if f"clause/{clause}.html" in "".join(cells)]

    def errata_of(self):
        """[(id, title, {label: HTML of its paragraphs})] of the errata, in order."""
        found = []
        for name, title, content in markdown.sections(self.library.documents["spec/errata.md"], 2):
            parts = re.split(r"<p><strong>([\w ]+)\.</strong>", content)[1:]
            found.append((name, title, {label: f"<p>{text}" for label, text in
                                        zip(parts[::2], parts[1::2], strict=True)}))
        return found

    def errata_on(self, clause):
        return [erratum for erratum in self.errata
                if clause in status.named(markdown.text_of(erratum[2].get("Clauses", "")))]

    def title_of(self, clause):
        """The title of a clause, in HTML."""
        return re.search(r"<p><strong>(.*?)\.</strong>", self.texts[clause], re.DOTALL)[1]

    def badges(self, clause):
        """[(kind, text, source)] of a clause; see status.py."""
        found = []
        claims = [claim for claim in self.claims_of(clause) if claim.closed]
        if claims:
            found.append(("proved", f"proved in Coq: {count(len(claims), 'claim')}",
                          "proofs/coq/assumptions.golden"))
        kernels = [kernel for _, kernels in self.contracts(clause) for kernel in kernels
                   if kernel.proof[0] == "machine"]
        if kernels:
            free = sum("any size" in kernel.proof[1] for kernel in kernels)
            sizes = [f"{count(number, 'kernel')} {how}" for number, how in
                     [(free, "of any size"), (len(kernels) - free, "at listed sizes")] if number]
            found.append(("machine", f"machine code proved: {', '.join(sizes)}", "proofs/SOUNDNESS.md"))
        if "test" in self.clauses[clause][1]:
            found.append(self.badge_of_tests(clause))
        if clause in self.assumptions:
            found.append(("assumed", f"assumed in part: {self.assumptions[clause]}", "spec/threat-model.md"))
        if clause in self.unclaimed:
            found.append(("unclaimed", "the paper's property is not claimed", "spec/definitions.md"))
        return found

    def badge_of_tests(self, clause):
        ended = status.outcomes(self.run, clause)
        if ended.get("failed"):
            return "failed", f"{count(ended['failed'], 'test')} failed in the last run", "build/results"
        if ended.get("passed"):
            more = f", {ended['skipped']} skipped" if ended.get("skipped") else ""
            return "tested", f"{count(ended['passed'], 'test')} passed in the last run{more}", "build/results"
        there_are = count(len(self.tests_of(clause)), "test")
        return "tested", f"tested: {there_are}; no run at hand", "property_tests"

    def tests_of(self, clause):
        """[(file, line, name)]: tests that have the id in their name, or places that mention it."""
        named = self.tests.get(clause, [])
        return named or [(place.file, place.line, place.symbol or place.file.rsplit("/", 1)[-1])
                         for place in self.places[clause].get("test", []) if not place.file.endswith(".md")]


def count(number, noun):
    return f"{number} {noun}" + ("" if number == 1 else "s")
