"""No signed overflow in the scalar helpers of the kernels (residues.hpp, plane_pairs.hpp), for
every argument that their contracts allow.

helpers.cpp is built so that an overflow traps. Each helper is executed on unknown arguments in their
ranges; at every branch that depends on them the solver proves which way it goes, and a trap is
refused. A bound that is too wide must be refused."""

import subprocess
from pathlib import Path

import z3

from image import Image, link
from spec import PRIMES, SPACE, modulus
from machine import Refused
from run import Run

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ["-std=c++20", "-O1", "-fsanitize=signed-integer-overflow"]
TRAP = {"g++": ["-fsanitize-undefined-trap-on-error"], "clang++-19": ["-fsanitize-trap=all"]}
LARGEST = PRIMES[0] - 1
# (helper, ranges of its arguments, least and greatest, with signs where the least is negative)
HELPERS = [
    ("join_planes", [(0, LARGEST), (0, PRIMES[1] - 1)]),
    ("lift_residue", [(0, LARGEST)]),
    ("reduce_sum", [(-(1 << 46) + 1, (1 << 46) - 1)]),
    ("centre_sum", [(0, 7 * modulus(7) - 1)]),
]
TOO_WIDE = [
    ("reduce_sum", [(-(1 << 46) + 1, (1 << 63) - 1)]),
    ("centre_sum", [(-(1 << 63), 7 * modulus(7) - 1)]),
]


def build(compiler, folder):
    target = folder / "helpers.o"
    subprocess.run([compiler, *FLAGS, *TRAP[compiler], "-I", ROOT, "-c",
                    ROOT / "proofs/asm/helpers.cpp", "-o", target], check=True)
    folder = folder / "linked"
    folder.mkdir()
    return Image(link([target], compiler, folder))


def run(image, prover, helper, ranges):
    """Executes one helper; refused if it may trap. The texts of its instructions."""
    this = Run(image, prover)

    def fact(least, greatest):
        if least < 0:
            return lambda v: [v >= least, v <= greatest]
        return lambda v: [z3.ULE(least, v), z3.ULE(v, greatest)]

    def decide(condition):
        for way, claim in ((False, z3.Not(condition)), (True, condition)):
            if prover.holds(claim, this.known):
                return way
        raise Refused("an overflow is not excluded")
    this.machine.decide = decide
    this.machine.decided = lambda condition: condition  # a carry stays data
    arguments = [this.fresh(f"argument{i}[0]", 64, fact(*bounds)) for i, bounds in enumerate(ranges)]
    this.machine.call(f"{SPACE}helpers::{helper}", arguments)
    return {image.instructions[address].raw for address in this.machine.executed}


def check(compiler, prover, folder):
    """(texts of the instructions that were executed, failures)."""
    image, executed, failures = build(compiler, folder), set(), []
    for helper, ranges in HELPERS:
        try:
            executed |= run(image, prover, helper, ranges)
        except Refused as refused:
            failures.append(f"{compiler}: {helper}: {refused}")
    for helper, ranges in TOO_WIDE:
        try:
            run(image, prover, helper, ranges)
            failures.append(f"{compiler}: {helper} does not need its bound")
        except Refused:
            pass
    print(f"  no signed overflow in {len(HELPERS)} scalar helpers, {len(TOO_WIDE)} bounds that are too wide "
          f"rejected: {len(failures)} failures")
    return executed, failures
