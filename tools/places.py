"""Where the rooms of the house name a clause: files, lines and the symbols that stand there."""

import re
from typing import NamedTuple

from checks import clauses, tree

# What a line defines: a function, type, test or theorem, by its name.
SYMBOL = re.compile(
    r"(?:TEST|PROP)\((\w+, *\w+)|(?:Lemma|Theorem|Definition|Corollary) +(\w+)"
    r"|def +(\w+)|(?:class|struct) +(\w+)|([A-Za-z_][\w:~]*)\(")
REACH = 12  # lines after a comment in which the symbol that it speaks of stands


class Place(NamedTuple):
    file: str  # below the root
    line: int  # from 1
    symbol: str  # "" if none is found


def symbol_at(lines, index):
    """The symbol that line `index` belongs to: on the line itself or just below its comment."""
    for line in lines[index:index + REACH]:
        if re.match(r"\s*(//|/\*|\(\*|#)", line):
            continue
        match = SYMBOL.search(line)
        if match:
            return next(group for group in match.groups() if group).replace(", ", ".")
        if line.strip() and not line.strip().startswith(("namespace", "}")):
            break
    return ""


def places(root, known):
    """{clause: {room: [Place]}} of the clauses `known`, a dictionary as read_clauses returns it: for each
    room that the clause declares, every line that names it, in order of files and lines."""
    families = "|".join(sorted({clause.split("-")[0] for clause in known}))
    pattern = re.compile(rf"(?<![A-Za-z0-9])({families})[-_]([0-9]+)(?![0-9])")
    found = {clause: {room: [] for room in rooms} for clause, (_, rooms, _) in known.items()}
    for room, folders in clauses.ROOMS.items():
        for folder in folders:
            for path in tree.files(root, clauses.TEXT, folder):
                add_places(found, room, path.relative_to(root).as_posix(), path.read_text(), pattern)
    return found


def add_places(found, room, file, text, pattern):
    lines = text.splitlines() if pattern.search(text) else []
    for index, line in enumerate(lines):
        named = {f"{family}-{number}" for family, number in pattern.findall(line)}
        for clause in named & found.keys():
            if room in found[clause]:
                found[clause][room].append(Place(file, index + 1, symbol_at(lines, index)))
