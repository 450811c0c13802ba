"""Names of functions as objdump and c++filt give them."""

import re
from pathlib import Path

# Chapters of the leaves whose machine code no run proves, with the reason. Nothing of them counts as
# proved, nor in the share of what runs that is; SOUNDNESS.md says so.
UNPROVED = {"floats": "the model of the machine has neither their square roots, comparisons and shuffles "
            "of floats nor loops over whole rows; backends are compared by tests and fuzzing"}


def is_unproved(leaf):
    """Of an object or a source, "avx2_floats.o" or "avx2/floats.cpp"."""
    return Path(leaf.replace("/", "_")).stem.split("_", 1)[-1] in UNPROVED


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
