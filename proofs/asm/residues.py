"""The contracts of kernels on residues, a lane at a time: masking, sampling, keystreams.

Each function is a run: it fixes sizes, declares unknown inputs with the contract's ranges, executes
the kernel and states its outputs."""

import z3

import aes
import terms as t
from machine import Refused
from run import Appended, walk
from spec import PRIMES, SPACE, below, modulus, remainder, value


def mask(image, run, backend):
    """MASK-1, of any n."""
    machine, explorer = run.of_any_size()
    n, planes = machine.sizes.symbol("n", 0, 1 << 62), machine.sizes.symbol("planes", 1, 7, few=True)
    whole = machine.sizes.product("planes n", planes, n)
    q_at = machine.input("q", t.scale(n, 2, 64), 2, [run.family("q", 16, lambda v: [v >= -32767])])
    r_at = machine.input("mask", whole, 1, [run.family(f"mask_{p}", 8, below(prime))
                                            for p, prime in enumerate(PRIMES)], n)
    q, r = machine.reader(q_at), machine.reader(r_at)

    out = machine.output("masked", whole, 1, lambda p, j: [q(0, j), r(p, j)],
                         lambda p, code, read: masked(run, code, *read, p), n, len(PRIMES))
    explorer.call(f"{SPACE}{backend}::mask", [q_at, r_at, n, planes, out])


def masked(run, code, q, r, p):
    """An output of MASK-1. The remainder of q + mask is that of their sum and a multiple of the prime; it is
    also stated of q's remainder, for code that reduces q first."""
    prime = PRIMES[p]
    offset = -(-32768 // prime) * prime
    own = t.total([(t.sign_extend(q, 16, 32), 1), (t.zero_extend(r, 8, 32), 1), (offset, 1)], 32)
    any_sum = run.fresh(f"sum_of_mask_{p}[0]", 17, lambda v, o=offset, m=prime: [
        z3.UGE(v, o - 32767), z3.ULE(v, o + 32767 + m - 1)])
    wide = t.zero_extend(any_sum, 17, 32)
    cut = run.cut(t.term(code, 8), (own, wide), *(
        (t.extract(own, 0, size), z3.Extract(size - 1, 0, any_sum)) for size in (8, 16)))
    if cut.eq(t.term(code, 8)):
        of_q = remainder(z3.SignExt(16, q) + offset, prime)
        spec = remainder(of_q + z3.ZeroExt(24, r), prime)
    else:
        spec = remainder(wide, prime)
    run.expect(cut, z3.Extract(7, 0, spec), 8, f"plane {p} of masked")


def unmask(image, run, backend):
    """MASK-4, of any m and each number of planes."""
    for planes in range(1, len(PRIMES) + 1):
        if run.fixed.get("planes", planes) == planes:
            unmask_planes(run, backend, planes)


def unmask_planes(run, backend, planes):
    machine, explorer = run.of_any_size()
    m = machine.sizes.symbol("m", 0, 1 << 60)
    y_at, c_at = (machine.input(name, t.scale(m, planes, 64), 1, [
        run.family(f"{name}_{p}", 8, below(prime)) for p, prime in enumerate(PRIMES[:planes])], m)
        for name in ("y", "cancellation"))
    y, c = machine.reader(y_at), machine.reader(c_at)

    out = machine.output("out", t.scale(m, 8, 64), 8,
                         lambda _, i: [of(p, i) for of in (y, c) for p in range(planes)],
                         lambda _, code, read: unmasked(run, code, read[:planes], read[planes:]))
    explorer.call(f"{SPACE}{backend}::unmask", [y_at, c_at, m, planes, out])


def unmasked(run, code, y, c):
    """An output of MASK-4 by RING-5: the sum of ((y - c) inverse_p mod p) L / p over the planes is any
    number below planes L, and the output is congruent to it, of least magnitude."""
    planes = len(y)
    whole = modulus(planes)
    weights = [whole // p for p in PRIMES[:planes]]
    if planes == 1:
        difference = remainder(z3.ZeroExt(56, y[0]) - z3.ZeroExt(56, c[0]) + whole, whole)
        lifted = z3.If(z3.UGT(difference, (whole - 1) // 2), difference - whole, difference)
        run.expect(code, lifted, 64, "an element of out")
        return
    total, found = sum_of_planes(run, code, weights)
    for p, prime in enumerate(PRIMES[:planes]):
        inverse = pow(weights[p] % prime, -1, prime)
        difference = remainder(z3.ZeroExt(24, y[p]) - z3.ZeroExt(24, c[p]) + prime, prime)
        spec = z3.ZeroExt(32, remainder(difference * inverse, prime))
        run.expect(found[p], spec, 64, f"plane {p} of an element of out")
    any_sum = run.fresh("sum_of_planes[0]", 64, lambda v: [z3.ULT(v, planes * whole)])
    code = run.cut(code, (total, any_sum))
    half = (whole - 1) // 2
    for k in range(planes + 1):  # what is k L above the centred numbers loses k L
        here = z3.And(z3.UGE(any_sum, max(0, k * whole - half)), z3.ULE(any_sum, k * whole + half))
        run.expect_that(z3.Implies(here, code == any_sum - k * whole), f"an element of out, of {k}")


def sum_of_planes(run, code, weights):
    """(the sum of a term for each plane times its weight that `code` is made from, the terms)."""
    for node in filter(z3.is_bv, walk(code)):
        atoms, constant = t.LINEAR.get(t.ident(node)) or ({t.ident(node): (node, 1)}, 0)
        planes = {i: {plane_of(v) for v in run.variables_of(atom)} for i, (atom, _) in atoms.items()}
        if constant == 0 and node.size() == 64 and all(len(of) == 1 for of in planes.values()) and (
                len(set.union(*planes.values())) == len(weights)):
            return node, [t.total([(atom, factor * pow(weight, -1, 1 << 64))
                                   for i, (atom, factor) in atoms.items() if planes[i] == {p}], 64)
                          for p, weight in enumerate(weights)]
    raise Refused("no sum over the planes")


def plane_of(v):
    return int(v.decl().name().split("[")[0].rsplit("_", 1)[1])


def below_prime(image, run, backend):
    """WIRE-8, of any n."""
    machine, explorer = run.of_any_size()
    n, prime = machine.sizes.symbol("n", 0, 1 << 62), run.fresh("prime[0]", 8, admitted_prime)
    bytes_at = machine.input("bytes", n, 1, [run.family("byte", 8)])
    machine.watch_elements(bytes_at, lambda v: z3.UGE(v, prime))
    if backend != "portable":
        machine.hooks[f"{SPACE}portable::below"] = lambda m: portable_below(m, prime)

    def conclude():
        spec = z3.If(machine.seen, value(0, 8), value(1, 8))
        run.expect(t.extract(machine.returned(), 0, 8), spec, 8, "whether all are below")
    explorer.call(f"{SPACE}{backend}::below", [bytes_at, n, prime], conclude)


def portable_below(machine, prime):
    """What the portable kernel returns to another: what is proved of it, of any size, in a run of its own."""
    where, n, limit = (machine.general[name] for name in machine.ARGUMENTS[:3])
    if not t.same(t.term(t.extract(limit, 0, 8), 8), prime):
        raise Refused("below of another prime")
    if t.is_int(where) and t.is_int(n):
        seen = z3.Or([machine.watch(t.term(t.from_cells([cell]), 8)) for cell in machine.load(where, n)])
    else:
        seen = machine.read_elsewhere(where, n)
    return t.concat([(machine.unknown("above", 56), 56), (z3.If(seen, value(0, 8), value(1, 8)), 8)])


def admitted_prime(v):
    return [z3.UGT(v, 128)]


# --- keystreams ----------------------------------------------------------------------------------

def sample(image, run, backend, n):
    """RAND-2, to another place than the bytes'."""
    bytes_at, found = run.array("byte", n, 8)
    prime = run.fresh("prime[0]", 8, admitted_prime)
    appended(run, n, f"{SPACE}{backend}::sample", [bytes_at, n, prime], found, prime)


def appended(run, size, function, arguments, found, prime):
    """Every way of a function that appends those of the bytes found that are below the prime to its last
    argument, with room for `size` bytes."""
    memory, general = dict(run.machine.memory), dict(run.machine.general)
    for decide, taken in run.paths(None):
        run.machine.memory, run.machine.general = dict(memory), dict(general)
        run.machine.decided = lambda condition: condition
        run.machine.decide = lambda condition, decide=decide: (
            True if run.holds(condition) else not run.holds(z3.Not(condition)) and decide(condition))
        out = Appended(run, size, 1)
        run.machine.call(function, [*arguments, out.base])
        out.conclude(run.machine.returned(), found, prime,
                     [condition for _, condition in taken])


def sample_in_place(image, run, backend, n):
    """Every way to accept and reject n bytes; the output is where the bytes are."""
    bytes_at, v = run.array("byte", n, 8)
    prime = run.fresh("prime[0]", 8, admitted_prime)
    fresh_memory, general = dict(run.machine.memory), dict(run.machine.general)
    run.machine.free.append((bytes_at, bytes_at + n))
    for decide, taken in run.paths(None):
        run.machine.memory, run.machine.general = dict(fresh_memory), dict(general)
        run.machine.decide = decide
        run.machine.call(f"{SPACE}{backend}::sample", [bytes_at, n, prime, bytes_at])
        path = [condition for _, condition in taken]
        count, outputs = value(0, 8), [value(0, 8)] * n
        for i in range(n):
            accepted = z3.ULT(v[i], prime)
            outputs = [z3.If(z3.And(accepted, count == k), v[i], outputs[k]) for k in range(n)]
            count = z3.If(accepted, count + 1, count)
        returned = run.machine.returned()
        run.expect(returned, z3.ZeroExt(56, count), 64, "count", path)
        if not t.is_int(returned):
            raise Refused("the count is not known on a path")
        for k in range(returned):
            run.expect(run.output(bytes_at + k, 8), outputs[k], 8, f"out[{k}]", path)


def aes256_schedule(image, run, backend):
    """FIPS 197, 5.2."""
    run.machine.logic_width = 8
    key_at, key = run.array("key", 32, 8)
    out = run.room(240, 1)
    run.machine.call(f"{SPACE}{backend}::aes256_schedule", [key_at, out])
    for i, word in enumerate(aes.schedule(key)):
        for k, byte in enumerate(word):
            run.expect(run.output(out + 4 * i + k, 8), byte, 8, f"w[{i}] byte {k}")


def expand(image, run, backend, blocks):
    """RAND-1 and RAND-2: the accepted bytes of AES-256 of the counter blocks."""
    run.machine.logic_width = 8
    keys_at, keys = run.array("round_key", 15, 128, alignment=1)
    field, first = (run.fresh(f"{name}[0]", 32) for name in ("field", "first_block"))
    index, prime = run.fresh("index[0]", 64), run.fresh("prime[0]", 8, admitted_prime)
    stream = []
    for b in range(blocks):
        fields = (field, 32), (index, 64), (t.add(first, b, 32), 32)
        block = t.from_bytes([v for part in fields for v in t.bytes_of(*part)[::-1]])
        stream += t.bytes_of(aes.encrypt(block, keys), 128)
    appended(run, 16 * blocks, f"{SPACE}{backend}::expand",
             [keys_at, field, index, first, blocks, prime], stream, prime)
