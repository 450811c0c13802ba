"""Names of functions as objdump and c++filt give them."""

import re
from pathlib import Path

# Of chapters of the leaves, the kernels whose machine code no run proves, with the reason. They do not
# count as proved, nor in the share of what runs that is, nor do functions that are no kernels; SOUNDNESS.md
# says so.
UNPROVED = {}


def chapter_of(leaf):
    """Of an object or a source, "avx2_floats.o" or "avx2/floats.cpp"."""
    return Path(leaf.replace("/", "_")).stem.split("_", 1)[-1]


def is_unproved(leaf):
    """Whether there are such kernels in it."""
    return chapter_of(leaf) in UNPROVED


def is_left_out(leaf, function):
    """Whether a function of a leaf, as `plain` names it, is one of these, or no kernel of the chapter's."""
    if not is_unproved(leaf):
        return False
    backend, _, kernel = function.removeprefix("slip::kernels::").partition("::")
    return not leaf.startswith(backend) or kernel in UNPROVED[chapter_of(leaf)][0]


def plain(name):
    """void f<A, 2ul>(int) -> f<A, 2ul>, of the demangled name."""
    name = name.replace("(anonymous namespace)::", "")
    name = re.sub(r"\[clone.*\]|\+0x[0-9a-f]+$", "", name).strip()
    depth = 0
    for i, c in enumerate(name):
        depth += (c == "<") - (c == ">")
        if c == "(" and depth == 0:
            name = name[:i]
            break
    depth, start = 0, 0
    for i, c in enumerate(name):
        depth += (c == "<") - (c == ">")
        if c == " " and depth == 0:
            start = i + 1
    return name[start:]
