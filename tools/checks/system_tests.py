"""Every class of property_tests/system that has tests is one that its CMakeLists.txt adds: a test that
nobody starts would not be missed."""

import ast
import re

FOLDER = "property_tests/system"
EXPRESSION = re.compile(r'file\(STRINGS \$\{script\} classes REGEX "((?:[^"\\]|\\.)*)"\)')


def classes_with_tests(source):
    """Names of those that have tests, of their own or of a class of this file that they are of."""
    found = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            own = any(isinstance(one, ast.FunctionDef) and one.name.startswith("test") for one in node.body)
            if own or any(isinstance(base, ast.Name) and base.id in found for base in node.bases):
                found.add(node.name)
    return found


def check(root):
    listing = root / FOLDER / "CMakeLists.txt"
    if not listing.is_file():
        return []
    expression = EXPRESSION.search(listing.read_text())
    if not expression:
        return [f"{FOLDER}/CMakeLists.txt: expected file(STRINGS ${{script}} classes REGEX ...)"]
    added = re.compile(expression[1].replace(r"\\", "\\"))
    problems = []
    for path in sorted((root / FOLDER).glob("*_test.py")):
        source = path.read_text()
        names = {re.match(r"class (\w+)", line)[1] for line in source.splitlines() if added.match(line)}
        problems += [f"{FOLDER}/{path.name}: CMakeLists.txt does not add the tests of {name}"
                     for name in sorted(classes_with_tests(source) - names)]
    return problems
