"""One word for one thing. The table of words in spec/conventions.md says what each stands for and which
others are not used for it; those are refused in chapters, documents and comments, but not in `code` and
"quotations"."""

import ast
import io
import re
import tokenize

from checks import tree

TABLE = "spec/conventions.md"
HEADING = "## Words"
ROW = re.compile(r"^\| ([^|]+) \| [^|]+ \| ([^|]+) \|$")
# Other works and earlier versions are told of in their own words.
EXEMPT = {"spec/related-work.md", "spec/errata.md", "CHANGELOG.md"}
COMMENTED = tree.SOURCES + (".py", ".v")
FENCE = re.compile(r"^```.*?^```|<!--.*?-->", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r'`[^`\n]*`|"[^"]{0,200}"|\]\([^)]*\)|<[^>\n]*>|https?://\S+')
# A comment, in group 1, or a string, in which nothing is one.
CPP = re.compile(r'(//[^\n]*|/\*.*?\*/)|R"(\w*)\(.*?\)\2"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'',
                 re.DOTALL)
COQ = re.compile(r'(\(\*.*?\*\))|"[^"]*"', re.DOTALL)


def rows_in(text):
    """The section below HEADING; "" if there is none."""
    return text.partition(f"\n{HEADING}\n")[2].partition("\n## ")[0]


def words_instead(rows, problems):
    """{a word that is not used: the word that is} of the table in `rows`."""
    instead, words = {}, []
    for row in [line for line in rows.splitlines() if line.startswith("|")][2:]:
        match = ROW.match(row)
        if not match:
            problems.append(f"{TABLE}: '{row}': expected '| word | what it is | word, word |'")
            continue
        words.append(match[1])
        for other in match[2].lower().split(", "):
            if other in instead:
                problems.append(f"{TABLE}: '{other}' is not used for {instead[other]} and for {match[1]}")
            instead[other] = match[1]
    for word in set(map(str.lower, words)) & set(instead):
        problems.append(f"{TABLE}: '{word}' is a word, and is not used for {instead[word]}")
    if not words:
        problems.append(f"{TABLE}: expected a table below '{HEADING}'")
    if words != sorted(words, key=str.lower):
        problems.append(f"{TABLE}: the words are not in alphabetical order")
    return instead


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def comments(pattern, source):
    """The comments of a file, in their lines; all else is blank."""
    parts, at = [], 0
    for match in pattern.finditer(source):
        parts += [blank(source[at:match.start()]), match[1] or blank(match[0])]
        at = match.end()
    return "".join(parts)


def python_comments(source):
    """The comments and docstrings of a Python file, in their lines."""
    lines = [""] * (source.count("\n") + 2)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            lines[token.start[0] - 1] += token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            docstring = node.body[0].value
            for number, line in enumerate(docstring.value.split("\n"), docstring.lineno):
                lines[number - 1] += line
    return "\n".join(lines)


def prose(source, suffix):
    """What a file says to its readers, in its lines, without what it quotes."""
    if suffix == ".md":
        text = FENCE.sub(lambda match: blank(match[0]), source)
    elif suffix == ".py":
        text = python_comments(source)
    else:
        text = comments(COQ if suffix == ".v" else CPP, source)
    return QUOTED.sub(lambda match: blank(match[0]), text)


def check(root):
    problems = []
    table = root / TABLE
    rows = rows_in(table.read_text()) if table.exists() else ""
    instead = words_instead(rows, problems)
    if not instead:
        return problems
    # A word of several parts may be broken over two lines, with what begins a comment between them.
    others = "|".join(re.escape(other).replace(r"\ ", r"[\s/*#]+") for other in instead)
    pattern = re.compile(rf"(?<![\w-])({others})s?(?![\w-])", re.IGNORECASE)
    for path in tree.files(root, (*COMMENTED, ".md")):
        name = path.relative_to(root).as_posix()
        if name in EXEMPT:
            continue
        source = path.read_text()
        if path == table:
            source = source.replace(rows, blank(rows))
        if not pattern.search(source):  # soon said of most files
            continue
        text = prose(source, path.suffix)
        for match in pattern.finditer(text):
            other = re.sub(r"[\s/*#]+", " ", match[1]).lower()
            line = text.count("\n", 0, match.start()) + 1
            problems.append(f"{name}:{line}: '{other}': expected '{instead[other]}' ({TABLE})")
    return problems
