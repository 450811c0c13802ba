"""What `check` leaves for `online`: the proved objects, and the addresses that proved runs executed.

The file says from which sources of the prover it comes. Whoever reads it compares them, and the
objects with the machine code at hand, so that a report of another state is not taken for today's.
"""

import base64
import bisect
import hashlib
import json
import os
import sys
from pathlib import Path

from elf import Elf

ROOM = Path(__file__).resolve().parent


class Stale(Exception):
    """The report is absent (absent = True), or of another state."""

    def __init__(self, problem, absent=False):
        super().__init__(f"{problem}; run proofs/asm/check")
        self.absent = absent


def path(build):
    return Path(build) / "proofs_asm.json"


def digest(source):
    return hashlib.sha256((ROOM / source).read_bytes()).hexdigest()


def sources():
    """{file: digest} of what the running prover consists of."""
    files = [Path(m.__file__).resolve() for m in list(sys.modules.values()) if getattr(m, "__file__", None)]
    return {str(f.relative_to(ROOM)): digest(f) for f in sorted(set(files)) if f.is_relative_to(ROOM)}


def part(image, objects, executed):
    """One compiler's part: the objects' bytes and {function: size, sorted offsets that were executed},
    functions by their symbols. `executed`: addresses of the linked image."""
    functions = sorted((s.value, s.size, s.name) for s in Elf(image.read_bytes(), image).functions())
    starts, covered = [start for start, _, _ in functions], {}
    for address in sorted(executed):
        start, size, name = functions[bisect.bisect_right(starts, address) - 1]
        if not start <= address < start + size:
            raise ValueError(f"{image}: {address:#x} was executed and lies in no function")
        covered.setdefault(name, []).append(address - start)
    names = [name for _, _, name in functions]
    if len(set(names)) != len(names):
        raise ValueError(f"{image}: two functions have one symbol")
    return {"objects": {o.name: base64.b64encode(o.read_bytes()).decode() for o in objects},
            "functions": {name: {"size": size, "covered": covered.get(name, [])}
                          for _, size, name in functions}}


def begin(build):
    """Removes the report; what the prover that begins now consists of."""
    path(build).unlink(missing_ok=True)
    return sources()


def write(build, begun, parts):
    """begun: what begin() returned; parts: {compiler: part}. All or nothing."""
    unfinished = path(build).with_suffix(".unfinished")
    unfinished.write_text(json.dumps({"sources": begun, "compilers": parts}))
    os.replace(unfinished, path(build))


def read(build, compiler):
    """(objects: {name: Elf}, functions) of one compiler. Raises Stale."""
    if not path(build).is_file():
        raise Stale(f"{path(build)} is absent", absent=True)
    report = json.loads(path(build).read_text())
    for source, expected in report["sources"].items():
        if not (ROOM / source).is_file() or digest(source) != expected:
            raise Stale(f"{path(build)} is older than proofs/asm/{source}")
    if compiler not in report["compilers"]:
        raise Stale(f"{path(build)} has no part of {compiler}")
    proved = report["compilers"][compiler]
    objects = {name: Elf(base64.b64decode(content), f"proved {name}")
               for name, content in proved["objects"].items()}
    return objects, proved["functions"]
