"""Relative links of Markdown files lead to files that exist, to headings that exist, and, from a name such as
`Sampler::next()`, to a file that has it."""

import re

from checks import tree

LINK = re.compile(r"(?:\[`([\w:]+)(?:\(\))?`)?\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def anchor(heading):
    """The fragment by which renderers link to a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.replace(" ", "-")


def body(text, name):
    """What stands between the braces of the class that is called so; "" if there is none."""
    opened = re.search(rf"\b(?:class|struct)\s+(?:[A-Z_]+\s+)?(?:\w+::)*{name}\b[^;{{()]*{{", text)
    if not opened:
        return ""
    depth, at = 1, opened.end()
    while depth and at < len(text):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return text[opened.end():at]


def has(text, code):
    """Whether a file of C++ has a name; `Mask::take` as a member of Mask, declared or defined."""
    *owners, name = code.split("::")
    if not owners:
        return bool(re.search(rf"\b{name}\b", text))
    return bool(re.search(rf"\b{owners[-1]}::{name}\b", text) or
                re.search(rf"\b{name}\b", body(text, owners[-1])))


def check(root):
    problems = []
    for path in tree.files(root, (".md",)):
        name = path.relative_to(root).as_posix()
        for code, target in LINK.findall(FENCE.sub("", path.read_text())):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, fragment = target.partition("#")
            linked = (path.parent / file).resolve() if file else path
            if not linked.exists():
                problems.append(f"{name}: link to '{target}', which does not exist")
            elif code and linked.suffix in tree.SOURCES:
                if not has(linked.read_text(), code):
                    problems.append(f"{name}: link from '{code}' to '{target}', which has no such name")
            elif fragment and linked.suffix == ".md":
                if fragment not in {anchor(h) for h in HEADING.findall(linked.read_text())}:
                    problems.append(f"{name}: link to '{target}', but there is no such heading")
    return problems
