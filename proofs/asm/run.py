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

    def room(self, size):
        """Memory for `size` bytes, aligned to 64, with nothing that may be touched around it."""
        where = self.next
        self.next += (size + 191) // 64 * 64
        self.machine.free.append((where, where + size))
        return where

    def array(self, name, count, width, fact=lambda v: []):
        """Unknown elements name[0], name[1], ... of `width` bits; (address, elements)."""
        where = self.next
        self.next += (count * width // 8 + 191) // 64 * 64
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

    # --- products and calls --------------------------------------------------------------------

    def multiply(self, machine, a, b, width, signed):
        a, b = (self.name(v, width, signed) for v in (a, b))
        return t.product(a.symbol, b.symbol, a.range, b.range)

    def name(self, v, width, signed):
        """The declared operand that v is, proved."""
        key = v.get_id(), signed
        if key not in self.named:
            t.keep(v)
            core = v
            if t.kind(v) == z3.Z3_OP_SIGN_EXT:
                core, signed = v.arg(0), True
            elif t.kind(v) == z3.Z3_OP_CONCAT and t.is_zero(v.arg(0)):
                core, signed = t.extract(v, 0, width - v.arg(0).size()), False
            extend = t.sign_extend if signed else t.zero_extend
            value = t.term(extend(core, core.size(), 64), 64)
            candidates = [operand for variable in variables(core)
                          for operand in self.operands.get(variable.get_id(), [])]
            for operand in candidates:
                if self.prover.holds(value == operand.value, self.known):
                    self.named[key] = operand
                    break
            else:
                raise Refused(f"a product of what the contract does not name: {str(v)[:200]}")
        return self.named[key]

    def wipe(self, m):
        for i in range(m.general["rsi"]):
            m.memory[m.general["rdi"] + i] = 0

    def memset(self, m):
        value = t.extract(m.general["rsi"], 0, 8)
        m.store(m.general["rdi"], [value] * m.general["rdx"])
        m.general["rax"] = m.general["rdi"]

    def memcpy(self, m):
        if m.appended and m.appended.takes(m.general["rdi"]):
            return m.appended.copy(m)
        m.store(m.general["rdi"], m.load(m.general["rsi"], m.general["rdx"]))
        m.general["rax"] = m.general["rdi"]

    memmove = memcpy

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
    """An output of words of which only some are kept: registers are stored one after another, each
    where the kept words of those before it end.

    How many of a mask's lanes are kept is an unknown count, which words these are (compress) an
    unknown register; `conclude` proves of each what mask and which words it is of. A run forks for
    every value of a count that a branch depends on."""

    def __init__(self, run, size, element):
        self.run, self.size, self.element, self.lanes = run, size, element, 64 // element
        self.base = run.next
        run.next += (size + 191) // 64 * 64
        self.log, self.counts, self.registers = [], [], []
        t.COUNTS.clear(), t.KNOWN.clear()
        run.machine.appended, run.machine.population, run.machine.kept = (
            self, self.population, self.kept)

    # --- while the run lasts -------------------------------------------------------------------

    def takes(self, address):
        return not t.is_int(address) or self.base <= address < self.base + self.size

    def append(self, address, cells, length=None):
        self.log.append((address, cells, length))

    def copy(self, m):
        """memcpy of a number of bytes that may depend on data, from a register that was stored."""
        length = m.general["rdx"]
        if not t.is_int(length) or length:
            size = length if t.is_int(length) else 64
            self.append(m.general["rdi"], m.load(m.general["rsi"], size), length)
        m.general["rax"] = m.general["rdi"]

    def population(self, v, width):
        greatest = width
        while greatest and self.run.holds(z3.ULT(v, 1 << greatest - 1)):
            greatest -= 1
        if greatest > self.lanes:
            raise Refused("a count of more bits than a register has lanes")
        count = self.run.fresh(f"count[{len(self.counts)}]", 8)
        t.COUNTS[count.get_id()] = greatest
        self.counts.append((count, t.extract(v, 0, self.lanes)))
        return t.zero_extend(count, 8, width)

    def kept(self, bits, lanes, element):
        v = self.run.fresh(f"kept[{len(self.registers)}]", 8 * element * len(lanes))
        self.registers.append((v, bits, lanes))
        return t.to_cells(v, v.size())

    def with_counts(self, condition):
        """A condition with its counts known on this path."""
        counts = [(count, z3.BitVecVal(self.value(count), 8)) for count in variables(condition)
                  if count.get_id() in t.COUNTS]
        known = z3.simplify(z3.substitute(condition, *counts)) if counts else condition
        return z3.is_true(known) if z3.is_true(known) or z3.is_false(known) else known

    def value(self, count):
        key = count.get_id()
        if key not in t.KNOWN:
            greatest = t.COUNTS[key]
            t.KNOWN[key] = next((v for v in range(greatest) if self.run.machine.decide(count == v)),
                                greatest)
        return t.KNOWN[key]

    # --- conclusions ---------------------------------------------------------------------------

    def form(self, v):
        form = t.counted(v, 64)
        if form is None:
            raise Refused("a place in the output is not a sum of counts")
        return form

    def conclude(self, returned, words, p, path):
        """The output is the words that are not p, in order, and `returned` their number."""
        run, width = self.run, 8 * self.element
        log, registers, counts = list(self.log), list(self.registers), list(self.counts)
        if len(registers) != len(counts):
            raise Refused("not one count for each register")
        cursor = {}, self.base
        for at in range(0, len(words), self.lanes):
            part = words[at:at + self.lanes]
            accepted = z3.Concat(*reversed([z3.If(word == p, z3.BitVecVal(0, 1), z3.BitVecVal(1, 1))
                                            for word in part]))
            if log and log[0][2] is None and not self.of_register(log[0][1]):
                address, cells, _ = log.pop(0)
                run.expect(accepted, t.mask(len(part)), len(part), f"words {at}... accepted", path)
                for k, word in enumerate(part):
                    code = t.from_cells(cells[k * self.element:(k + 1) * self.element])
                    run.expect(code, word, width, f"word {at + k}", path)
                step = {}, len(cells)
                self.inside(address, cursor, at, len(cells))
            else:
                if len(part) < self.lanes:
                    accepted = z3.ZeroExt(self.lanes - len(part), accepted)
                v, bits, lanes = registers.pop(0)
                count, counted = counts.pop(next((k for k, (_, mask) in enumerate(counts) if run.holds(
                    t.term(mask, self.lanes) == accepted)), 0))
                run.expect(bits, accepted, self.lanes, f"the mask of words {at}...", path)
                run.expect(counted, accepted, self.lanes, f"the count of words {at}...", path)
                for k, word in enumerate(part):
                    run.expect(lanes[k], word, width, f"word {at + k}", path)
                step = {count.get_id(): self.element}, 0
                if count.get_id() in t.KNOWN:
                    step = {}, t.KNOWN[count.get_id()] * self.element
                self.stored(log, v, cursor, step, at, len(part))
            cursor = cursor[0] | step[0], cursor[1] + step[1]
        if log or registers:
            raise Refused("more is stored than the words")
        number = {i: factor * self.element for i, factor in self.form(returned)[0].items()}
        if (number, self.form(returned)[1] * self.element + self.base) != cursor:
            raise Refused("the number returned is another")
        run.outputs += 1

    def of_register(self, cells):
        return not t.is_int(cells[0]) and any(cells[0][0].eq(v) for v, _, _ in self.registers)

    def inside(self, address, cursor, at, size):
        """A store at the cursor; at most the words before this register are kept before it."""
        if self.form(address) != cursor:
            raise Refused("words are not stored where those before them end")
        if at * self.element + size > self.size:
            raise Refused("a store may end outside the output")

    def stored(self, log, v, cursor, step, at, words):
        """The kept words of a register lie at the cursor: the register was stored there, or as many
        bytes of it as it has kept words, in one piece or several."""
        if log and (log[0][2] is not None or len(log[0][1]) == 64):
            address, cells, length = log.pop(0)
            if length is not None and self.form(length) != step:
                raise Refused("a copy has another length than the kept words")
            self.inside(address, cursor, at, self.element * words if length is not None else 64)
            found = cells
        else:
            pieces, end = {}, cursor[1] + step[1]
            while log and self.form(log[0][0])[0] == cursor[0] and (
                    cursor[1] <= self.form(log[0][0])[1] <= end - len(log[0][1])):
                address, cells, _ = log.pop(0)
                first = self.form(address)[1] - cursor[1]
                pieces |= {first + k: cell for k, cell in enumerate(cells)}
            found = [pieces[k] for k in sorted(pieces)]
            if step[0] or sorted(pieces) != list(range(step[1])):
                raise Refused("not every kept word is stored")
        if any(t.is_int(cell) or not cell[0].eq(v) or cell[1] != k for k, cell in enumerate(found)):
            raise Refused("something else than the kept words is stored")


class Unbounded(Run):
    """A run without the ranges that the contract requires: proofs that need them must fail."""

    def array(self, name, count, width, fact=None):
        return super().array(name, count, width)

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
