"""Profiles and fixed numbers: the chapter parameters.md."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Profile:
    """PARAM-1."""
    name: str
    code: int            # on the wire
    L: int               # the modulus, prime
    residue_bytes: int
    kappa: int           # repetitions of the integrity check


P31 = Profile("P31", 1, 2**31 - 1, 4, 2)
P61 = Profile("P61", 2, 2**61 - 1, 8, 1)
BY_NAME = {profile.name: profile for profile in (P31, P61)}

T = 20                          # PARAM-2: W_int = 2^T W_D + A B
WEIGHT_MAX = 127
SMALL_WEIGHT_MAX = 7            # for an owner who chose weights of 4 bits
B_MAX = 2**15 - 1
A_MAX = 2**31 - 1
QA_MAX = 32767
QA_MIN = 127
COLUMNS_MAX = 4096              # PARAM-3
RESIDUE_BYTES_MAX = 2**26
MATRIX_MAX = 2**20              # m, n; entries of an image, of a patch and of an output
FRAME_MAX = RESIDUE_BYTES_MAX + 64
VERSION = 1                     # PARAM-4
