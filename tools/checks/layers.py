"""Includes follow tools/layers.txt."""

import re

from checks import tree

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def read_table(path):
    """({room: [allowed prefixes]}, [(room, exceptions, headers)]) of a layers file."""
    allowed, forbidden = {}, []
    for line in path.read_text().splitlines():
        line = line.split("#")[0].strip()
        if line.startswith("forbid "):
            room, headers = line[len("forbid "):].split(":")
            room, _, exceptions = room.partition(" except ")
            forbidden.append((room.strip(), exceptions.split(), headers.split()))
        elif line:
            room, arrow, rooms = line.partition("->")
            if not arrow:
                raise ValueError(f"{path}: expected 'room -> rooms' or 'forbid ...', found '{line}'")
            allowed[room.strip()] = rooms.split()
    return allowed, forbidden


def inside(path, prefix):
    return path == prefix or path.startswith(prefix + "/")


def room_of(path, rooms):
    return max((room for room in rooms if inside(path, room)), key=len, default=None)


def check(root):
    allowed, forbidden = read_table(root / "tools/layers.txt")
    problems = []
    for path in tree.files(root, tree.SOURCES):
        name = path.relative_to(root).as_posix()
        room = room_of(name, allowed)
        if room is None:
            problems.append(f"{name}: is in no room of tools/layers.txt")
            continue
        for match in INCLUDE.finditer(path.read_text()):
            quoted, system = match.groups()
            if quoted and (path.parent / quoted).is_file():
                quoted = (path.parent / quoted).relative_to(root).as_posix()
            elif quoted and (root / "include" / quoted).is_file():  # as users include them
                quoted = f"include/{quoted}"
            if quoted and not any(inside(quoted, prefix) for prefix in [room] + allowed[room]):
                problems.append(f'{name}: includes "{quoted}"; {room} may include from '
                                f"{', '.join([room] + allowed[room])}")
            for where, exceptions, headers in forbidden:
                if (system in headers and inside(name, where)
                        and not any(inside(name, exception) for exception in exceptions)):
                    problems.append(f"{name}: includes <{system}>, which {where} must not")
    return problems
