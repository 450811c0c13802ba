"""Python is clean under flake8 (.flake8), and shell scripts are under shellcheck."""

import re
import shutil
import subprocess

from checks import tree

# tool, suffix of its files, what begins their first line where they have no suffix, command
TOOLS = [
    ("flake8", ".py", re.compile(r"#!.*python3"), ["flake8"]),
    ("shellcheck", ".sh", re.compile(r"#!.*\b(ba)?sh\b"),
     ["shellcheck", "--external-sources", "--format=gcc"]),
]


def belongs(path, suffix, first_line):
    if path.suffix:
        return path.suffix == suffix
    try:
        with path.open() as file:
            return bool(first_line.match(file.readline()))
    except UnicodeDecodeError:
        return False


def check(root):
    problems, files = [], tree.files(root, ("",))
    for tool, suffix, first_line, command in TOOLS:
        names = [str(path.relative_to(root)) for path in files if belongs(path, suffix, first_line)]
        if not names:
            continue
        if shutil.which(tool) is None:
            problems.append(f"{tool} is not installed: {len(names)} files were not checked")
            continue
        result = subprocess.run([*command, *names], cwd=root, capture_output=True, text=True)
        problems += (result.stdout + result.stderr).splitlines()
    return problems
