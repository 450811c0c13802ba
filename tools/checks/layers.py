"""Includes follow tools/layers.txt, every line of which is used, and so do the rooms that CMake links."""

import re

from checks import tree

PUBLIC = "include/slip"
ROOM = re.compile(r'slip_room\((\w+)\s((?:[^()"]|"[^"]*")*)\)')
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


def linked(text):
    """{folder: [linked folders]} of the rooms in a CMakeLists.txt."""
    rooms = {}
    for name, body in ROOM.findall(text):
        words = body.replace("\n", " ").split()
        depends = words[words.index("DEPENDS") + 1:] if "DEPENDS" in words else []
        rooms[name] = words[words.index("FOLDER") + 1], [word for word in depends if word.startswith("slip_")]
    return {folder: [rooms[name][0] for name in names] for folder, names in rooms.values()}


def check_links(root, allowed):
    """Problems of rooms that link what they may not include. Public headers are implemented in several rooms,
    so a room that may include them may link whichever has what it calls."""
    implementing = {room for room, rooms in allowed.items() if PUBLIC in rooms}
    problems = []
    for folder, others in linked((root / "CMakeLists.txt").read_text()).items():
        room = room_of(folder, allowed)
        may = {room} | {room_of(prefix, allowed) for prefix in allowed[room]}
        for other in others:
            if room_of(other, allowed) not in may | (implementing if PUBLIC in allowed[room] else set()):
                problems.append(f"CMakeLists.txt: {folder} links {other}, from which tools/layers.txt "
                                "does not let it include")
    return problems


def check(root):
    allowed, forbidden = read_table(root / "tools/layers.txt")
    problems, used = check_links(root, allowed), set()
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
            prefixes = [prefix for prefix in [room] + allowed[room] if quoted and inside(quoted, prefix)]
            used.update((room, prefix) for prefix in prefixes)
            if quoted and not prefixes:
                problems.append(f'{name}: includes "{quoted}"; {room} may include from '
                                f"{', '.join([room] + allowed[room])}")
            for where, exceptions, headers in forbidden:
                if (system in headers and inside(name, where)
                        and not any(inside(name, exception) for exception in exceptions)):
                    problems.append(f"{name}: includes <{system}>, which {where} must not")
    return problems + [f"tools/layers.txt: nothing in {room} includes from {prefix}"
                       for room, prefixes in allowed.items() for prefix in prefixes
                       if (room, prefix) not in used]
