"""The contract of `pack_combinations`, of any number of entries: [blocks][planes][kappa][64] bytes, each
entry as its centred representative, padded with zeros. 64 entries are proved on their own, and then that each
such group is laid out once."""

import z3

import terms as t
from layouts import EXTENT
from linear import BLOCK, lift
from machine import Refused, same
from panels import refuse_store
from regions import claimed
from sizes import divided
from spec import KAPPA, PRIMES, SPACE, below


def entries(image, run, backend):
    """1 to 64 entries, modulo each prime."""
    for prime in PRIMES:
        entries_modulo(run, backend, prime)


def entries_modulo(run, backend, prime):
    machine, explorer = run.of_any_size()
    sizes = machine.sizes
    count = sizes.symbol("count", 1, BLOCK)
    w_at = machine.input("w", count, 1, [run.family("w", 8, below(prime))])
    element = machine.reader(w_at)

    def check(_, code, i):
        if machine.proved(claimed(sizes.total(i) < sizes.total(count))):
            own = z3.Extract(7, 0, lift(z3.ZeroExt(56, element(0, i)), prime))
            run.expect(code, own, 8, "an entry of a combination")
        elif machine.proved(claimed(sizes.total(i) >= sizes.total(count))):
            run.expect(code, 0, 8, "a byte behind the entries")
        else:
            raise Refused("a byte of which it is not known whether it is an entry")
    packed = machine.output("packed", BLOCK, 1, None, check)
    explorer.call(f"{SPACE}{backend}::pack_entries", [w_at, count, prime, packed])


def pack(image, run, backend):
    """All entries, by the contract of `entries`; each number of planes is executed separately."""
    for planes in [run.fixed["planes"]] if "planes" in run.fixed else range(1, 8):
        pack_planes(run, backend, planes)


def pack_planes(run, backend, planes):
    machine, explorer = run.of_any_size()
    sizes, size = machine.sizes, planes * KAPPA
    n = sizes.symbol("n", 0, EXTENT)
    blocks = sizes.named_quotient(t.add(n, BLOCK - 1, 64), BLOCK.bit_length() - 1, "blocks")
    w_at = machine.input("w", t.scale(n, size, 64), 1, [run.family("w", 8)])
    packed = machine.output("packed", t.scale(blocks, size * BLOCK, 64), 1, None, refuse_store, alignment=64)
    region = machine.regions[t.ident(packed)]

    def pack_entries(machine):
        machine.stores += 1
        if machine.scouting:
            return
        w, count, prime, to = (machine.general[name] for name in machine.ARGUMENTS[:4])
        offset = t.sub(to, packed, 64)
        block, place = sizes.parted(offset, size * BLOCK)
        number = divided(place, BLOCK)
        if not t.is_int(number):
            raise Refused("a group of entries of which the place is not known")
        p, a = divmod(number, KAPPA)
        first = t.scale(block, BLOCK, 64)
        if not same(w, t.total([(w_at, 1), (t.scale(n, a * planes + p, 64), 1), (first, 1)], 64)) or (
                not same(t.extract(prime, 0, 32), PRIMES[p])):
            raise Refused("entries that are none of their place's")
        at, own, whole = sizes.total(first), sizes.value(count), sizes.total(n)
        if not machine.proved(*map(claimed, (at >= 0, own >= 1, own <= BLOCK, at + own <= whole)), z3.Or(
                claimed(own == BLOCK), claimed(at + own == whole))):
            raise Refused("entries that are not proved to be all of a block's")
        machine.note_written(region, region.chunks[0], offset, t.add(offset, BLOCK, 64))
        run.outputs += 1
    machine.hooks[f"{SPACE}{backend}::pack_entries"] = pack_entries
    explorer.call(f"{SPACE}{backend}::pack_combinations", [w_at, n, planes, packed])
