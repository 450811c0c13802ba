"""Names of functions as objdump and c++filt give them."""

import re


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
