"""What would make a book wrong: links that lead nowhere, clauses without their text or their reference
function, badges that their sources do not bear out, formulas that do not say what they were made from."""

import html
import posixpath
import re

from book import formulas, markdown, status
from checks import clauses

LINK = re.compile(r'\b(?:href|src|action)="([^"]*)"')
ID = re.compile(r'\bid="([^"]*)"')


def load(folder):
    """{address: HTML} of the pages of a book."""
    return {path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*.html"))}


def links(pages, files=()):
    """Problems of links, and of ids that a page has twice. `files` are the addresses of what is no page."""
    problems, ids = [], {address: ID.findall(page) for address, page in pages.items()}
    for address, found in ids.items():
        problems += [f"{address}: has the id '{one}' twice" for one in set(found) if found.count(one) > 1]
    known = {address: set(found) for address, found in ids.items()}
    for address, page in pages.items():
        for target in set(LINK.findall(page)):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, fragment = html.unescape(target).partition("#")
            to = posixpath.normpath(posixpath.join(posixpath.dirname(address), file)) if file else address
            if to not in known and to not in files:
                problems.append(f"{address}: link to '{target}', which does not exist")
            elif fragment and fragment not in known.get(to, ()):
                problems.append(f"{address}: link to '{target}', but there is no such place")
    return problems


def room(page, name):
    """The section of a clause's page that has the id `name`; "" if there is none."""
    match = re.search(rf'<section id="{name}">(.*?)</section>', page, re.DOTALL)
    return match[1] if match else ""


def sentences(text):
    """The runs of plain words in a clause's Markdown, all but the short ones."""
    text = re.sub(r"(?s:^```.*?^```|<!--.*?-->)|`[^`]*`|\[[^\]]*\]\([^)]*\)|^\|.*$|^\*\*.*$", "|", text,
                  flags=re.MULTILINE)
    runs = [re.sub(r"\s+", " ", run).strip() for run in re.split(r"[^A-Za-z,'\s]|\n\n", text)]
    return [run for run in runs if len(run) >= 20] or [max(runs, key=len)]


def text_of_clause(root, clause, chapter):
    return re.search(rf"^### {clause}$\n(.*?)(?=^#{{1,3}} |\Z)", (root / chapter).read_text(),
                     re.MULTILINE | re.DOTALL)[1]


def rooms(pages, root):
    """Problems of the pages of clauses: there is one for each, one click from the front page, with its text
    and, if the clause declares a reference, with definitions of the reference."""
    problems = []
    for clause, (_, declared, chapter) in clauses.read_clauses(root, []).items():
        address = f"clause/{clause}.html"
        page = pages.get(address)
        if page is None:
            problems.append(f"{address}: is missing")
            continue
        if f'href="./{address}"' not in pages["index.html"]:
            problems.append(f"index.html: has no link to {address}")
        shown = re.sub(r"\s+", " ", markdown.text_of(room(page, "text")))
        lacking = [one for one in sentences(text_of_clause(root, clause, chapter)) if one not in shown]
        if lacking:
            problems.append(f"{address}: lacks the text of {chapter}: '{lacking[0]}'")
        functions = re.findall(r'href="[^"]*source/reference/[^"]*"', room(page, "reference"))
        if "reference" in declared and not functions:
            problems.append(f"{address}: has no reference function")
        if "vector" in declared and "<h3>Input</h3>" not in room(page, "vectors"):
            problems.append(f"{address}: has no vector")
        for other in ("test", "proof"):
            if other in declared and not room(page, {"test": "tests"}.get(other, other)):
                problems.append(f"{address}: has no room '{other}'")
    return problems


def badges(pages, root):
    """Problems of badges: claims that the golden list does not have as closed, a number of claims that is
    not that of the page, kernels that the table of SOUNDNESS.md does not have as proved, tests that were not
    run."""
    golden = (root / "proofs/coq/assumptions.golden").read_text()
    soundness = (root / "proofs/SOUNDNESS.md").read_text()
    run, problems = status.last_run(root), []
    for clause in clauses.read_clauses(root, []):
        page = pages.get(f"clause/{clause}.html", "")
        named = re.findall(r'<h3 id="(claim_\w+)"><code>\1</code> <span class="badge proved">', page)
        problems += [f"{clause}: {name} is not closed" for name in named
                     if f"{name}: Closed under the global context" not in golden]
        said = re.search(r"proved in Coq: ([0-9]+) claim", page)
        claimed = int(said[1]) if said else 0
        if claimed != len(named):
            problems.append(f"{clause}: its badge speaks of {claimed} claims, not of {len(named)}")
        problems += kernels(clause, page, soundness)
        passed = re.search(r"([0-9]+) tests? passed in the last run", page)
        if passed and int(passed[1]) != status.outcomes(run, clause).get("passed", 0):
            problems.append(f"{clause}: its badge speaks of {passed[1]} tests that passed")
    return problems


def kernels(clause, page, soundness):
    """Problems of the badges of a page's kernels."""
    names = {"portable C++": "portable", "AVX2": "avx2", "AVX-512": "avx512", "NEON": "neon on AArch64",
             "portable C++ on AArch64": "portable on AArch64"}
    unproved = status.unproved_on_aarch64(soundness)
    badge = r'<code>(\w+)</code>, ([\w+ -]+) <span class="badge machine">([^<]*)<'
    for kernel, backend, said in re.findall(badge, page):
        row = re.search(rf"^\| {re.escape(names.get(backend, '-'))} \| (\d+) of (\d+) \|(.*)$", soundness,
                        re.MULTILINE)
        proved = row and ("any size" in said and f"`{kernel}`" in row[3]
                          or "listed" in said and row[1] == row[2]
                          or "listed" in said and backend.endswith("AArch64") and unproved is not None
                          and kernel not in unproved)
        if not (proved or backend == "every backend" and is_said_of_masks(kernel, said, soundness)):
            yield f"{clause}: SOUNDNESS.md does not say of {kernel} on {backend} '{said}'"


def is_said_of_masks(leaf, said, soundness):
    """Whether the table of leaves of masks names one for each backend of its badge."""
    listed = re.fullmatch(r"proved of any size: ([\w, ]+)", said)
    rows = [re.search(rf"^\| {backend}, masks \|(.*)$", soundness, re.MULTILINE)
            for backend in (listed[1].split(", ") if listed else ())]
    return bool(rows) and all(row and f"`{leaf}`" in row[1].split("|")[1] for row in rows)


def shown_formulas(pages):
    """Problems of formulas."""
    found = {math for page in pages.values() for math in re.findall(r"<math>.*?</math>", page, re.DOTALL)}
    return [f"a formula does not say what it was made from: {math[-120:]}" for math in sorted(found)
            if not formulas.agrees(math)]


def check(folder, root):
    """All problems of a book."""
    pages = load(folder)
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*")
             if path.is_file() and path.suffix != ".html"}
    return links(pages, files) + rooms(pages, root) + badges(pages, root) + shown_formulas(pages)
