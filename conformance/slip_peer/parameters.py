"""Parameter sets and fixed numbers: the chapter parameters.md."""

import dataclasses

PRIMES = (251, 241, 239, 233, 229, 227, 223)  # RING-5


@dataclasses.dataclass(frozen=True)
class Lattice:
    """PARAM-5."""
    N: int               # degree of X^N + 1, and masks per block
    d: int               # elements of a secret
    eta: int             # secrets and noise have eta + eta bits
    tau: int             # noise is a multiple of it
    B_w: int             # greatest 2-norm of a row of W_D
    B_q: int             # greatest 2-norm of an activation
    Delta: int           # a cancellation may be off by tau times at most this


@dataclasses.dataclass(frozen=True)
class ParameterSet:
    """PARAM-1."""
    name: str
    code: int            # on the wire
    planes: int          # h, the bytes of a residue
    lattice: Lattice | None = None  # without it masks are uniform
    hides: bool = False  # HIDE-1: David's matrices are [A ; U]

    @property
    def public_rows(self):
        """HIDE-1: ell, the rows of U."""
        return self.lattice.N * self.lattice.d if self.hides else 0

    @property
    def primes(self):
        """Of the planes; their product is the modulus."""
        return PRIMES[:self.planes]


PAPER = ParameterSet("paper", 1, 4)
PAPER_LATTICE = ParameterSet("paper-lattice", 2, 5,
                             Lattice(N=256, d=8, eta=2, tau=2**24, B_w=1736, B_q=4832, Delta=64))
BY_NAME = {own.name: own for own in (PAPER, PAPER_LATTICE)}  # hiding.SETS has the third

KAPPA = 8                       # INTEG-1: combinations of the check
PRODUCT_MODULUS = 2**61 - 1     # MASK-10
HINT_ROWS = 64                  # MODEL-7: rows of a hint that have one digest
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
