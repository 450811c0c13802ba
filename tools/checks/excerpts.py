"""Chapters quote the reference as it stands: every marked block of a Markdown file is the definition
that it names.

    <!-- excerpt: reference/masking.cpp mask -->
    (a fenced block)
    <!-- end of excerpt -->

SYMBOL@2 names the second of several definitions.
"""

import re
import textwrap

from checks import tree

BLOCK = re.compile(r"<!-- excerpt: (\S+) (\S+) -->\n(.*?)<!-- end of excerpt -->\n", re.DOTALL)
MARK = re.compile(r"<!-- (?:excerpt\b|end of excerpt)")


class Unknown(Exception):
    """The file or the definition that an excerpt names is not there exactly once."""


def definition(root, file, symbol):
    """The lines of the definition of `symbol` in `file`, without their indentation. Raises Unknown."""
    lines, first, last = span(root, file, symbol)
    return textwrap.dedent("\n".join(lines[first:last + 1]))


def span(root, file, symbol):
    """(all lines of `file`, the first and the last index of the definition of `symbol`). Raises Unknown."""
    path = root / file
    if not path.is_file():
        raise Unknown(f"{file} does not exist")
    lines = path.read_text().splitlines()
    name, _, which = symbol.partition("@")
    # A definition begins a line, at the level of a namespace or of a class.
    before = r"(?:    )?(?:(?!return\b)[\w:<>,&*\[\] ]+[ &*])?"
    start = re.compile(before + re.escape(name) + r"(?:\(| \{)")
    found = [i for i, line in enumerate(lines) if start.match(line) and not is_declaration(lines, i)]
    if which == "" and len(found) != 1 or which and not 1 <= int(which) <= len(found):
        raise Unknown(f"{file} has {len(found)} definitions of '{name}', not the one of '{symbol}'")
    first = found[int(which or 1) - 1]
    return lines, first, end_of(lines, first)


def end_of(lines, first):
    """The line on which the braces that open from line `first` on are closed, or a declaration ends."""
    depth = opened = 0
    for i in range(first, len(lines)):
        code = re.sub(r"'\\?.'|\"(?:\\.|[^\"])*\"|//.*", "", lines[i])
        opened += code.count("{")
        depth += code.count("{") - code.count("}")
        if depth == 0 and (opened or code.rstrip().endswith(";")):
            return i
    return len(lines) - 1


def is_declaration(lines, first):
    return lines[end_of(lines, first)].rstrip().endswith(";") and "{" not in "".join(
        lines[first:end_of(lines, first) + 1])


def filled(root, text):
    """`text` with every excerpt as the code has it. Raises Unknown."""
    def fill(match):
        file, symbol, _ = match.groups()
        code = definition(root, file, symbol)
        return (f"<!-- excerpt: {file} {symbol} -->\n```cpp\n{code}\n```\n<!-- end of excerpt -->\n")
    return BLOCK.sub(fill, text)


def check(root):
    problems = []
    for path in tree.files(root, (".md",)):
        name = path.relative_to(root).as_posix()
        text = path.read_text()
        if len(MARK.findall(text)) != 2 * len(BLOCK.findall(text)):
            problems.append(f"{name}: an excerpt's marks are not in pairs")
            continue
        try:
            if filled(root, text) != text:
                problems.append(f"{name}: an excerpt differs from the code; run tools/excerpts --write")
        except Unknown as error:
            problems.append(f"{name}: {error}")
    return problems
