"""The counts of a program whose branches are known."""

import subprocess

import branches
from shipped import Program

# counted(n) executes its loop n times; it is called with 1000, twice with 301, 50 times with 400,
# 100 times with 7 and, in a forked child, with 11.
CALLS = [(1000, 1), (301, 2), (400, 50), (7, 100), (11, 1)]
OUTER = 51


def expected():
    """Executions of each instruction of `counted` and `outer`, in order, padding apart."""
    calls = sum(times for _, times in CALLS)
    steps = sum(n * times for n, times in CALLS)
    odd = sum(times for n, times in CALLS if n % 2)
    return [calls, steps, steps, steps, calls, calls, odd, calls], [OUTER] * 4


def run(path, file, folder):
    return subprocess.run([path], cwd=folder, env=branches.environment(file, {}), capture_output=True,
                          text=True)


def check(build, folder):
    """Failures."""
    path, file = build / "proofs_branches_example", folder / "example"
    program = Program(path.read_bytes(), path.name)
    functions = sorted((s.value, s.size, s.name) for s in program.elf.functions()
                       if s.name in ("counted", "outer"))
    code = branches.disassemble(path, functions)
    branches.write(file, program, code, set())
    done = run(path, file, folder)
    if done.returncode == branches.GIVEN_UP and "does not let" in done.stderr:
        raise branches.NotAllowed(done.stderr.strip())
    if done.returncode:
        return [f"the example whose branches are counted ended with {done.returncode}: {done.stderr}"]
    phases = [branches.executions(code, branches.read(file), phase) for phase in range(branches.PHASES)]
    found = [[sum(times[one.address] for times in phases) for one in code[name]]
             for name in ("counted", "outer")]
    if found != list(expected()):
        return [f"the example executed {found}, expected {list(expected())}"]
    print(f"a program of {sum(map(sum, found))} known executions, in three threads and a forked child, "
          "is counted exactly")
    return refusals(code, branches.read(file), path, program, folder)


def refusals(code, counts, path, program, folder):
    """Counts that cannot be must be found, and a file for another program refused."""
    failures = []
    address = next(a for a, phases in counts.items() if phases[0][0])
    wrong = {**counts, address: [(passed + 1, taken) for passed, taken in counts[address]]}
    try:
        branches.executions(code, wrong, 0)
        failures.append("counts that do not fit together are not found")
    except branches.Failed as found:
        print(f"refused: a branch counted once too often: {found}")
    file = folder / "other"
    branches.write(file, program, code, set())
    records = file.read_bytes()
    file.write_bytes(bytes([records[0] ^ 1]) + records[1:])
    done = run(path, file, folder)
    if done.returncode != branches.GIVEN_UP:
        failures.append("branches at another place than the program's are not refused")
    return failures
