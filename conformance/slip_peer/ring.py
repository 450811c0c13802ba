"""The integers mod L: the chapter ring.md. A residue is an int in 0..L-1 (CONV-1)."""

import array
import sys

from . import errors


def add(a, b, L):
    """RING-1."""
    return (a + b) % L


def subtract(a, b, L):
    """RING-1."""
    return (a - b) % L


def multiply(a, b, L):
    """RING-1."""
    return a * b % L


def embed(v, L):
    """RING-2: Z -> Z_L."""
    return v % L


def lift(r, L):
    """RING-3: the representative of least absolute value."""
    return r if r <= (L - 1) // 2 else r - L


def encode(residues, profile):
    """CONV-2: residue_bytes each, little-endian."""
    size = profile.residue_bytes
    require_canonical(residues, profile.L, "encode")
    return b"".join(r.to_bytes(size, "little") for r in residues)


def decode(data, profile):
    """CONV-1, WIRE-8: the residues that `data` holds; one that is not below L is refused."""
    size = profile.residue_bytes
    if len(data) % size:
        raise errors.ProtocolError("read residues", "WIRE-8", "a residue is cut")
    residues = array.array("I", data)
    if sys.byteorder == "big":
        residues.byteswap()
    if residues and max(residues) >= profile.L:
        raise errors.ProtocolError("read residues", "WIRE-8", "a residue is not below L")
    return residues.tolist()


def require_canonical(residues, L, step):
    if residues:
        errors.require(0 <= min(residues) and max(residues) < L, step, "CONV-1",
                       "a residue is not in 0..L-1")
