"""Source files as pages: highlighted, with a number and an anchor for every line."""

import html
import re

from checks import excerpts

CPP = re.compile(r"""
    (?P<c>//[^\n]*|/\*.*?\*/)
  | (?P<s>R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')
  | (?P<k>\b(?:alignas|auto|bool|break|case|catch|char|class|const|constexpr|continue|default|delete|do|double
      |else|enum|explicit|extern|false|float|for|friend|if|inline|int|namespace|new|noexcept|nullptr|operator|override|private
      |protected|public|return|size_t|sizeof|static|static_cast|struct|switch|template|this|throw|true|try|typedef
      |typename|unsigned|using|virtual|void|while)\b)
  | (?P<n>\b[0-9][0-9a-fA-FxX'.]*[uUlLzZ]*\b)
""", re.VERBOSE | re.DOTALL)
PYTHON = re.compile(r"""
    (?P<c>\#[^\n]*)
  | (?P<s>\"\"\".*?\"\"\"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<k>\b(?:and|as|assert|break|class|continue|def|elif|else|except|False|finally|for|from|if|import|in|is
      |lambda|None|not|or|pass|raise|return|self|True|try|while|with|yield)\b)
  | (?P<n>\b[0-9][0-9.]*\b)
""", re.VERBOSE | re.DOTALL)
COQ = re.compile(r"""
    (?P<c>\(\*.*?\*\))
  | (?P<s>"[^"]*")
  | (?P<k>\b(?:Definition|Lemma|Theorem|Corollary|Proof|Qed|Defined|forall|exists|fun|let|in|if|then|else
      |match|with|end|Record|Inductive|Fixpoint|From|Require|Import)\b)
  | (?P<n>\b[0-9]+\b)
""", re.VERBOSE | re.DOTALL)
LANGUAGES = {".py": PYTHON, ".v": COQ, "python": PYTHON, "sh": PYTHON, "coq": COQ,
             **{suffix: CPP for suffix in (".hpp", ".cpp", ".h", ".c", ".cu", "cpp", "c")}}


def highlight(text, language):
    """`text` as HTML, with what the language's pattern finds in spans that never cross a line."""
    pattern = LANGUAGES.get(language)
    if not pattern:
        return html.escape(text)
    parts, at = [], 0
    for match in pattern.finditer(text):
        parts.append(html.escape(text[at:match.start()]))
        opened = f'<span class="{match.lastgroup}">'
        parts.append(opened + html.escape(match[0]).replace("\n", f"</span>\n{opened}") + "</span>")
        at = match.end()
    return "".join(parts) + html.escape(text[at:])


def address(file, line=None):
    """The address of a line of a file's page."""
    return f"book:source/{file}.html" + (f"#L{line}" if line else "")


def numbered(lines, file, first, anchored=False):
    """A block of `lines` of `file`, of which the first has the number `first`."""
    suffix = "." + file.rsplit(".", 1)[-1]
    shown = highlight("\n".join(lines), suffix).split("\n")
    body = "\n".join(
        f'<span class="l" data-n="{number}"' + (f' id="L{number}"' if anchored else "") + f">{line}</span>"
        for number, line in enumerate(shown, first))
    return f'<pre class="numbered" tabindex="0"><code>{body}</code></pre>'


def excerpt(root, file, first, last, title=""):
    """Lines `first` .. `last` of a file, from 1, below a line that says where they stand."""
    lines = (root / file).read_text().splitlines()[first - 1:last]
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    where = f'<a href="{address(file, first)}"><code>{file}</code>, lines {first} to {last}</a>'
    return (f'<figure class="code"><figcaption>{title}{where}</figcaption>'
            f"{numbered([line[indent:] for line in lines], file, first)}</figure>")


# The end of what stands before a declaration.
ENDED = re.compile(r"[;{}:]\s*(//.*)?$|^\s*#|^\s*//")
# Lines at the margin of a body that begin no definition, and lines that begin a function and not a statement.
OUTSIDE = re.compile(r"\s*(?:public|private|protected|case\b.*|default)\s*:|\s*[})#]")
FUNCTION = re.compile(r"\s*(?!(?:if|for|while|switch|else|do|return|namespace|class|struct|enum|try|catch"
                      r"|case)\b)(?!.*\]\()[\w:~].*[\w:<>*&~=]\(")


def is_comment(line):
    return bool(re.match(r"\s*(//|/\*|\*|#(?!include|pragma|if|define|endif))", line))


def indent_of(line):
    return len(line) - len(line.lstrip())


def unit(lines, index):
    """(first, last), from 0, of the definition or declaration of C++ that line `index` speaks of, with the
    comment above it; None where the comment is that of a file."""
    first = last = index
    if is_comment(lines[index]):
        while first > 0 and is_comment(lines[first - 1]):
            first -= 1
        while last < len(lines) and is_comment(lines[last]):
            last += 1
    else:
        while first > 0 and lines[first - 1].strip() and not ENDED.search(lines[first - 1]):
            first -= 1
        while first > 0 and is_comment(lines[first - 1]):
            first -= 1
    if last >= len(lines) or not lines[last].strip() or lines[last].startswith(("#", "namespace")):
        return None
    declared = next((i for i in range(first, len(lines)) if not is_comment(lines[i])), first)
    return first, max(index, excerpts.end_of(lines, declared))


def definition_around(lines, index):
    """The same for a line within the body of a function: the whole function."""
    found, at = unit(lines, index), index
    if not found or not indent_of(lines[found[0]]):
        return found
    while at > 0 and indent_of(lines[at]):
        inner = indent_of(lines[at])
        at = next((above for above in range(at - 1, -1, -1)
                   if lines[above].strip() and not is_comment(lines[above])
                   and indent_of(lines[above]) < inner and not OUTSIDE.match(lines[above])), -1)
        if at >= 0 and FUNCTION.match(lines[at]):
            return unit(lines, at)
    return found
