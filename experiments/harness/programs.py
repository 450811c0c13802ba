"""The programs that runs call: where they are found, and how they are built (programs.toml)."""

import pathlib
import subprocess
import tomllib


class NoProgram(Exception):
    """A program that is not there; the message says how it is built."""


class Programs:
    """Looks programs up in the build folders, or only in `folders` if any are given."""

    def __init__(self, root, table, folders=()):
        self.root = root
        self.folders = [pathlib.Path(folder) for folder in folders]
        self.builds = tomllib.loads(table.read_text())["build"]
        self.broken = set()  # what is there may be older than its source

    def build_of(self, name):
        for build in self.builds:
            if name in build["programs"]:
                return build
        known = ", ".join(program for build in self.builds for program in build["programs"])
        raise NoProgram(f"there is no program '{name}'; experiments/programs.toml has {known}")

    def path(self, name):
        """Throws NoProgram if the program is not built."""
        if "/" in name:
            return name
        if self.folders:
            places, how = self.folders, "build it there"
        else:
            build = self.build_of(name)
            places, how = [self.root / build["folder"]], self.how_to_build(build, [name])
        for folder in places:
            if name not in self.broken and (folder / name).is_file():
                return str(folder / name)
        raise NoProgram(f"no program '{name}' in {', '.join(map(str, places))}: {how}")

    def commands_to_build(self, build, names):
        folder = build["folder"]
        configured = (self.root / folder / "CMakeCache.txt").is_file()
        return ([] if configured else [build["configure"]]) + [
            ["cmake", "--build", folder, "--target", *sorted(names)]]

    def how_to_build(self, build, names):
        needs = f" (needs {build['packages']})" if "packages" in build else ""
        commands = self.commands_to_build(build, names)
        return " && ".join(" ".join(command) for command in commands) + needs

    def build(self, names, say):
        """Brings the programs up to date. What cannot be built is said, and refused by path()."""
        if self.folders:
            return
        names = {name for name in names if "/" not in name}
        for build in self.builds:
            wanted = names & set(build["programs"])
            if not wanted:
                continue
            say(f"building {', '.join(sorted(wanted))} in {build['folder']}")
            for command in self.commands_to_build(build, wanted):
                result = subprocess.run(command, cwd=self.root, capture_output=True, text=True)
                if result.returncode != 0:
                    last = (result.stdout + result.stderr).strip().splitlines()[-8:]
                    say("\n".join([*last, f"not built: {self.how_to_build(build, wanted)}"]))
                    self.broken |= wanted
                    break
