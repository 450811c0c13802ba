"""Every backend defines a leaf kernel in the file that the list of prototypes names for it."""

import re

LEAVES = "optimized/kernels/leaf"
LIST = f"{LEAVES}/prototypes.hpp"
ENTRY = re.compile(r"^ +SLIP_KERNEL\((\w+), (\w+)\)", re.MULTILINE)
DEFINITION = re.compile(r"^(?:\[\[[\w:]+\]\] )?[\w:]+ (\w+)\(", re.MULTILINE)


def read_list(text):
    """{function: file}."""
    return {kernel: file for file, kernel in ENTRY.findall(text)}


def check(root):
    files = read_list((root / LIST).read_text())
    problems, defined = [], set()
    for path in sorted((root / LEAVES).glob("*/*.cpp")):
        for kernel in DEFINITION.findall(path.read_text()):
            defined.add(kernel)
            if files.get(kernel, path.stem) != path.stem:
                problems.append(f"{path.relative_to(root)}: defines {kernel}, which {LIST} expects "
                                f"in {files[kernel]}.cpp")
    return problems + [f"{LIST}: no backend defines {kernel}" for kernel in sorted(files.keys() - defined)]
