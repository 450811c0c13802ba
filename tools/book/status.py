"""What is known of a clause, in badges, each from the file that states it:

    proved      a claim of proofs/coq/Claims.v that assumptions.golden lists as closed
    machine     kernels whose machine code is proved, of any size or at listed sizes: proofs/SOUNDNESS.md
    tested      tests that name the clause; with build/results, how they ended in the last run
    assumed     an assumption of the threat model, or a row of SOUNDNESS.md's, names the clause
    unclaimed   definitions.md says that the property is not claimed
"""

import re
import xml.etree.ElementTree as xml
from typing import NamedTuple

import test_summary
from checks import tree

KINDS = {"proved": "proved for all sizes, by Coq", "machine": "machine code of kernels proved",
         "tested": "tested", "assumed": "rests on an assumption", "unclaimed": "not claimed"}
CLAUSE = re.compile(r"(?<![\w-])([A-Z]{2,}-[0-9]+)(?![\w])")
RANGE = re.compile(r"\b([A-Z]+)-([0-9]+) to \1-([0-9]+)\b")


class Claim(NamedTuple):
    """A claim of Coq's: its words, without the clauses that they begin with, and where it stands."""
    name: str
    clauses: list
    words: str
    first: int  # lines, from 1
    last: int
    closed: bool


def named(text):
    """The clauses that a text names, ranges among them."""
    found = set(CLAUSE.findall(text))
    for family, first, last in RANGE.findall(text):
        found |= {f"{family}-{number}" for number in range(int(first), int(last) + 1)}
    return found


def claims(root):
    """The claims of Claims.v, in its order."""
    text = (root / "proofs/coq/Claims.v").read_text()
    closed = set(re.findall(r"^(\w+): Closed under the global context$",
                            (root / "proofs/coq/assumptions.golden").read_text(), re.MULTILINE))
    found, words, comment_at = [], "", 0
    statement = re.compile(r"(?:\(\* ((?:(?!\*\)).)*?) ?\*\)\n)?Definition (claim_\w+) :.*?\.\n"
                           r"(?=\n|Definition|\Z)", re.DOTALL)
    for match in statement.finditer(text):
        if match[1]:  # a second definition below a comment shares it
            words, comment_at = re.sub(r"\s+", " ", match[1]), match.start()
        about = re.match(r"((?:[A-Z]+-[0-9]+(?:, | and )?)*)\.? ?(.*)", words)
        found.append(Claim(match[2], CLAUSE.findall(words.split(". ")[0]), about[2],
                           text.count("\n", 0, comment_at) + 1, text.count("\n", 0, match.end()),
                           match[2] in closed))
    return found


def table_rows(text, heading, level=2):
    """[[cell]] of the rows of the first table of Markdown below a heading, without its head."""
    part = re.split(rf"^#{{{level}}} {re.escape(heading)}$", text, maxsplit=1, flags=re.MULTILINE)[1]
    table = re.search(r"^\|.*?(?=^[^|])", part + "\n.", re.MULTILINE | re.DOTALL)
    return [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in table[0].splitlines()[2:]]


def unproved_on_aarch64(soundness):
    """The kernels that the neon backend has or takes from the portable one and that are not proved, as "Not
    covered" says; None if it says nothing of them."""
    found = re.search(r"kernels\s+that\s+the\s+neon\s+backend\s+has\s+or\s+takes\s[^;]*?\sare\s+proved\s"
                      r"[^;]*?(?:but\s+for\s([^;]*))?;", soundness)
    return set(re.findall(r"`(\w+)`", found[1] or "")) if found else None


class Kernels:
    """The tables "Machine code" of SOUNDNESS.md, with the exceptions that "Not covered" makes."""

    def __init__(self, soundness):
        self.rows = {}
        for cells in table_rows(soundness, "Machine code", 3):
            backend, count, any_size = cells
            done, total = map(int, count.split(" of "))
            self.rows[backend] = (done, total, set(re.findall(r"`(\w+)`", any_size)))
        self.unproved = unproved_on_aarch64(soundness)
        self.masks = {}  # {leaf: the backends of which it is proved of any size}
        row = re.compile(r"^\| ([\w ]+), masks \| [^|]* \| ([^|]*) \|", re.MULTILINE)
        for backend, names in row.findall(soundness):
            for name in re.findall(r"`(\w+)`", names):
                self.masks.setdefault(name, []).append(backend)

    def of_masks(self, leaf):
        """The same for a leaf of lattice masks, which all backends share."""
        if leaf not in self.masks:
            return "tested", "not proved: tested"
        return "machine", f"proved of any size: {', '.join(self.masks[leaf])}"

    def of(self, backend, kernel):
        """(kind of badge, what is proved of a kernel's machine code)."""
        backend = "neon on AArch64" if backend == "neon" else backend
        done, total, any_size = self.rows.get(backend, (0, 0, set()))
        if kernel in any_size:
            return "machine", "proved of any size"
        on_aarch64 = backend == "portable on AArch64" and (
            self.unproved is not None and kernel not in self.unproved)
        if done == total and total or on_aarch64:
            return "machine", "proved at listed sizes"
        return "tested", "not proved: tested"


def assumptions(root):
    """{clause: the assumption that names it}, of the threat model."""
    text = (root / "spec/threat-model.md").read_text()
    part = re.split(r"^## Assumptions$", text, flags=re.MULTILINE)[1].split("\n## ")[0]
    found = {}
    for entry in re.findall(r"^[0-9]+\. .*?(?=^[0-9]+\. |\Z)", part, re.MULTILINE | re.DOTALL):
        number = entry.split(".")[0]
        for clause in named(entry):
            found.setdefault(clause, f"assumption {number} of the threat model")
    return found


def unclaimed(root):
    """The definitions that definitions.md says are not claimed."""
    return {clause for clause, says in re.findall(r"^\|[^|]*\| (DEF-[0-9]+) \| ([^|]*)",
                                                  (root / "spec/definitions.md").read_text(), re.MULTILINE)
            if says.startswith("not claimed")}


def last_run(root):
    """{name of a test: "passed", "failed" or "skipped"} of build/results; of several runs the worst."""
    order = ["skipped", "passed", "failed"]
    found = {}
    for path in sorted((root / "build/results").glob("*.xml")):
        for case in xml.parse(path).getroot().iter("testcase"):
            name, outcome = case.get("name", ""), test_summary.outcome(case)
            if name not in found or order.index(outcome) > order.index(found[name]):
                found[name] = outcome
    return found


def outcomes(run, clause):
    """{outcome: how many} of the tests of a run that a clause's id names."""
    word = re.compile(rf"(?<![A-Za-z0-9]){clause.replace('-', '[-_]')}(?![0-9])")
    counts = {}
    for name, outcome in run.items():
        if word.search(name):
            counts[outcome] = counts.get(outcome, 0) + 1
    return counts


def test_names(root):
    """{clause: tests of property_tests whose names have its id}, as `stem: Suite.NAME`."""
    pattern = re.compile(r"^(?:TEST|TEST_F|TEST_P|PROFILE_TEST|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP|\w*_TEST)"
                         r"\(\s*(\w+),\s*(\w+)|^ +def (test_\w+)", re.MULTILINE)
    found = {}
    for path in tree.files(root, ("_test.cpp", "_test.py"), "property_tests"):
        text = path.read_text()
        for match in pattern.finditer(text):
            name = match[2] or match[3]
            for family, number in re.findall(r"(?<![A-Za-z0-9])([A-Z]{2,})_([0-9]+)(?![0-9])", name):
                line = text.count("\n", 0, match.start()) + 1
                found.setdefault(f"{family}-{number}", []).append(
                    (path.relative_to(root).as_posix(), line, f"{match[1]}.{name}" if match[1] else name))
    return found
