"""A number in the spec that carries its formula, '2147483647 (= 2^31 - 1)', is recomputed."""

import ast
import operator
import re
from fractions import Fraction

from checks import tree

ANNOTATION = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?)`? \(= ([0-9+\-*/^(). ]+)\)")
OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.Pow: operator.pow,
}


def evaluate(node):
    """Exact value of an arithmetic expression tree; ValueError for anything else."""
    if isinstance(node, ast.Expression):
        return evaluate(node.body)
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return Fraction(str(node.value))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -evaluate(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](evaluate(node.left), evaluate(node.right))
    raise ValueError("expected integers, + - * / ^ and parentheses")


def check(root):
    problems = []
    for path in tree.files(root, (".md",), "spec"):
        name = path.relative_to(root).as_posix()
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for stated, formula in ANNOTATION.findall(line):
                try:
                    value = evaluate(ast.parse(formula.replace("^", "**").strip(), mode="eval"))
                except (SyntaxError, ValueError) as error:
                    problems.append(f"{name}:{number}: cannot compute '{formula}': {error}")
                    continue
                if value != Fraction(stated):
                    problems.append(f"{name}:{number}: says {stated}, but {formula} = {value}")
    return problems
