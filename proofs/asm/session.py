"""The bundled model, run by Charlie and David over TLS while the branches of their kernels are counted."""

import collections
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import branches

MODEL = Path(__file__).resolve().parents[2] / "models/tinystories-llama"
# A prompt of one token makes every step a decode step. All the masks that are kept ready are ready
# before the first, and the steps take too few for another batch: what is counted depends on no time.
PROMPT, TOKENS, READY = "1", 4, 64
# Counting takes time, and no time may end a session.
PATIENT = ["--timeout", "1000000", "--patience", "1000000"]
STEP = re.compile("quantise|dequantise|mask|unmask|combine|low_rank")
ROWS = ("Charlie, decode step", "David, decode step", "Charlie, batches of cancellations",
        "Charlie, start of a session", "David, start of a session")


def compiler(build):
    return re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", (build / "CMakeCache.txt").read_text(),
                     re.MULTILINE)[1]


def prepare(build, folder):
    """Keys, and the model split, in `folder`; with uniform masks, whose cancellations are products."""
    for arguments in (["keys", "--out", "tls"],
                      ["split", "--model", MODEL, "--rank", "16", "--set", "paper", "--out", "split"]):
        done = subprocess.run([build / "slip", *arguments], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise branches.Failed(done.stderr)


def runs_here(build, backend, folder):
    """Whether this processor has what a backend needs."""
    command = [build / "slip", "generate", "--artifact", "split", "--engine", "hybrid", "--ids", PROMPT,
               "--max-tokens", "1"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "SLIP_KERNELS": backend})
    if done.returncode and "SLIP_KERNELS" not in done.stderr:
        raise branches.Failed(done.stderr)
    return done.returncode == 0


def generate(build, folder, environments):
    """One generation; environments: (Charlie's, David's)."""
    log = folder / "david.log"
    with open(log, "w") as output:
        david = subprocess.Popen(
            [build / "slip", "david", "--artifact", "split/david", "--listen", "127.0.0.1:0", "--tls",
             "tls/david", "--threads", "2", *PATIENT],
            cwd=folder, stdout=output, stderr=output, env=environments[1])
    try:
        while not (match := re.search(r"listening on (\S+)", log.read_text())):
            if david.poll() is not None:
                raise branches.Failed(log.read_text())
            time.sleep(0.1)
        charlie = subprocess.run(
            [build / "slip", "generate", "--artifact", "split", "--engine", "hybrid", "--david", match[1],
             "--tls", "tls/charlie", "--ids", PROMPT, "--max-tokens", str(TOKENS), "--ready", str(READY),
             *PATIENT], cwd=folder, capture_output=True, text=True, env=environments[0])
        if charlie.returncode:
            raise branches.Failed(charlie.stderr)
    finally:
        david.send_signal(signal.SIGTERM)
        david.wait()
    if david.returncode:
        raise branches.Failed(log.read_text())


def executed(build, kernels, backend, folder):
    """{row: {address: times}} of one backend."""
    begins = {symbol for symbol, name in kernels.names.items() if name.endswith("::quantise")}
    files = [folder / f"{backend}.charlie", folder / f"{backend}.david"]
    for file in files:
        branches.write(file, kernels.program, kernels.code, begins)
    generate(build, folder, [branches.environment(file, {"SLIP_KERNELS": backend}) for file in files])
    charlie, david = ([branches.executions(kernels.code, branches.read(file), phase)
                       for phase in range(branches.PHASES)] for file in files)
    return by_row(kernels, charlie, david)


def by_row(kernels, charlie, david):
    """Charlie's initial thread computes the steps, his other one makes masks. Packing weights belongs to
    the start, although it is done when they are first multiplied."""
    step, david_step, masks, start, david_start = ROWS
    rows = {row: collections.Counter() for row in ROWS}
    for symbol, code in kernels.code.items():
        name = kernels.names[symbol].split("::")[-1]
        packs = name.startswith("pack")
        places = [(charlie[0], start), (charlie[1], step), (charlie[2], start if packs else masks)]
        places += [(times, david_start if packs else david_step) for times in david]
        for times, row in places:
            rows[row].update({one.address: times[one.address] for one in code if times[one.address]})
        wrong = charlie[1] if name.startswith("gemm") else charlie[2] if STEP.match(name) else {}
        if any(wrong.get(one.address) for one in code):
            raise branches.Failed(f"{kernels.names[symbol]} ran on another thread of Charlie's than expected")
    return rows
