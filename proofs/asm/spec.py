"""What all contracts of optimized/kernels/contracts.hpp share: the primes, residues as bytes of
planes, and remainders."""

import z3

PRIMES = (251, 241, 239, 233, 229, 227, 223)  # RING-5
SPACE = "slip::kernels::"
KAPPA = 8


def value(number, width):
    return z3.BitVecVal(number, width)


def modulus(planes):
    """L of RING-5."""
    product = 1
    for p in PRIMES[:planes]:
        product *= p
    return product


def remainder(x, p):
    """x mod p of an unsigned number."""
    return z3.URem(x, value(p, x.size()))


def below(p):
    """The fact of a canonical byte."""
    return lambda v: [z3.ULT(v, p)]


def columns(run, name, n, planes, count=1, parts=()):
    """`count` columns of n unknown residues: (address, [column][plane][entry])."""
    where = run.place(count * planes * n, 1)
    entries = [[None] * planes for _ in range(count)]
    for p, prime in enumerate(PRIMES[:planes]):
        own = run.elements(f"{name}_{p}", count * n, 8, below(prime), parts)
        for c in range(count):
            entries[c][p] = own[c * n:(c + 1) * n]
            for j, v in enumerate(entries[c][p]):
                run.machine.memory[where + (c * planes + p) * n + j] = v, 0
    return where, entries
