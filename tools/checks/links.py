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
                if not re.search(rf"\b{re.escape(code.split(':')[-1])}\b", linked.read_text()):
                    problems.append(f"{name}: link from '{code}' to '{target}', which has no such name")
            elif fragment and linked.suffix == ".md":
                if fragment not in {anchor(h) for h in HEADING.findall(linked.read_text())}:
                    problems.append(f"{name}: link to '{target}', but there is no such heading")
    return problems
