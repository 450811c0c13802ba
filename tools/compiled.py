"""What a build folder compiles."""

import json
import pathlib
import re

INCLUDED = re.compile(r'^#include "(.+)"$', re.MULTILINE)


def commands(build):
    """The entries of compile_commands.json, with each of the files that are compiled together by itself."""
    for command in json.loads((build / "compile_commands.json").read_text()):
        together = pathlib.Path(command["file"])
        if together.parent.name != "Unity":
            yield command
            continue
        for source in INCLUDED.findall(together.read_text()):
            yield command | {"file": source, "command": command["command"].replace(str(together), source)}
