"""The project has one version: what CMakeLists.txt says is what include/slip/version.h says."""

import re

PROJECT = ("CMakeLists.txt", r"^project\(slip VERSION ([0-9]+\.[0-9]+\.[0-9]+)\b")
HEADER = "include/slip/version.h"
PARTS = ("MAJOR", "MINOR", "PATCH")


def found(root, name, pattern, problems):
    """The one group of the one match of `pattern` in the file; None, and a problem, otherwise."""
    matches = re.findall(pattern, (root / name).read_text(), re.MULTILINE)
    if len(matches) == 1:
        return matches[0]
    problems.append(f"{name}: expected one match of '{pattern}', found {len(matches)}")
    return None


def check(root):
    problems = []
    project = found(root, *PROJECT, problems)
    text = found(root, HEADER, r'^#define SLIP_VERSION "([^"]*)"$', problems)
    parts = [found(root, HEADER, rf"^#define SLIP_VERSION_{part} ([0-9]+)$", problems) for part in PARTS]
    if not problems and not project == text == ".".join(parts):
        problems.append(f"{HEADER}: says \"{text}\" and {'.'.join(parts)}, CMakeLists.txt says {project}")
    return problems
