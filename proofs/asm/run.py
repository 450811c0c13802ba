"""One run of a leaf kernel: unknown inputs under the contract's ranges in, proved outputs out.

Sizes are fixed in a run, contents are not. Every instruction of the run is executed on terms; then
each output is compared with what the contract says of it, by Z3 where the normal forms of terms.py
do not decide."""

import zlib

import z3

import terms as t
from integers import Inexact, Integers
from machine import Machine, Refused

SOLVER_MILLISECONDS = 300_000


class Prover:
    """Proves bit-vector statements about variables with known constraints. A statement that differs
    from a proved one in the names of variables alone is not proved again."""

    def __init__(self):
        self.proved, self.kept, self.queries = {}, [], 0

    def holds(self, statement, constraints):
        """constraints: function(variable) -> list of Bools; True, False or None (ran out of time)."""
        statement = z3.simplify(statement)
        if z3.is_true(statement):
            return True
        renaming, facts, counts = [], [], {}
        for variable in variables(statement):
            family = variable.decl().name().split("[")[0]
            counts[family] = counts.get(family, 0) + 1
            fresh = z3.BitVec(f"{family}#{counts[family]}", variable.size())
            renaming.append((variable, fresh))
            facts += [z3.substitute(fact, (variable, fresh)) for fact in constraints(variable)]
        renamed = z3.substitute(z3.Implies(z3.And(facts), statement), *renaming)
        key = renamed.get_id()
        if key not in self.proved:
            self.kept.append(renamed)
            self.queries += 1
            solver = z3.SolverFor("QF_BV")
            solver.set("timeout", SOLVER_MILLISECONDS)
            solver.add(z3.Not(renamed))
            answer = solver.check()
            self.proved[key] = True if answer == z3.unsat else False if answer == z3.sat else None
        return self.proved[key]


def variables(statement):
    """The variables of a statement in the order of a walk that does not depend on their names."""
    found, seen, stack = [], set(), [statement]
    while stack:
        node = stack.pop()
        if node.get_id() in seen:
            continue
        seen.add(node.get_id())
        if z3.is_const(node) and node.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            found.append(node)
        stack += node.children()
    return found


class Operand:
    """A number that products may be of: `value`, 64 bits, a function of one input variable."""

    def __init__(self, name, value, least, greatest):
        self.symbol = z3.BitVec(name, 64)
        self.value, self.range = value, (least, greatest)


class Run:
    def __init__(self, image, prover):
        t.forget()
        self.machine, self.prover = Machine(image), prover
        self.machine.multiply = self.multiply
        self.next, self.facts, self.operands, self.named = 0x10000000, {}, {}, {}
        self.outputs = 0
        for name in ("slip::wipe", "memset", "memcpy", "memmove"):
            self.machine.hooks[name] = getattr(self, name.split("::")[-1])

    # --- set-up --------------------------------------------------------------------------------

    def place(self, size, alignment):
        """An address for `size` bytes with just this alignment, and nothing around them."""
        where = self.next + alignment % 64
        self.next += (size + 255) // 64 * 64
        if alignment == 64:
            self.machine.aligned.add(where)
        return where

    def room(self, size, alignment):
        """Memory for `size` bytes that may be written. `alignment`: what the contract promises, that
        of an element or 64."""
        where = self.place(size, alignment)
        self.machine.free.append((where, where + size))
        return where

    def array(self, name, count, width, fact=lambda v: [], alignment=None):
        """Unknown elements name[0], name[1], ... of `width` bits; (address, elements)."""
        where = self.place(count * width // 8, alignment or width // 8)
        elements = [z3.BitVec(f"{name}[{i}]", width) for i in range(count)]
        for i, v in enumerate(elements):
            t.keep(v)
            self.facts[v.get_id()] = fact(v)
            for k, cell in enumerate(t.to_cells(v, width)):
                self.machine.memory[where + i * width // 8 + k] = cell
        return where, elements

    def fresh(self, name, width, fact=lambda v: []):
        v = z3.BitVec(name, width)
        t.keep(v)
        self.facts[v.get_id()] = fact(v)
        return v

    def known(self, variable):
        return self.facts.get(variable.get_id(), [])

    def operand(self, variable, part, value, least, greatest):
        """Declares that products may be of `value` (64 bits), a function of `variable`."""
        name = variable.decl().name().replace("[", f".{part}[", 1)
        operand = Operand(name, value, least, greatest)
        t.keep(operand.symbol)
        self.operands.setdefault(variable.get_id(), []).append(operand)
        return operand

    def only(self, v):
        """The one number that a term can be under the facts, proved; None if there are several."""
        if t.kind(v) == z3.Z3_OP_CONCAT and t.is_zero(v.arg(0)):
            v = t.extract(v, 0, v.size() - v.arg(0).size())
        key = v.get_id(), "only"
        if key not in self.named:
            t.keep(v)
            solver = z3.Solver()
            solver.add(*(fact for variable in variables(v) for fact in self.known(variable)))
            if solver.check() != z3.sat:
                raise Refused("the facts of a count contradict each other")
            number = solver.model().eval(v, model_completion=True).as_long()
            self.named[key] = number if self.prover.holds(v == number, self.known) else None
        return self.named[key]

    # --- products and calls --------------------------------------------------------------------

    def multiply(self, machine, a, b, width, signed):
        try:
            x, y = (self.name(v, width, signed) for v in (a, b))
        except Refused:
            if signed:
                raise
            # The low bits are those of the signed numbers' product; what is above them, unknown.
            low = t.extract(self.multiply(machine, a, b, width, True), 0, width)
            above = self.fresh(f"above[{len(self.facts)}]", 128 - width)
            return t.concat([(above, 128 - width), (low, width)])
        return t.product(x.symbol, y.symbol, x.range, y.range)

    def name(self, v, width, signed):
        """The declared operand that v is, proved."""
        key = v.get_id(), signed
        if key not in self.named:
            t.keep(v)
            core = v
            if signed and t.kind(v) == z3.Z3_OP_SIGN_EXT:
                core = v.arg(0)
            elif t.kind(v) == z3.Z3_OP_CONCAT and t.is_zero(v.arg(0)):
                core, signed = t.extract(v, 0, width - v.arg(0).size()), False
            extend = t.sign_extend if signed else t.zero_extend
            value = t.term(extend(core, core.size(), 64), 64)
            candidates = [(z3.simplify(value == operand.value), operand)
                          for variable in variables(core)
                          for operand in self.operands.get(variable.get_id(), [])]
            # First what needs no solver.
            for claim, operand in sorted(candidates, key=lambda pair: not z3.is_true(pair[0])):
                if self.prover.holds(claim, self.known):
                    self.named[key] = operand
                    break
            else:
                raise Refused(f"a product of what the contract does not name: {str(v)[:200]}")
        return self.named[key]

    def wipe(self, m):
        where, size = m.numbers("rdi", "rsi")
        m.store(where, [0] * size)

    def memset(self, m):
        where, size = m.numbers("rdi", "rdx")
        m.store(where, [t.extract(m.general["rsi"], 0, 8)] * size)
        return where

    def memcpy(self, m):
        to, source, size = m.numbers("rdi", "rsi", "rdx")
        if to < source + size and source < to + size:
            raise Refused("memcpy between places that overlap")
        return self.memmove(m)

    def memmove(self, m):
        to, source, size = m.numbers("rdi", "rsi", "rdx")
        m.store(to, m.load(source, size))
        return to

    # --- conclusions ---------------------------------------------------------------------------

    def output(self, where, width):
        return t.from_cells(self.machine.load(where, width // 8))

    def expect(self, code, spec, width, what, assumptions=()):
        """Proves code == spec under the facts (and assumptions)."""
        self.outputs += 1
        code, spec = t.term(code, width), t.term(spec, width)
        if code.eq(spec):
            return
        goal = code == spec
        if assumptions:
            goal = z3.Implies(z3.And(list(assumptions)), goal)
        goal = self.without_functions(goal)
        result = self.prover.holds(goal, self.known)
        if result is not True:
            raise Refused(f"{what}: " + ("differs from the contract" if result is False
                                         else "the solver ran out of time"))

    def holds(self, claim):
        return self.prover.holds(self.without_functions(claim), self.known) is True

    def expect_residue(self, code, expected, bits, what):
        """Proves that code is the sum of the expected products modulo p, as integers."""
        self.outputs += 1
        try:
            problem = Integers(bits).is_residue_of(code, expected)
        except Inexact as inexact:
            problem = str(inexact)
        problem = problem or self.trial(code, expected, (1 << bits) - 1)
        if problem:
            raise Refused(f"{what}: {problem}")

    def trial(self, code, expected, p):
        """What code is at some numbers, compared with the expectation: a check of the forms."""
        operands = [operand for several in self.operands.values() for operand in several]
        for choice in (0, 1, 2):
            chosen = {}
            for symbol, (least, greatest) in ((str(o.symbol), o.range) for o in operands):
                chosen[symbol] = (greatest, least, zlib.crc32(symbol.encode()) % (greatest + 1))[choice]
            pairs = [(node, z3.BitVecVal(chosen[str(a)] * chosen[str(b)], 128))
                     for node in walk(code) if node.get_id() in t.PRODUCTS
                     for a, b in [t.PRODUCTS[node.get_id()]]]
            found = z3.simplify(z3.substitute(code, *pairs)).as_long()
            right = sum(chosen[a] * chosen[b] * c for (a, b), c in expected.items()) % p
            if found != right:
                return f"at some numbers it is {found}, not {right}"
        return None

    def cut(self, code, sums):
        """`code` with every linear combination of the given sums of products written in their
        fresh variables: [(sum, variable)]. What is proved of the result holds for all
        values of the sums."""
        wanted = [(t.LINEAR.get(total.get_id()) or ({total.get_id(): (total, 1)}, 0), variable)
                  for total, variable in sums if not t.is_int(total)]
        pairs, seen, stack = [], set(), [code]
        while stack:
            node = stack.pop()
            if t.is_int(node) or node.get_id() in seen:
                continue
            seen.add(node.get_id())
            written = self.written(node, wanted, sums)
            if written is not None:
                pairs.append((node, written))
            else:
                stack += node.children()
        return z3.substitute(code, *pairs) if pairs else code

    def written(self, node, wanted, sums):
        if not z3.is_bv(node) or node.size() not in (64, 128):
            return None
        width = node.size()
        if node.get_id() in t.LINEAR:
            atoms, constant = t.LINEAR[node.get_id()]
        elif t.has_product(node) and t.kind(node) in (z3.Z3_OP_EXTRACT, z3.Z3_OP_CONCAT):
            atoms, constant = {node.get_id(): (node, 1)}, 0
        else:
            return None
        atoms = dict(atoms)
        total, used = z3.BitVecVal(constant, width), False
        for (terms, other), variable in wanted:
            first = next(i for i, (_, coefficient) in terms.items() if coefficient == 1)
            factor = atoms.get(first, (None, 0))[1]
            if factor == 0 or other != 0 or variable.size() != width:
                continue
            for i, (atom, coefficient) in terms.items():
                left = (atoms.get(i, (atom, 0))[1] - factor * coefficient) % (1 << width)
                atoms[i] = atom, left
            total, used = total + variable * z3.BitVecVal(factor, width), True
        if not used:
            return None
        for atom, coefficient in [(atom, c) for atom, c in atoms.values() if c]:
            atom = self.cut(atom, sums) if t.has_product(atom) else atom
            total = total + atom * z3.BitVecVal(coefficient, width)
        return z3.simplify(total)

    def without_products(self, code):
        """Whatever products are left, each as a fresh variable that is within the range of its
        product."""
        pairs = []
        for node in walk(code):
            if z3.is_app(node) and node.decl().eq(t.PRODUCT):
                least, greatest = t.RANGE[node.get_id()]
                variable = self.fresh(f"product[{node.get_id()}]", 128, lambda v: [
                    v >= least, v <= greatest])
                pairs.append((node, variable))
        return z3.substitute(code, *pairs) if pairs else code

    def without_functions(self, goal):
        """Each application of an uninterpreted function as a fresh variable: equal applications as
        one, what is proved holds for any others."""
        pairs, seen, stack = [], set(), [goal]
        while stack:
            node = stack.pop()
            if node.get_id() in seen:
                continue
            seen.add(node.get_id())
            if node.get_id() in t.APPLIED:
                pairs.append((node, self.fresh(f"applied[{node.get_id()}]", node.size())))
            else:
                stack += node.children()
        return z3.substitute(goal, *pairs) if pairs else goal

    def paths(self, call):
        """Runs call(run) once for every way to decide the conditions that depend on data; yields
        the conditions of each."""
        todo = [[]]
        while todo:
            plan, taken = todo.pop(), []

            def decide(condition):
                at = len(taken)
                value = plan[at] if at < len(plan) else True
                if at >= len(plan):
                    todo.append([v for v, _ in taken] + [False])
                taken.append((value, condition if value else z3.Not(condition)))
                return value
            yield decide, taken


class Appended:
    """An output of words of which only some are kept: each is stored where those before it end.

    That place is a sum of numbers that depend on data (terms.counted): 1 or 0 of a word, an unknown
    count of a mask's bits (popcnt) of a register. Which words of a register are kept (compress) is an
    unknown register. `conclude` proves of each what mask and which words it is of."""

    def __init__(self, run, size, element):
        self.run, self.element, self.lanes = run, element, 64 // element
        self.base = run.place(size, element)
        self.end = self.base + size
        self.log, self.counts, self.registers = [], {}, []
        t.COUNTS.clear(), t.BITS.clear()
        run.machine.appended, run.machine.population, run.machine.kept = (
            self, self.population, self.kept)

    # --- while the run lasts -------------------------------------------------------------------

    def takes(self, address):
        return not t.is_int(address) or self.base <= address < self.end

    def append(self, address, cells, lanes=None):
        """A store; `lanes`: the mask of what is stored, where it depends on data."""
        self.log.append((address, cells, lanes))

    def population(self, v, width):
        greatest = width
        while greatest and self.run.holds(z3.ULT(v, 1 << greatest - 1)):
            greatest -= 1
        if greatest > self.lanes:
            raise Refused("a count of more bits than a register has lanes")
        count = self.run.fresh(f"count[{len(self.counts)}]", 8, lambda v: [z3.ULE(v, greatest)])
        t.COUNTS[count.get_id()] = greatest
        self.counts[count.get_id()] = count, t.extract(v, 0, self.lanes)
        return t.zero_extend(count, 8, width)

    def kept(self, bits, lanes, element):
        v = self.run.fresh(f"kept[{len(self.registers)}]", 8 * element * len(lanes))
        self.registers.append((t.to_cells(v, v.size()), bits, lanes))
        return self.registers[-1][0]

    # --- conclusions ---------------------------------------------------------------------------

    def conclude(self, returned, words, p, path):
        """The output is the words that are not p, in order, and `returned` their number."""
        end, count = self.form(returned), self.element
        places = [self.form(address) for address, _, _ in self.log] + [
            ({i: factor * count for i, factor in end[0].items()}, end[1] * count + self.base)]
        if places[0] != ({}, self.base):
            raise Refused("the first words are not stored at the beginning")
        at = 0
        for (_, cells, lanes), place, following in zip(self.log, places, places[1:]):
            at += self.stored(cells, lanes, self.step(place, following), words[at:], p, path)
        if at != len(words):
            raise Refused("not every word is stored")
        self.run.outputs += 1

    def form(self, v):
        form = t.counted(v, 64)
        if form is None:
            raise Refused("a place in the output is not a sum of counts")
        return form

    def step(self, place, following):
        """What the place of the next store is further by: bytes, or the id of a count of words."""
        counts = {i: factor - place[0].get(i, 0) for i, factor in following[0].items()}
        moved = [(i, factor) for i, factor in counts.items() if factor]
        size = following[1] - place[1]
        if place[0].keys() <= counts.keys():
            if not moved:
                return size, None
            if len(moved) == 1 and moved[0][1] == self.element and size == 0:
                return 0, moved[0][0]
        raise Refused("words are not stored where those before them end")

    def stored(self, cells, lanes, step, words, p, path):
        """Proves of one store which of the next words it keeps; how many words these are.

        It ends inside the output: no more words than those before these are kept before them."""
        register = next((r for r in self.registers if same_cells(r[0], cells)), None)
        count = self.lanes if register else len(cells) // self.element
        words = words[:count]
        if not words or not register and (len(words) < count or lanes is not None):
            raise Refused("a store may end outside the output")
        accepted = t.concat([(0, count - len(words))] + [
            (z3.If(word == p, z3.BitVecVal(0, 1), z3.BitVecVal(1, 1)), 1)
            for word in reversed(words)])
        if register:
            self.compressed(register, lanes, step, accepted, path)
        else:
            size, bit = step
            kept = t.mask(count) if size == len(cells) else 0
            if bit and count == 1:
                kept = t.extract(t.BITS.get(bit, 0), 0, 1)
            self.run.expect(kept, accepted, count, "the number of words kept", path)
        for k, word in enumerate(words):
            code = register[2][k] if register else t.from_cells(
                cells[k * self.element:(k + 1) * self.element])
            self.run.expect(code, word, 8 * self.element, f"word {k} of a store", path)
        return len(words)

    def compressed(self, register, lanes, step, accepted, path):
        """The accepted words of a register, as many as there are, are stored."""
        _, chosen, words = register
        if step[1] not in self.counts or lanes is None:
            raise Refused("not as many words are stored as a register keeps")
        number, counted = self.counts[step[1]]
        width = len(words)
        first = (z3.BitVecVal(1, width + 1) << z3.ZeroExt(width - 7, number)) - 1
        self.run.expect(chosen, accepted, width, "which words are kept", path)
        self.run.expect(counted, accepted, width, "the number of words kept", path)
        self.run.expect(t.extract(lanes, 0, width), z3.Extract(width - 1, 0, first), width,
                        "how many of the kept words are stored")


def same_cells(a, b):
    return len(a) == len(b) and all(
        not t.is_int(y) and x[0].eq(y[0]) and x[1] == y[1] for x, y in zip(a, b))


class Unbounded(Run):
    """A run without the ranges that the contract requires: proofs that need them must fail."""

    def array(self, name, count, width, fact=None, alignment=None):
        return super().array(name, count, width, alignment=alignment)

    def operand(self, variable, part, value, least, greatest):
        return super().operand(variable, part, value, 2 * least - 1, 2 * greatest + 1)


def walk(root):
    seen, stack = set(), [root]
    while stack:
        node = stack.pop()
        if node.get_id() not in seen:
            seen.add(node.get_id())
            stack += node.children()
            yield node
