"""Expressions in CMakePresets.json are CMake's, which know no class such as \\w and read it as the
letter: a filter that excludes nothing would not be noticed."""

import json
import re

CLASS = re.compile(r"\\[a-zA-Z0-9]")


def expressions(value):
    """The strings of every filter in `value`."""
    if isinstance(value, dict):
        for entry in value.values():
            yield from expressions(entry)
    elif isinstance(value, str):
        yield value


def check(root):
    path = root / "CMakePresets.json"
    problems = []
    for preset in json.loads(path.read_text())["testPresets"]:
        for expression in expressions(preset.get("filter", {})):
            problems += [f"{path.name}: test preset {preset['name']}: {escape} is no class in CMake's "
                         f"expressions" for escape in CLASS.findall(expression)]
    return problems
