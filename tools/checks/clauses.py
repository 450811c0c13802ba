"""Clauses of spec/ and the rooms that they declare: no unknown id in the house, no declared room
without the id, no room that implements a clause and is not declared, a test for every MUST, no clause
that a comment looks for in another chapter."""

import re

from checks import tree

# A clause begins with two lines, a blank one between them: its id, and its title, level and rooms.
HEADING = re.compile(r"^### ([A-Z]+-[0-9]+)$")
LIKE_HEADING = re.compile(r"^#+ +[A-Z]{2,}-[0-9]+")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
DECLARATION = re.compile(r"^\*\*.+\.\*\* ([A-Z]+); ([a-z]+(?:, [a-z]+)*)$")
LEVELS = {"MUST", "SHOULD", "MAY"}
# Ids that are not used again. Chapters may say that they are withdrawn; no other room has them.
WITHDRAWN = {"RING-4", "INTEG-8", "INTEG-9"} | {f"OFF-{number}" for number in range(1, 18)}
# A room's name in a clause -> the folders in which its id must stand.
ROOMS = {
    "reference": ["reference"],
    "optimized": ["include/slip", "optimized", "programs/slip", "programs/endpoint"],
    "test": ["property_tests"],
    "proof": ["proofs"],
    "vector": ["conformance/vectors"],
}
TEXT = tree.SOURCES + (".py", ".v", ".json", ".md")
# The end of a line, and what the next line of a comment begins with.
COMMENT_LINES = re.compile(r"\n[ \t]*(?://+<?|#+|\*(?!\)))?[ \t]*")
OPENING = re.compile(r"(?:[ \t]*//[^\n]*\n)+|/\*.*?\*/", re.DOTALL)


def without_fences(text):
    """`text` with the lines of its fenced blocks empty."""
    return FENCE.sub(lambda block: "\n" * block[0].count("\n"), text)


def declaration(lines, number):
    """(level, rooms) that the second line after a heading declares; None if it declares nothing."""
    match = DECLARATION.match(lines[number + 1]) if number + 1 < len(lines) else None
    return (match[1], match[2].split(", ")) if match and not lines[number] else None


def read_clauses(root, problems):
    """{'MASK-3': (level, rooms, chapter)} of every chapter."""
    clauses = {}
    for chapter in tree.files(root, (".md",), "spec"):
        name = chapter.relative_to(root).as_posix()
        lines = without_fences(chapter.read_text()).splitlines()
        for number, line in enumerate(lines, 1):
            if not LIKE_HEADING.match(line):
                continue
            heading, declared = HEADING.match(line), declaration(lines, number)
            if not heading or not declared:
                problems.append(f"{name}:{number}: expected '### ID-N', a blank line and "
                                "'**Title.** MUST; room, room'")
                continue
            clause, (level, rooms) = heading[1], declared
            if clause in clauses:
                problems.append(f"{name}:{number}: {clause} is also in {clauses[clause][2]}")
            if clause in WITHDRAWN:
                problems.append(f"{name}:{number}: {clause} is withdrawn; expected a new id")
            if level not in LEVELS:
                problems.append(f"{name}:{number}: level '{level}' is none of {sorted(LEVELS)}")
            for room in rooms:
                if room not in ROOMS:
                    problems.append(f"{name}:{number}: {clause} declares unknown room '{room}'")
            if level == "MUST" and "test" not in rooms:
                problems.append(f"{name}:{number}: {clause} is a MUST and declares no test")
            clauses[clause] = (level, [room for room in rooms if room in ROOMS], name)
    return clauses


def uses(root, folders, families, suffixes=TEXT):
    """{'MASK-3': {file}} for ids, written MASK-3 or MASK_3, of the known families."""
    pattern = re.compile(r"(?<![A-Za-z0-9])(" + "|".join(sorted(families)) + r")[-_]([0-9]+)(?![0-9])")
    found = {}
    for folder in folders:
        for path in tree.files(root, suffixes, folder):
            for match in pattern.finditer(path.read_text()):
                found.setdefault(f"{match[1]}-{match[2]}", set()).add(
                    path.relative_to(root).as_posix())
    return found


def implemented(root, folders, families):
    """{'MASK-3': {file}} for ids that a comment begins with, alone or in a list, as in
    "// MASK-1, MASK-3. ..." or a "// MASK-3" after a signature. An id further on is a mention."""
    one = "(?:" + "|".join(sorted(families)) + r")-[0-9]+"
    pattern = re.compile(rf'(?:///?<?|\(\*|#|""") *({one}(?:(?:, | and | to ){one})*) *'
                         r"(?:[.:]|\*\)|$)", re.MULTILINE)
    found = {}
    for folder in folders:
        for path in tree.files(root, tuple(s for s in TEXT if s != ".md"), folder):
            for match in pattern.finditer(path.read_text()):
                for clause in re.findall(one, match[1]):
                    found.setdefault(clause, set()).add(path.relative_to(root).as_posix())
    return found


def undeclared(root, clauses, families):
    """A room whose comments say that it implements a clause stands in the clause."""
    problems = []
    for room, folders in ROOMS.items():
        for clause, places in sorted(implemented(root, folders, families).items()):
            if clause in clauses and room not in clauses[clause][1]:
                problems.append(f"{clauses[clause][2]}: {clause} does not declare '{room}', but "
                                f"{', '.join(sorted(places))} implements it")
    return problems


def wrong_chapters(root, clauses, families):
    """A comment's `spec/ring.md, RING-1 and RING-3` names clauses of that chapter. Where the opening
    comment of a file of the product or the reference names a chapter that has clauses, the file names
    one of them, or no clause at all."""
    one = "(?:" + "|".join(sorted(families)) + r")-[0-9]+(?![0-9])"
    cited = re.compile(rf"\b(spec/[\w-]+\.md), ({one}(?:(?:, | and | to ){one})*)")
    chapters = {chapter for _, _, chapter in clauses.values()}
    problems = []
    for path in {path for folders in ROOMS.values() for folder in folders
                 for path in tree.files(root, tree.SOURCES + (".py", ".v"), folder)}:
        name, text = path.relative_to(root).as_posix(), path.read_text()
        for chapter, ids in cited.findall(COMMENT_LINES.sub(" ", text)):
            problems += [f"{name}: looks for {clause} in {chapter}; it is in {clauses[clause][2]}"
                         for clause in re.findall(one, ids)
                         if clause in clauses and clauses[clause][2] != chapter]
        opening = OPENING.match(text)
        if not opening or not name.startswith(tuple(ROOMS["reference"] + ROOMS["optimized"])):
            continue
        named = {clauses[clause][2] for clause in re.findall(one, text) if clause in clauses}
        for chapter in set(re.findall(r"\bspec/[\w-]+\.md", opening[0])) & chapters:
            if named and chapter not in named:
                problems.append(f"{name}: begins with {chapter}, and names no clause of it")
    return sorted(problems)


def check(root):
    problems = []
    clauses = read_clauses(root, problems)
    if not clauses:
        return problems + ["spec/: no clause found"]
    families = {clause.split("-")[0] for clause in clauses}
    for room, folders in ROOMS.items():
        found = uses(root, folders, families)
        for clause in sorted(set(found) - set(clauses)):
            problems.append(f"{', '.join(sorted(found[clause]))}: {clause} is no clause of spec/")
        if room == "proof":  # a text that speaks of a clause does not prove it
            found = uses(root, folders, families, tuple(s for s in TEXT if s != ".md"))
        for clause, (_, rooms, chapter) in sorted(clauses.items()):
            if room in rooms and clause not in found:
                problems.append(f"{chapter}: {clause} declares '{room}', but {' or '.join(folders)} "
                                "does not name it")
    for clause, places in sorted(uses(root, ["spec"], families).items()):
        if clause not in clauses and clause not in WITHDRAWN:
            problems.append(f"{', '.join(sorted(places))}: refers to {clause}, which is no clause")
    return problems + undeclared(root, clauses, families) + wrong_chapters(root, clauses, families)
