"""Numbers in the text are recomputed: a number that carries its formula, '2147483647 (= 2^31 - 1)', and
every '=', '<=', '>=', '<' or '>' between two expressions of numbers alone, '1048576 = 2^20'."""

import math
import operator
import re
from fractions import Fraction

from checks import tree

TOKEN = re.compile(r"""
    (?P<junk>[<>=!~:|+*/&-]*(?:->|<-|=>|==|!=|~=|:=|>>|<<|\+\+|--|&&|\|\|)[<>=!~:|+*/&-]*
            |[0-9]+(?:\.[0-9]+){2,}|\.\.+|0x[0-9a-fA-F]+|"[^"]*")
  | (?P<number>[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?(?![A-Za-z_0-9]))
  | (?P<name>[A-Za-z_0-9\u0080-\uffff]+)
  | (?P<relation><=|>=|=|<|>)
  | (?P<operator>[-+*/^()])
  | (?P<comma>,)
  | (?P<space>[\s`]+)
  | (?P<other>.)""", re.VERBOSE)
RELATIONS = {"=": operator.eq, "<=": operator.le, ">=": operator.ge, "<": operator.lt,
             ">": operator.gt}
FUNCTIONS = {"floor": math.floor, "ceil": math.ceil, "round": round, "abs": abs, "min": min,
             "max": max}
ANNOTATION = re.compile(r"\(= ")
STATED = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?)`? \Z")


class NotNumbers(ValueError):
    """An expression that is not made of numbers, + - * / ^, parentheses and FUNCTIONS alone."""


class Token:
    def __init__(self, kind, text, spaced):
        self.kind, self.text, self.spaced = kind, text, spaced  # spaced: a blank stands before it


def tokens_of(text):
    tokens, spaced = [], True
    for match in TOKEN.finditer(text):
        if match.lastgroup == "space":
            spaced = True
            continue
        tokens.append(Token(match.lastgroup, match.group(), spaced))
        spaced = False
    return tokens


class Parser:
    """Reads the longest expression that begins at tokens[at]; `at` is then behind it."""

    def __init__(self, tokens, at):
        self.tokens, self.at = tokens, at

    def sees(self, *texts):
        return self.at < len(self.tokens) and self.tokens[self.at].text in texts

    def sees_factor(self):
        """A parenthesis behind a number, or a number behind a parenthesis, multiplies."""
        return self.at < len(self.tokens) and (
            self.sees("(") or self.tokens[self.at - 1].text == ")" and
            self.tokens[self.at].kind == "number")

    def take(self, *texts):
        if not self.sees(*texts):
            raise NotNumbers
        self.at += 1
        return self.tokens[self.at - 1].text

    def sum(self):
        value = self.product()
        while self.sees("+", "-"):
            value = value + self.product() if self.take("+", "-") == "+" else value - self.product()
        return value

    def product(self):
        value = self.signed()
        while self.sees("*", "/") or self.sees_factor():
            if self.sees("*", "/") and self.take("*", "/") == "/":
                value /= self.signed()
            else:
                value *= self.signed()
        return value

    def signed(self):
        if self.sees("-"):
            self.take("-")
            return -self.signed()
        return self.power()

    def power(self):
        base = self.atom()
        if not self.sees("^"):
            return base
        self.take("^")
        exponent = self.signed()
        if exponent.denominator != 1 or abs(exponent) > 4096:
            raise NotNumbers
        return base ** int(exponent)

    def atom(self):
        if self.at < len(self.tokens) and self.tokens[self.at].kind == "number":
            self.at += 1
            return Fraction(self.tokens[self.at - 1].text.replace(",", ""))
        function = self.take(*FUNCTIONS) if self.sees(*FUNCTIONS) else None
        self.take("(")
        arguments = [self.sum()]
        while function and self.sees(","):
            self.take(",")
            arguments.append(self.sum())
        self.take(")")
        return Fraction(FUNCTIONS[function](*arguments)) if function else arguments[0]


def evaluate(text):
    """Exact value of an expression of numbers; NotNumbers for anything else."""
    tokens = tokens_of(text)
    parser = Parser(tokens, 0)
    try:
        value = parser.sum()
    except (ZeroDivisionError, TypeError) as error:
        raise NotNumbers from error
    if parser.at != len(tokens):
        raise NotNumbers
    return value


def is_variable(token):
    return token.kind == "name" and (len(token.text) == 1 or "_" in token.text)


def value_behind(tokens, at):
    """The expression that begins at tokens[at], or None if it is not made of numbers alone."""
    parser = Parser(tokens, at)
    try:
        value = parser.sum()
    except (NotNumbers, ZeroDivisionError, TypeError):
        return None
    rest = tokens[parser.at:parser.at + 1]
    if rest and (rest[0].kind == "operator" and rest[0].text != ")" or is_variable(rest[0]) or
                 rest[0].text in ("%", "!", "[") or
                 rest[0].kind == "name" and not rest[0].spaced):
        return None
    return value


def value_before(tokens, end):
    """The longest expression that ends before tokens[end], or None, as above."""
    for at in range(end):
        if tokens[at].kind not in ("number", "operator", "name", "comma"):
            continue
        parser = Parser(tokens[:end], at)
        try:
            value = parser.sum()
        except (NotNumbers, ZeroDivisionError, TypeError):
            continue
        if parser.at != end:
            continue
        before = tokens[at - 1] if at else None
        if before and (before.kind == "operator" and before.text != "(" or is_variable(before) or
                       before.kind in ("number", "comma") and not tokens[at].spaced or
                       before.text in ("]", ")") or before.kind == "name" and not tokens[at].spaced or
                       before.kind == "junk" and before.text != ".."):
            return None
        return value
    return None


def relations_in(line):
    """(text of the relation, left value, right value) where both sides are numbers alone."""
    tokens = tokens_of(line)
    for at, token in enumerate(tokens):
        if token.kind == "relation":
            left, right = value_before(tokens, at), value_behind(tokens, at + 1)
            if left is not None and right is not None:
                yield token.text, left, right


def annotations_in(line):
    """(stated number or None, formula) of every '(= formula)'."""
    for match in ANNOTATION.finditer(line):
        depth, end = 1, match.end()
        while end < len(line) and depth:
            depth += {"(": 1, ")": -1}.get(line[end], 0)
            end += 1
        stated = STATED.search(line[:match.start()])
        yield stated and stated[1], line[match.end():end - 1]


def problems_in(line):
    for stated, formula in annotations_in(line):
        try:
            value = evaluate(formula)
        except NotNumbers:
            yield f"cannot compute '{formula}': expected numbers, + - * / ^ and parentheses"
            continue
        if stated is None:
            yield f"'(= {formula})' follows no number"
        elif value != Fraction(stated):
            yield f"says {stated}, but {formula} = {value}"
    for relation, left, right in relations_in(line):
        if not RELATIONS[relation](left, right):
            yield f"says {left} {relation} {right}"


def check(root):
    paths = [*tree.files(root, (".md",), "spec"), *tree.files(root, (".md",), "docs"), root / "README.md"]
    return [f"{path.relative_to(root).as_posix()}:{number}: {problem}"
            for path in paths
            for number, line in enumerate(path.read_text().splitlines(), 1)
            for problem in problems_in(line)]
