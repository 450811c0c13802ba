"""A constant of the protocol has one value wherever it stands: in the clauses, the tables and the code.

tools/constants.txt lists the places of each. A line without indentation names a constant; each indented
line below it is 'PLACE: PHRASE'. PLACE is a clause or a file, and PHRASE what stands there, with {} for the
value and one blank for any white space. {/ 1000} divides what is found by 1000 before it is compared, as
where milliseconds are seconds elsewhere. {} is a number in a clause or a Markdown file, and any expression
of numbers in code.

In the product's code a constant stands once. Those of spec/parameters.md stand in HOME, in FRAMES, or in
a public header, and all that stands in HOME is listed."""

import re

from checks import numbers

TABLE = "tools/constants.txt"
HOME = "optimized/base/parameters.hpp"
FRAMES = "optimized/protocol/frames.hpp"  # codes on the wire and sizes of frames
PRODUCT, PUBLIC = ("optimized/", "include/"), "include/slip/"
DEFINITION = re.compile(r"inline constexpr [^;]*;")
LISTED = ("spec/parameters.md", ["Fixed numbers"])  # a table without a gap
CLAUSE = re.compile(r"[A-Z]+-[0-9]+")
HOLE = re.compile(r"\{((?:[-+*/] -?[0-9]+)?)\}")
NUMBER = r"(0x[0-9a-f]+|-?[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?(?:\^-?[0-9]+)?)"
EXPRESSION = r"(\S|\S[^;]*?\S)"
SPELLINGS = [  # C++ and Python as numbers.evaluate() reads them
    (r"[A-Za-z_][A-Za-z_0-9:]*\{([^{}]*)\}", r"(\1)"),
    (r"(?<=[0-9])'(?=[0-9])", ""),
    (r"0x([0-9]+)p(-?[0-9]+)[fF]?", r"(\1 * 2^\2)"),
    (r"0x[0-9a-fA-F]+\b", lambda match: str(int(match[0], 16))),
    (r"(?<=[0-9.])[uUlLfF]+\b", ""),
    (r"\*\*", "^"),
    (r"<< *([0-9]+)", r"* 2^\1"),
]


class Place:
    def __init__(self, line, number):
        self.where, self.phrase = line.split(": ", 1)
        self.number = number
        self.is_text = bool(CLAUSE.fullmatch(self.where)) or self.where.endswith(".md")

    def pattern(self):
        hole = HOLE.search(self.phrase)
        before, behind = self.phrase[:hole.start()], self.phrase[hole.end():]
        value = NUMBER if self.is_text else EXPRESSION
        return re.compile(re.escape(before) + value + re.escape(behind))

    def value(self, found):
        for spelling, plain in SPELLINGS:
            found = re.sub(spelling, plain, found)
        return numbers.evaluate(f"({found}) {HOLE.search(self.phrase)[1]}")


def one_line(text):
    return " ".join(text.split())


def read_table(root, problems):
    """{constant: [Place]}."""
    constants, name = {}, None
    for number, line in enumerate((root / TABLE).read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith(" "):
            name = line.strip()
            if name in constants:
                problems.append(f"{TABLE}:{number}: '{name}' stands twice")
            constants[name] = []
        elif name is None or ": " not in line or len(HOLE.findall(line)) != 1:
            problems.append(f"{TABLE}:{number}: expected 'PLACE: PHRASE' below a name, with one {{}}")
        else:
            constants[name].append(Place(one_line(line), number))
    return constants


def read_sections(text):
    """{clause or heading: its text on one line} of a chapter."""
    sections, name = {}, None
    for line in text.splitlines():
        if line.startswith("#"):
            name = line.strip("# ")
            sections[name] = []
        elif name:
            sections[name].append(line)
    return {name: one_line(" ".join(lines)) for name, lines in sections.items()}


def read_clauses(root):
    found = {}
    for path in sorted((root / "spec").glob("*.md")):
        found.update((name, text) for name, text in read_sections(path.read_text()).items()
                     if CLAUSE.fullmatch(name))
    return found


def values_at(place, root, texts, problems):
    """Every value that `place` holds; [] and a problem if there is none."""
    where = f"{TABLE}:{place.number}: {place.where}"
    text, path = texts.get(place.where), root / place.where
    if text is None and path.is_file():
        text = one_line(path.read_text())
    if text is None:
        problems.append(f"{where} is no clause and no file")
        return []
    found = place.pattern().findall(text)
    if not found:
        problems.append(f"{where} does not say '{place.phrase}'")
    try:
        return [place.value(value) for value in found]
    except numbers.NotNumbers:
        problems.append(f"{where}: cannot compute {found} in '{place.phrase}'")
        return []


def compare(name, places, root, texts, problems):
    values = {}
    for place in places:
        for value in values_at(place, root, texts, problems):
            values.setdefault(value, set()).add(place.where)
    if len(values) > 1:
        said = "; ".join(f"{value} in {', '.join(sorted(where))}"
                         for value, where in sorted(values.items()))
        problems.append(f"{name} has several values: {said}")
    if not any(place.is_text for place in places) or all(place.is_text for place in places):
        problems.append(f"{TABLE}: '{name}' needs a place in the text and one in the code")
    product = sorted({place.where for place in places if place.where.startswith(PRODUCT)})
    if len(product) > 1:
        problems.append(f"{TABLE}: '{name}' stands in {' and '.join(product)}, expected once")


def untied_definitions(root, constants):
    """Definitions of HOME that no line of the table is about."""
    tied = [place.pattern() for places in constants.values() for place in places
            if place.where == HOME]
    for definition in DEFINITION.findall(one_line((root / HOME).read_text())):
        if not any(pattern.search(definition) for pattern in tied):
            yield f"{HOME}: '{definition}' is tied to no text: it has no place in {TABLE}"


def rows_without_a_place(root, constants):
    """Rows of the tables of parameters that are tied to nothing in HOME, FRAMES and public headers."""
    path, headings = LISTED
    tied = [place.pattern() for places in constants.values() for place in places
            if place.where == path
            and any(other.where in (HOME, FRAMES) or other.where.startswith(PUBLIC) for other in places)]
    section = None
    for line in (root / path).read_text().splitlines():
        if line.startswith("#"):
            section = line.strip("# ")
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if section in headings and cells[0] and re.search("[0-9]", "".join(cells[1:])):
            if not any(pattern.search(one_line(line)) for pattern in tied):
                yield f"{path}: '{cells[0]}' is tied to no code: {TABLE} has no place of it in {HOME}"


def check(root):
    problems = []
    constants = read_table(root, problems)
    texts = read_clauses(root)
    for name, places in constants.items():
        compare(name, places, root, texts, problems)
    return [*problems, *untied_definitions(root, constants), *rows_without_a_place(root, constants)]
