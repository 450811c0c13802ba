"""Linear algebra over the field of a prime p."""

import math
import struct


def rank_of(rows, p):
    """The rank over F_p."""
    rows, rank = [list(row) for row in rows], 0
    for j in range(len(rows[0]) if rows else 0):
        pivot = next((i for i in range(rank, len(rows)) if rows[i][j]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        inverse = pow(rows[rank][j], -1, p)
        head = [v * inverse % p for v in rows[rank]]
        rows[rank] = head
        for i in range(rank + 1, len(rows)):
            factor = rows[i][j]
            if factor:
                rows[i] = [(a - factor * b) % p for a, b in zip(rows[i], head)]
        rank += 1
        if rank == len(rows):
            break
    return rank


def chance_of_rank(found, rows, p):
    """Pr[rank <= found] of a uniform k x n matrix over F_p is below 4 p^-((k - found)(n - found))."""
    k, n = len(rows), len(rows[0])
    if found == min(k, n):
        return 1.0
    return 4 * math.exp(max(-700.0, -(k - found) * (n - found) * math.log(p)))


LANE = 32  # bits: an entry that is not reduced grows by less than p^2 per pivot


def left_over(equations, p):
    """Of linear equations mod p < 2^8, each the coefficients of fewer than 2^16 unknowns and the right
    side: how many follow from the others, or None if together they have no solution. A row is one
    integer, an entry in each lane, so that a step is two operations on long integers."""
    rows, first = [packed(equation) for equation in equations], (1 << LANE) - 1
    for _ in equations[0][:-1]:
        pivot = next((i for i, row in enumerate(rows) if (row & first) % p), None)
        if pivot is not None:
            head = unpacked(rows.pop(pivot))
            inverse = pow(head[0], -1, p)
            head = packed([entry * inverse % p for entry in head])
            rows = [row + -(row & first) % p * head for row in rows]
        rows = [row >> LANE for row in rows]
    return None if any(row % p for row in rows) else len(rows)


def packed(entries):
    return int.from_bytes(struct.pack(f"<{len(entries)}I", *entries), "little")


def unpacked(row):
    lanes = -(-row.bit_length() // LANE)
    return list(struct.unpack(f"<{lanes}I", row.to_bytes(LANE // 8 * lanes, "little")))
