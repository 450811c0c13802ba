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
BY_NAME = {P31.name: P31}

T = 16                          # PARAM-2: W_int = 2^T W_D + A B
WEIGHT_MAX = 127
FACTOR_MAX = 2**11 - 1          # B; A[i] is 2^e_i times entries of this range
ROW_EXPONENT_MAX = 20           # e_i
A_MAX = FACTOR_MAX * 2**ROW_EXPONENT_MAX
QA_MAX = 32767
QA_MIN = 127
COLUMNS_MAX = 4096              # PARAM-3
RESIDUE_BYTES_MAX = 2**26
MATRIX_MAX = 2**20              # m, n; entries of an image, of a patch and of an output
GROUPS_MAX = 2**16
FRAME_MAX = RESIDUE_BYTES_MAX + 64
VERSION = 1                     # PARAM-4: of the protocol
VERSION_OF_ARTIFACTS = 2        # PARAM-4
