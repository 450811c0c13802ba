"""The leaves that a build for AArch64 has, as a cross compiler builds them."""

import json
import re
import shlex
import subprocess
from pathlib import Path

from image import ROOT


def flags(room):
    """What CMakeLists.txt adds for the neon leaves of a room."""
    function = {"kernels": "slip_leaf", "masks": "slip_masks_leaf"}[room]
    return re.search(rf"{function}\(neon(.*)\)", (ROOT / "CMakeLists.txt").read_text())[1].split()


def flags_of_layouts():
    """The same of the files that lay matrices out, with g++."""
    text = (ROOT / "CMakeLists.txt").read_text()
    found = re.findall(r"(?:set[(]|APPEND )of_layouts (.*)[)]", text)
    return [flag for flags in found for flag in flags.split()]


def flags_of_callers():
    """The same of those, of outer products and of float code."""
    return re.search(r"set[(]of_callers (.*)[)]", (ROOT / "CMakeLists.txt").read_text())[1].split()


def is_proved(source, room):
    """Whether a leaf of a room has what is proved: of the kernels the chapters."""
    return source.parent.name in ("portable", "neon") and (room == "masks" or source.stem != "backend")


def compile_leaves(build, compiler, folder, room="kernels"):
    """Objects of the portable and the neon leaves of a room; `compiler` takes the place of the compiler in
    the commands of a build folder, which is for another processor."""
    commands = json.loads((Path(build) / "compile_commands.json").read_text())
    command = next(c for c in commands if f"/optimized/{room}/leaf/portable/" in c["file"])
    words = [w for w in shlex.split(command["command"]) if not w.startswith(("-W", "-m", "-fsanitize"))]
    while words[0].endswith("ccache"):
        words.pop(0)
    objects = []
    for source in sorted((ROOT / f"optimized/{room}/leaf").glob("*/*.cpp")):
        if is_proved(source, room):
            objects.append(folder / f"{source.parent.name}_{source.stem}.o")
            own = [compiler, *words[1:], *(flags(room) if source.parent.name == "neon" else []),
                   *(flags_of_callers() if source.stem.endswith(("_pack", "_outer", "floats")) else []),
                   *(flags_of_layouts() if source.stem.endswith("_pack") else [])]
            own[own.index("-o") + 1], own[own.index("-c") + 1] = objects[-1], source
            subprocess.run(own, cwd=command["directory"], check=True)
    return objects
