"""Each room of optimized/ has its own namespace; slip itself holds what include/slip declares."""

import re

from checks import tree

# `import` is a keyword of modules, and slip::split would take a good name from the public API.
OTHERWISE = {"import": "importing", "split": "splitting"}
BLOCK = re.compile(r"^namespace ([\w:]+) \{$(.*?)^\}  // namespace \1$", re.MULTILINE | re.DOTALL)
DECLARATIONS = re.compile(r"(?:\s*(?:class|struct) \w+;)+\s*")
ANONYMOUS = re.compile(r"^namespace \{$.*?^\}  // namespace$", re.MULTILINE | re.DOTALL)
DEFINED = re.compile(r"^(?:class|struct|enum class|using) (\w+)"
                     r"|^(?!using|template|static_assert|[A-Z_]+\()(?=\w)[^\n(=;]*?\b(\w+)(?:::~?\w+)*\(",
                     re.MULTILINE)


def check(root):
    public = " ".join(path.read_text() for path in tree.files(root, (".hpp",), "include/slip"))
    problems = []
    for path in tree.files(root, (".hpp", ".cpp"), "optimized"):
        name = path.relative_to(root).as_posix()
        room = name.split("/")[1]
        expected = f"slip::{OTHERWISE.get(room, room)}"
        for space, text in BLOCK.findall(path.read_text()):
            if space == expected or space.startswith(expected + "::") or DECLARATIONS.fullmatch(text):
                continue
            if space != "slip":
                problems.append(f"{name}: opens namespace {space}, expected {expected}")
                continue
            for match in DEFINED.finditer(ANONYMOUS.sub("", text)):
                entity = match[1] or match[2]
                if not re.search(rf"\b{entity}\b", public):
                    problems.append(f"{name}: slip::{entity} is not declared in include/slip, "
                                    f"expected {expected}::{entity}")
    return problems
