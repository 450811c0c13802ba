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
        self.fresh = None    # the build that has been brought up to date

    def builds_of(self, name):
        """The builds that have a program, first the one that is up to date."""
        builds = [build for build in self.builds if name in build["programs"]]
        if not builds:
            known = ", ".join(sorted({program for build in self.builds for program in build["programs"]}))
            raise NoProgram(f"there is no program '{name}'; experiments/programs.toml has {known}")
        return [self.fresh] if self.fresh in builds else builds

    def path(self, name):
        """Throws NoProgram if the program is not built."""
        if "/" in name:
            return name
        if self.folders:
            places, how = self.folders, "build it there"
        else:
            builds = self.builds_of(name)
            places = [self.root / build["folder"] for build in builds]
            how = self.how_to_build(builds[0], [name])
        for folder in places:
            if name not in self.broken and (folder / name).is_file():
                return str(folder / name)
        raise NoProgram(f"no program '{name}' in {', '.join(map(str, places))}: {how}")

    def is_configured(self, build):
        """Whether its folder is there, with libtorch if it takes that: experiments/run begins without."""
        cache = self.root / build["folder"] / "CMakeCache.txt"
        return cache.is_file() and ("-DSLIP_SAFETY=ON" not in build["configure"]
                                    or "\nSLIP_SAFETY:BOOL=ON\n" in cache.read_text())

    def commands_to_build(self, build, names):
        return ([] if self.is_configured(build) else [build["configure"]]) + [
            ["cmake", "--build", build["folder"], "--target", *sorted(names)]]

    def how_to_build(self, build, names):
        needs = f" (needs {build['packages']})" if "packages" in build else ""
        commands = self.commands_to_build(build, names)
        return " && ".join(" ".join(command) for command in commands) + needs

    def build(self, names, say):
        """Brings the programs up to date, in the first build that has them all. What cannot be built is
        said, and refused by path()."""
        if self.folders:
            return
        known = {program for build in self.builds for program in build["programs"]}
        wanted = {name for name in names if name in known}
        if not wanted:
            return
        build = next(build for build in self.builds if wanted <= set(build["programs"]))
        self.fresh = build
        say(f"building {', '.join(sorted(wanted))} in {build['folder']}")
        for command in self.commands_to_build(build, wanted):
            result = subprocess.run(command, cwd=self.root, capture_output=True, text=True)
            if result.returncode != 0:
                last = (result.stdout + result.stderr).strip().splitlines()[-8:]
                say("\n".join([*last, f"not built: {self.how_to_build(build, wanted)}"]))
                self.broken |= wanted
                break
