"""The specification's formulas, which it writes in ASCII, as MathML.

What does not parse is no formula and stays as it stands. Every formula carries its source, so that the two
can be compared (agrees)."""

import html
import re

TOKEN = re.compile(r"""
    (?P<space>[ ]+)
  | (?P<number>[0-9]+(?:\.[0-9]+)?(?![A-Za-hj-z]|i\w))
  | (?P<name>[A-Za-z]+[0-9]*)
  | (?P<relation><->|<=|>=|!=|~=|:=|->|<-|=|<|>)
  | (?P<dots>\.\.\.|\.\.)
  | (?P<fence>\|\||\||[()\[\]{}])
  | (?P<operator>[-+*/!,;:%])
  | (?P<script>[_^])
  | (?P<tilde>~)
  | (?P<prime>'+)
""", re.VERBOSE)
GREEK = {"alpha": "α", "beta": "β", "delta": "δ", "Delta": "Δ", "ell": "ℓ", "epsilon": "ε", "eta": "η",
         "gamma": "γ", "kappa": "κ", "lambda": "λ", "phi": "φ", "rho": "ρ", "sigma": "σ", "tau": "τ",
         "Theta": "Θ", "omega": "ω"}
FUNCTIONS = {"abs", "ceil", "embed", "exp", "float32", "floor", "gcd", "lift", "log", "log2", "max", "min",
             "norm", "Pr", "relu", "risk", "round", "softmax", "sqrt", "sum", "diag", "rank", "trace"}
WORDS = {"mod": "mod", "in": "∈", "and": "and", "or": "or", "if": "if", "iff": "iff", "for": "for"}
SIGNS = {"<=": "≤", ">=": "≥", "!=": "≠", "~=": "≈", "->": "→", "<-": "←", "<->": "↔", "-": "−", "*": "·",
         "..": "…", "||": "‖"}
BACK = {sign: text for text, sign in [*SIGNS.items(), *((name, letter) for name, letter in GREEK.items()),
                                      ("in", "∈"), ("x", "×"), ("'", "′")]}
# What is no formula where names may be words: AES-256 is no difference, and " || " joins bytes.
TEXT = re.compile(r"[A-Za-z]{2,}-\w| \|\| ")
# What only a formula has; in a block a relation may stand in a cell of its own.
RELATION = re.compile(r"[=<>^]|\bmod\b|\bAdv_|\bPr\[")
# An event in words, of which there is the probability.
EVENT = re.compile(r"Pr\[([^\[\]]*)\]")
OPENING = set("([{")
CLOSING = {"(": ")", "[": "]", "{": "}"}


class NoFormula(ValueError):
    """The text is not a formula."""


def tokens_of(text):
    """[(kind, text)]; NoFormula for a character that no formula has."""
    tokens, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise NoFormula
        tokens.append((match.lastgroup, match[0]))
        at = match.end()
    return tokens


class Parser:
    """Writes the formula that begins at tokens[at]; with `any_name` names may be words of any length."""

    def __init__(self, tokens, any_name):
        self.tokens, self.at, self.any_name = tokens, 0, any_name

    def kind(self, ahead=0):
        at = self.at + ahead
        return self.tokens[at][0] if at < len(self.tokens) else None

    def text(self, ahead=0):
        at = self.at + ahead
        return self.tokens[at][1] if at < len(self.tokens) else None

    def row(self, closing=None):
        """MathML up to a closing parenthesis, which stays, or to the end."""
        parts, spaced, atom, long = [], False, False, False
        while self.at < len(self.tokens) and self.text() != closing:
            if self.kind() == "space":
                spaced, self.at = True, self.at + 1
                continue
            begins = self.kind() in ("name", "number") or self.text() in OPENING
            if atom and spaced and begins and self.text() == "x" and self.is_times():
                parts.append("<mo>×</mo>")
                self.at, atom, spaced = self.at + 1, False, False
                continue
            longer = self.kind() == "name" and len(self.text()) > 1 and self.text() not in GREEK
            if atom and spaced and begins and self.text() not in WORDS:
                parts.append(f'<mspace width="{0.3 if long or longer else 0.2}em"/>')
            long = longer
            part, atom = self.scripted() if begins else (self.sign(), False)
            parts.append(part if parts else part.replace(' lspace="0.35em"', ' lspace="0"'))
            spaced = False
        return "".join(parts)

    def is_times(self):
        """Whether the x here stands between two factors, as in M x n."""
        return self.kind(1) == "space" and (self.kind(2) == "number" or self.text(2) == "(" or
                                            self.kind(2) == "name" and self.text(2) not in WORDS)

    def sign(self):
        kind, text = self.tokens[self.at]
        if kind not in ("relation", "dots", "operator", "fence") or text in (")", "]", "}"):
            raise NoFormula
        self.at += 1
        tight = ' lspace="0" rspace="0"' if kind == "fence" else ""
        sign = f'<mo stretchy="false"{tight}>{html.escape(SIGNS.get(text, text))}</mo>'
        return self.with_scripts(sign) if text == "||" else sign

    def scripted(self):
        """A factor with what hangs on it, and whether it is a factor and not a word."""
        base = self.atom()
        return (base[0], False) if base[1] else (self.with_scripts(base[0]), True)

    def with_scripts(self, base):
        scripts = {}
        if self.kind() == "tilde":
            self.at += 1
            base = f'<mover accent="true">{base}<mo stretchy="false">~</mo></mover>'
            if self.kind() == "name" and len(self.text()) == 1:  # a~q: the masked a for q
                scripts["_"] = f"<mi>{self.text()}</mi>"
                self.at += 1
        if self.kind() == "prime":
            base = f"<mrow>{base}<mo>{'′' * len(self.text())}</mo></mrow>"
            self.at += 1
        while self.kind() == "script":
            which = self.text()
            self.at += 1
            if which in scripts:
                raise NoFormula
            scripts[which] = self.script(of_number=base.startswith("<mn>"))
        if not scripts:
            return base
        tag = "m" + ("sub" if "_" in scripts else "") + ("sup" if "^" in scripts else "")
        return f"<{tag}>{base}{scripts.get('_', '')}{scripts.get('^', '')}</{tag}>"

    def script(self, of_number):
        """What stands above or below; an exponent of a number takes a subscript of its own: 2^e_i."""
        minus = self.text() == "-"
        self.at += minus
        if self.text() in ("(", "{"):
            closing = CLOSING[self.text()]
            self.at += 1
            inner = self.row(closing)
            self.expect(closing)
        elif self.kind() == "number" or self.kind() == "name":
            text = self.text()
            inner = self.number_or_name(text)
            self.at += 1
            inner = self.with_scripts(inner) if of_number else inner
        else:
            raise NoFormula
        return f"<mrow>{'<mo>−</mo>' if minus else ''}{inner}</mrow>"

    def number_or_name(self, text):
        if self.kind() == "number":
            return f"<mn>{text}</mn>"
        if text in GREEK:
            return f"<mi>{GREEK[text]}</mi>"
        return f"<mi>{text}</mi>" if len(text) == 1 else f"<mtext>{text}</mtext>"

    def atom(self):
        """(MathML, whether it is a word) of a number, a name or something in parentheses."""
        kind, text = self.tokens[self.at]
        self.at += 1
        if text in OPENING:
            inner = self.row(CLOSING[text])
            self.expect(CLOSING[text])
            return (f'<mrow><mo stretchy="false">{text}</mo>{inner}'
                    f'<mo stretchy="false">{CLOSING[text]}</mo></mrow>'), False
        if kind == "number":
            return f"<mn>{text}</mn>", False
        if text in WORDS:
            return f'<mo lspace="0.35em" rspace="0.35em">{WORDS[text]}</mo>', True
        if text in FUNCTIONS:
            return f'<mi mathvariant="normal">{text}</mi>', False
        if text in GREEK:
            return f"<mi>{GREEK[text]}</mi>", False
        if len(text) == 1:
            return f"<mi>{text}</mi>", False
        if self.any_name:
            return f"<mtext>{text}</mtext>", False
        raise NoFormula

    def expect(self, text):
        if self.text() != text:
            raise NoFormula
        self.at += 1


def mathml(text, any_name=False):
    """`text` as MathML; None if it is no formula. `any_name`: names may be words of any length."""
    source, events = text.strip(), []

    def word(match):  # for an event that is not a formula
        if mathml(match[1]):
            return match[0]
        events.append(match[1])
        return "Pr[event]"

    try:
        parser = Parser(tokens_of(EVENT.sub(word, source) if any_name else source), any_name)
        row = parser.row()
    except (NoFormula, KeyError):
        return None
    if not re.search(r"[A-Za-z^]", source) and not (any_name and re.fullmatch("[<>!~:]?=|[<>]", source)):
        return None
    if parser.at != len(parser.tokens):
        return None
    for event in events:
        row = row.replace("<mtext>event</mtext>", f"<mtext>{html.escape(event)}</mtext>", 1)
    return (f"<math><semantics><mrow>{row}</mrow><annotation encoding=\"text/plain\">{html.escape(source)}"
            "</annotation></semantics></math>")


def plain(text):
    """What both forms of a formula have, in order: no spaces, scripts or parentheses. MathML has what stands
    below a letter before what stands above it."""
    text = re.sub(r"([A-Za-z]~?)\^(\w)_(\([^()]*\)|\w+)", r"\1_\3^\2", text)
    return re.sub(r"[\s_^(){}~]", "", text)


def agrees(math):
    """Whether the MathML of a formula shows what its source says."""
    row, source = math.split('<annotation encoding="text/plain">')
    shown = html.unescape(re.sub(r"<[^>]+>", "", row))
    shown = "".join(BACK.get(letter, letter) for letter in shown)
    return plain(shown) == plain(html.unescape(source.split("</annotation>")[0]))


def cells(line):
    """[(column, text)] of the parts of a line that two blanks or more keep apart."""
    return [(match.start(), match[0]) for match in re.finditer(r"\S+(?: \S+)*", line)]


def block(text):
    """A fenced block without a language as a table of formulas; None if most of it is something else."""
    lines = [cells(line) for line in text.rstrip("\n").split("\n")]
    parts = [part for line in lines for _, part in line]
    if not parts or re.search(r"--+>|<--+|\+--|\$ ", text):
        return None
    math = {part: mathml(part, any_name=bool(RELATION.search(part) and not TEXT.search(part)))
            for part in parts}
    related = [part for part in parts if RELATION.search(part)]
    if all(2 * sum(1 for part in some if math[part]) < max(1, len(some)) for some in (parts, related)):
        return None
    columns = sorted({column for line in lines for column, _ in line})
    rows = []
    for line in lines:
        row, at = "", 0
        for index, (column, part) in enumerate(line):
            first = columns.index(column)
            after = columns.index(line[index + 1][0]) if index + 1 < len(line) else len(columns)
            row += f"<td colspan={first - at}></td>" if first > at else ""
            row += f"<td colspan={after - first}>{math[part] or html.escape(part)}</td>"
            at = after
        rows.append(f"<tr>{row or '<td>&nbsp;</td>'}</tr>")
    return f'<div class="scroll"><table class="formulas" role="presentation">{"".join(rows)}</table></div>'
