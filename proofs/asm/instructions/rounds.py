"""Instructions of AES."""

import aes
import terms as t

from .vectors import put, size_of, sources, vector


@vector("aesenc", "aesenclast")
def aes_round(m, i, vex):
    a, b = sources(i, vex)
    function = aes.LAST_ROUND if i.name.endswith("last") else aes.ROUND
    put(m, i, [function(x, y) for x, y in zip(m.lanes(a, size_of(i), 16),
                                              m.lanes(b, size_of(i), 16))], 16, vex)


@vector("aeskeygenassist")
def key_assist(m, i, vex):
    """SubWord of words 1 and 3, and the same rotated with the constant."""
    cells = m.cells(i.operands[1], 16)
    out = []
    for at in (4, 12):
        word = aes.substituted([t.from_cells([c]) for c in cells[at:at + 4]])
        out += word + aes.exclusive(aes.rotated(word), [i.operands[2].value, 0, 0, 0])
    put(m, i, out, 1, vex)
