"""Includes follow tools/layers.txt, every line of which is used, and so do the rooms that CMake links and the
namespaces that the product names. What is private to a room is included in it alone."""

import re

from checks import tree
from checks.namespaces import OTHERWISE

PUBLIC = "include/slip"
ROOM = re.compile(r'slip_room\((\w+)\s((?:[^()"]|"[^"]*")*)\)')
PRIVATE = re.compile(r"^// [^\n]*(?:\n// [^\n]*)*Private to this room", re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def read_table(path):
    """({room: [allowed prefixes]}, [(room, exceptions, headers)]) of a layers file."""
    allowed, forbidden = {}, []
    for line in re.sub(r"\n +", " ", path.read_text()).splitlines():
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


def check_namespaces(root, allowed):
    """Problems of files of the product that name what a room has from which they may not include."""
    spaces = {OTHERWISE.get(folder.name, folder.name): f"optimized/{folder.name}"
              for folder in (root / "optimized").iterdir() if folder.is_dir()}
    named = re.compile(rf"(?<![\w:.>])(?:slip::)?({'|'.join(spaces)})::(?=\w)")
    problems = []
    suffixes = (".hpp", ".cpp")
    for path in tree.files(root, suffixes, "optimized") + tree.files(root, suffixes, "programs"):
        name = path.relative_to(root).as_posix()
        room = room_of(name, allowed)
        may = [room] + allowed.get(room, [])
        for space in sorted(set(named.findall(COMMENT.sub("", path.read_text())))):
            if not any(inside(prefix, spaces[space]) or inside(spaces[space], prefix) for prefix in may):
                problems.append(f"{name}: names {space}::, and {room} may not include from {spaces[space]}")
    return problems


def private_to(root, quoted):
    """The folder of a file that is private to its room, or None."""
    path = root / quoted
    own = path.is_file() and PRIVATE.match(path.read_text())
    return path.parent.relative_to(root).as_posix() if own else None


def check(root):
    allowed, forbidden = read_table(root / "tools/layers.txt")
    problems, used = check_links(root, allowed) + check_namespaces(root, allowed), set()
    for path in tree.files(root, tree.SOURCES):
        name = path.relative_to(root).as_posix()
        room = room_of(name, allowed)
        if room is None:
            problems.append(f"{name}: is in no room of tools/layers.txt")
            continue
        for match in INCLUDE.finditer(path.read_text()):
            quoted, system = match.groups()
            if system and ((root / system).is_file() or (root / "include" / system).is_file()):
                quoted = system  # of the house, whatever its brackets
            if quoted and (path.parent / quoted).is_file():
                quoted = (path.parent / quoted).relative_to(root).as_posix()
            elif quoted and (root / "include" / quoted).is_file():  # as users include them
                quoted = f"include/{quoted}"
            prefixes = [prefix for prefix in [room] + allowed[room] if quoted and inside(quoted, prefix)]
            used.update((room, prefix) for prefix in prefixes)
            if quoted and not prefixes:
                problems.append(f'{name}: includes "{quoted}"; {room} may include from '
                                f"{', '.join([room] + allowed[room])}")
            folder = private_to(root, quoted) if quoted else None
            if folder and not inside(name, folder) and not name.startswith("property_tests/"):
                problems.append(f'{name}: includes "{quoted}", which is private to {folder}')
            for where, exceptions, headers in forbidden:
                if (system in headers and inside(name, where)
                        and not any(inside(name, exception) for exception in exceptions)):
                    problems.append(f"{name}: includes <{system}>, which {where} must not")
    return problems + [f"tools/layers.txt: nothing in {room} includes from {prefix}"
                       for room, prefixes in allowed.items() for prefix in prefixes
                       if (room, prefix) not in used]
