"""One word for one thing. The table of words in spec/conventions.md says what each stands for and which
others are not used for it; those are refused in chapters, documents and comments, but not in `code` and
"quotations", and within names of code, where the table does not say "in names"."""

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
NAMED = tree.SOURCES + (".py",)
COMMENTED = (*NAMED, ".v")
FENCE = re.compile(r"^```.*?^```|<!--.*?-->", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"[A-Za-z_]\w*")
# Names that libraries and languages have given.
GIVEN = set("""
    TemporaryDirectory ThreadPoolExecutor SSLCertVerificationError
    create_directories create_directory directory_iterator executor_type executor_work_guard get_executor
    is_directory recursive_directory_iterator temp_directory_path O_DIRECTORY
    """.split())
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


def names(source, suffix):
    """[(line, name)] of the names in a file of code, but for its comments and strings."""
    if suffix == ".py":
        tokens = tokenize.generate_tokens(io.StringIO(source).readline)
        return [(token.start[0], token.string) for token in tokens if token.type == tokenize.NAME]
    code = CPP.sub(lambda match: blank(match[0]), source)
    return [(number, name) for number, line in enumerate(code.split("\n"), 1) for name in NAME.findall(line)]


def words_of(name):
    """'MaskSupply' and 'mask_supply' as 'mask supply'."""
    return " ".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)).lower()


def prose(source, suffix):
    """What a file says to its readers, in its lines, without what it quotes."""
    if suffix == ".md":
        text = FENCE.sub(lambda match: blank(match[0]), source)
    elif suffix == ".py":
        text = python_comments(source)
    else:
        text = comments(COQ if suffix == ".v" else CPP, source)
    return QUOTED.sub(lambda match: blank(match[0]), text)


def pattern_of_names(rows, instead):
    """Matches, in the words of a name, those that are used for nothing in names either."""
    allowed = set(re.findall(r"`(\w+)` in names", rows))
    others = "|".join(re.escape(other) for other in instead if other not in allowed and "-" not in other)
    return re.compile(rf"\b({others})s?\b")


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
    in_names = pattern_of_names(rows, instead)
    for path in tree.files(root, (*COMMENTED, ".md")):
        name = path.relative_to(root).as_posix()
        if name in EXEMPT:
            continue
        source = path.read_text()
        if path == table:
            source = source.replace(rows, blank(rows))
        if path.suffix in NAMED:
            for line, given in names(source, path.suffix):
                match = given not in GIVEN and in_names.search(words_of(given))
                if match:
                    problems.append(f"{name}:{line}: {given}: '{match[1]}': expected "
                                    f"'{instead[match[1]]}' ({TABLE})")
        if not pattern.search(source):  # soon said of most files
            continue
        text = prose(source, path.suffix)
        for match in pattern.finditer(text):
            other = re.sub(r"[\s/*#]+", " ", match[1]).lower()
            line = text.count("\n", 0, match.start()) + 1
            problems.append(f"{name}:{line}: '{other}': expected '{instead[other]}' ({TABLE})")
    return problems
