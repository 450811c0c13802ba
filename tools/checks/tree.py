"""What the checks share: the project's files."""

import os

SOURCES = (".hpp", ".cpp", ".h", ".c", ".cu")
SKIPPED = {".git", "build", "__pycache__"}


def files(root, suffixes, under=""):
    """Paths below root/under with one of the suffixes, sorted, build outputs left out."""
    found = []
    for folder, folders, names in os.walk(root / under):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        found += [root.__class__(folder) / name for name in names if name.endswith(suffixes)]
    return sorted(found)
