"""Parameter sets and fixed numbers: the chapter parameters.md."""

import dataclasses

PRIMES = (251, 241, 239, 233, 229, 227, 223)  # RING-5


@dataclasses.dataclass(frozen=True)
class ParameterSet:
    """PARAM-1."""
    name: str
    code: int            # on the wire
    planes: int          # h, the bytes of a residue

    @property
    def primes(self):
        """Of the planes; their product is the modulus."""
        return PRIMES[:self.planes]


PAPER = ParameterSet("paper", 1, 4)
BY_NAME = {PAPER.name: PAPER}

KAPPA = 8                       # INTEG-1: combinations of the check
T = 16                          # PARAM-2: W_int = 2^T W_D + A B
WEIGHT_MAX = 127
FACTOR_MAX = 2**11 - 1          # B; A[i] is 2^e_i times entries of this range
ROW_EXPONENT_MAX = 20           # e_i
A_MAX = FACTOR_MAX * 2**ROW_EXPONENT_MAX
NORM_MAX = 32767                # ENC-3: the activation norm of a group
NORM_MIN = 1024
COLUMNS_MAX = 4096              # PARAM-3
RESIDUE_BYTES_MAX = 2**26
MATRIX_MAX = 2**20              # m, n; entries of an image, of a patch and of an output
GROUPS_MAX = 2**16
FRAME_MAX = RESIDUE_BYTES_MAX + 64
VERSION = 2                     # PARAM-4: of the protocol
VERSION_OF_ARTIFACTS = 3        # PARAM-4
