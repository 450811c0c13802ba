"""C++ is formatted as .clang-format says; text ends with one newline and has no trailing blanks."""

import shutil
import subprocess

from checks import tree

TEXT = tree.SOURCES + (".py", ".md", ".txt", ".json", ".sh")


def check(root):
    problems = []
    for path in tree.files(root, TEXT):
        text = path.read_text()
        name = path.relative_to(root).as_posix()
        if text and (not text.endswith("\n") or text.endswith("\n\n")):
            problems.append(f"{name}: does not end with exactly one newline")
        for number, line in enumerate(text.splitlines(), 1):
            if line != line.rstrip():
                problems.append(f"{name}:{number}: trailing blanks")
    sources = [str(path) for path in tree.files(root, tree.SOURCES)]
    if not sources:
        return problems
    if shutil.which("clang-format") is None:
        return problems + ["clang-format is not installed: the C++ was not checked"]
    result = subprocess.run(["clang-format", "--dry-run", "--Werror", *sources], cwd=root,
                            capture_output=True, text=True)
    if result.returncode != 0:
        files = {line.split(":")[0] for line in result.stderr.splitlines() if ": error:" in line}
        problems += [f"{file}: run clang-format -i on it" for file in sorted(files)]
    return problems
