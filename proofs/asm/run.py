"""One run of a leaf kernel: unknown inputs under the contract's ranges in, proved outputs out.

Sizes are fixed in a run, contents are not. Every instruction of the run is executed on terms; then
each output is compared with what the contract says of it, by Z3 where the normal forms of terms.py
do not decide."""

import functools
from typing import Callable, NamedTuple

import z3

import integers
import sums
import tables
import terms as t
from loops import Explorer
from machine import Refused, same
from regions import with_regions
from sizes import Contradictions

# What Z3 may spend on one statement, in its own units, which do not depend on how busy the machine is: a
# hundred times what any statement of a proof needs.
WORK = 1_000_000_000


class Prover:
    """Proves bit-vector statements about variables with known constraints. A statement that differs
    from a proved one in the names of variables alone is not proved again."""

    def __init__(self, work=WORK):
        self.proved, self.kept, self.queries, self.contradictions = {}, [], 0, Contradictions()
        self.work = work

    def holds(self, statement, constraints):
        """constraints: function(variable) -> list of Bools; True, False or None (it takes too much work)."""
        statement = z3.simplify(statement)
        if z3.is_true(statement):
            return True
        renaming, facts, counts = [], [], {}
        for variable in variables(statement):
            family = variable.decl().name().split("[")[0]
            counts[family] = counts.get(family, 0) + 1
            fresh = z3.BitVec(f"{family}#{counts[family]}", variable.size())
            renaming.append((variable, fresh))
            facts.append([z3.substitute(fact, (variable, fresh)) for fact in constraints(variable)])
        statement = z3.substitute(statement, *renaming)
        renamed = z3.Implies(z3.And([fact for own in facts for fact in own]), statement)
        key = renamed.get_id()
        if key not in self.proved:
            self.kept.append(renamed)
            self.proved[key] = self.evaluated(statement, [v for _, v in renaming], facts)
            if self.proved[key] is None:
                self.proved[key] = self.solved(renamed)
        return self.proved[key]

    def evaluated(self, statement, found, facts):
        """Whether it holds for all values, if these are few; else None."""
        try:
            return tables.holds(statement, found, facts)
        except tables.Unknown:
            return None

    def solved(self, statement):
        self.queries += 1
        solver = z3.SolverFor("QF_BV")
        solver.set("rlimit", self.work)
        solver.add(z3.Not(statement))
        answer = solver.check()
        return True if answer == z3.unsat else False if answer == z3.sat else None


def variables(statement):
    """The variables of a statement in the order of a walk that does not depend on their names."""
    found, seen, stack = [], set(), [statement]
    while stack:
        node = stack.pop()
        if t.ident(node) in seen:
            continue
        seen.add(t.ident(node))
        if z3.is_const(node) and node.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            found.append(node)
        stack += t.parts_of(node)
    return found


class Part(NamedTuple):
    """A number that products may be of: `value(variable)`, 64 bits, of an input variable."""
    name: str
    value: Callable
    range: tuple


class Operand:
    """A part of one input variable."""

    def __init__(self, variable, part):
        self.variable, self.part, self.range = variable, part, part.range

    @functools.cached_property
    def value(self):
        return self.part.value(self.variable)

    @functools.cached_property
    def symbol(self):
        name = self.variable.decl().name().replace("[", f".{self.part.name}[", 1)
        symbol = z3.BitVec(name, 64)
        t.keep(symbol)
        return symbol

    @functools.cached_property
    def number(self):
        return sums.factor(self)


class Family:
    """The elements of an array: all have the same facts and parts, so what a term is of one element
    is proved of `any` of them."""

    def __init__(self, name, width, fact, parts):
        self.name, self.width, self.count = name, width, 0
        self.any = z3.BitVec(f"{name}[any]", width)
        self.fact, self.parts, self.found, self.whole = fact, parts, {}, {}
        self.has_0 = None

    def may_be_0(self):
        """Whether 0 has all that is known of the elements, and of their parts."""
        if self.has_0 is None:
            known = self.fact(z3.BitVecVal(0, self.width))
            self.has_0 = bool(self.parts) and all(
                part.range[0] <= 0 <= part.range[1] for part in self.parts) and all(
                z3.is_true(z3.simplify(fact)) for fact in known)
        return self.has_0


def no_facts(_):
    return []


class Run:
    def __init__(self, image, prover):
        t.forget()
        self.prover = prover
        self.equip(image.machine(image))
        self.next, self.facts, self.operands, self.named = 0x10000000, {}, {}, {}
        self.found, self.families, self.cells_named, self.sums_products = {}, {}, {}, False
        self.outputs, self.fixed, self.explorer = 0, {}, Explorer

    def equip(self, machine):
        """Has a machine do its products and calls as this run does."""
        self.machine = machine
        machine.multiply = self.multiply
        for name in ("slip::base::wipe", "memset", "memcpy", "memmove"):
            machine.hooks[name] = getattr(self, name.split("::")[-1])
        machine.hooks["__memcpy_chk"] = self.checked_memcpy

    def of_any_size(self):
        """From now on sizes are unknown, but for those in `fixed`, and arrays stand anywhere: (machine, what
        follows all its ways)."""
        executed = self.machine.executed
        image = self.machine.image
        self.named, self.cells_named = {}, {}  # the elements of new arrays may have the names of those before
        self.equip(with_regions(image.machine)(image, self))
        self.machine.executed = executed
        self.named, self.cells_named = {}, {}  # what is declared from now on may have names of before
        return self.machine, self.explorer(self.machine)

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

    def array(self, name, count, width, fact=no_facts, parts=(), alignment=None):
        """Unknown elements name[0], name[1], ... of `width` bits; (address, elements)."""
        where = self.place(count * width // 8, alignment or width // 8)
        elements = self.elements(name, count, width, fact, parts)
        for i, v in enumerate(elements):
            for k in range(width // 8):
                self.machine.memory[where + i * width // 8 + k] = v, k
        return where, elements

    def elements(self, name, count, width, fact=no_facts, parts=()):
        """The same without a place in memory."""
        family = self.family(name, width, fact, parts)
        return [self.element(family) for _ in range(count)]

    def family(self, name, width, fact=no_facts, parts=()):
        """The same of which each is declared when it is met."""
        family = Family(name, width, fact, parts)
        self.declare(family.any, family)
        return family

    def element(self, family, of_family=True):
        """Another one; unless `of_family`, without what is known of the others."""
        v = z3.BitVec(f"{family.name}[{family.count}]", family.width)
        family.count += 1
        t.keep(v)
        if of_family:
            self.declare(v, family)
        return v

    def declare(self, v, family):
        self.facts[t.keep(v)] = family.fact
        self.families[t.ident(v)] = family
        self.operands[t.ident(v)] = [Operand(v, part) for part in family.parts]

    def fresh(self, name, width, fact=no_facts):
        v = z3.BitVec(name, width)
        self.facts[t.keep(v)] = fact
        return v

    def known(self, variable):
        key = variable.get_id()
        if key in sums.FORMS:
            least, greatest = sums.RANGE[key]
            return [variable >= least, variable <= greatest]
        return self.facts.get(key, no_facts)(variable)

    def operand(self, variable, part, value, least, greatest):
        """Declares that products may be of `value` (64 bits), a function of `variable`."""
        operand = Operand(variable, Part(part, lambda _: value, (least, greatest)))
        self.operands.setdefault(variable.get_id(), []).append(operand)
        return operand

    def sum_products(self):
        """From now on products are added as sums.py does."""
        self.sums_products = True
        self.machine.add_products = self.add_products

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
        if self.sums_products:
            return sums.Sum(128, (), [sums.product(x.number, y.number)])
        return t.product(x.symbol, y.symbol, x.range, y.range)

    def add_products(self, total, a, b, element, signed=None):
        """What an instruction that adds the products of a lane's elements does, without a term for each
        product. `signed`: whether those of either factor are; by default not the bytes of the first."""
        signed = signed or (element > 1, True)
        if self.machine.scouting:
            return self.machine.unknown("sum", 32)
        zeros, products = [0] * element, []
        for at in range(0, 4, element):
            x, y = a[at:at + element], b[at:at + element]
            if x != zeros and y != zeros:
                products.append(sums.product(*map(self.number_of, (x, y), signed)))
        if not products:
            return total
        before = None if t.is_int(total) else sums.as_sum(total, 32)
        if before is None:
            return t.add(total, sums.Sum(32, (), products), 32)
        return sums.Sum(32, (before,), products)

    def number_of(self, cells, signed):
        """The number of the operand that cells are."""
        key = id(cells[0]), id(cells[-1]), signed
        known = self.cells_named.get(key)
        if known is None:
            known = self.named_operand(t.from_cells(cells), 8 * len(cells), signed).number, cells
            self.cells_named[key] = known  # with the cells, whose ids so stay their own
        return known[0]

    def named_operand(self, v, width, signed):
        """The operand that the extension of a value is; of elements of an array, which is found once
        for all of them."""
        family = None if t.is_int(v) else self.families.get(t.ident(v))
        if family and signed in family.whole:
            return self.operands[t.ident(v)][family.whole[signed]]
        extend = t.sign_extend if signed else t.zero_extend
        operand = self.name(t.term(extend(v, width, 2 * width), 2 * width), 2 * width, True)
        if family:
            family.whole[signed] = self.operands[t.ident(v)].index(operand)
        return operand

    def name(self, v, width, signed):
        """The declared operand that v is, proved."""
        key = t.ident(v), signed
        if key not in self.named:
            t.keep(v)
            core = v
            if signed and t.kind(v) == z3.Z3_OP_SIGN_EXT:
                core = v.arg(0)
            elif t.kind(v) == z3.Z3_OP_CONCAT and t.is_zero(v.arg(0)):
                core, signed = t.extract(v, 0, width - v.arg(0).size()), False
            self.named[key] = self.operand_of(core, signed)
        if self.named[key] is None:
            raise Refused(f"a product of what the contract does not name: {str(v)[:200]}")
        return self.named[key]

    def operand_of(self, core, signed):
        """The operand that the extension of a term to 64 bits is; None if there is none."""
        found = self.variables_of(core)
        family = self.families.get(found[0].get_id()) if len(found) == 1 else None
        if family is None or not family.parts:
            return self.proved_operand(core, signed, found)
        pattern = z3.substitute(core, (found[0], family.any))
        key = t.keep(pattern), signed
        if key not in family.found:
            operand = self.proved_operand(pattern, signed, [family.any])
            family.found[key] = operand and family.parts.index(operand.part)
        number = family.found[key]
        return None if number is None else self.operands[found[0].get_id()][number]

    def variables_of(self, term):
        """The variables of a term; of its parts too they are kept, for terms share parts."""
        stack = [term]
        t.keep(term)
        while stack:
            node = stack[-1]
            key = t.ident(node)
            children = t.parts_of(node) if key not in self.found else []
            missing = [child for child in children if t.ident(child) not in self.found]
            if missing:
                stack += missing
                continue
            stack.pop()
            if key not in self.found:
                own = [] if children or z3.is_bv_value(node) or z3.is_bool(node) else [node]
                together = {t.ident(v): v for child in children for v in self.found[t.ident(child)]}
                self.found[key] = own or list(together.values())
        return self.found[term.get_id()]

    def proved_operand(self, core, signed, found):
        extend = t.sign_extend if signed else t.zero_extend
        value = t.term(extend(core, core.size(), 64), 64)
        candidates = [(z3.simplify(value == operand.value), operand) for variable in found
                      for operand in self.operands.get(variable.get_id(), [])]
        # First what needs no solver.
        for claim, operand in sorted(candidates, key=lambda pair: not z3.is_true(pair[0])):
            if self.prover.holds(claim, self.known):
                return operand
        return None

    def wipe(self, m):
        where, size = m.arguments(2)
        m.store(where, [0] * size)

    def memset(self, m):
        where, byte, size = (m.general[name] for name in m.ARGUMENTS[:3])
        m.fill(where, size, t.extract(byte, 0, 8))
        return where

    def memcpy(self, m):
        return self.memmove(m, False)

    def checked_memcpy(self, m):
        """memcpy to a place whose size the compiler knew."""
        size, room = (m.general[name] for name in m.ARGUMENTS[2:4])
        if not m.is_at_most(size, room):
            raise Refused("memcpy of more bytes than there is room for")
        return self.memmove(m, False)

    def memmove(self, m, may_overlap=True):
        to, source, size = (m.general[name] for name in m.ARGUMENTS[:3])
        m.copy(to, source, size, may_overlap)
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
            raise Refused(f"{what}: " + (f"differs from the contract {parting(code, spec)}" if result is False
                                         else "it takes the solver too much work"))

    def expect_same(self, code, spec, what):
        """That code and specification are one term: the same operations on the same operands."""
        self.outputs += 1
        if not same(code, spec):
            raise Refused(f"{what}: not the operations of the contract")

    def expect_that(self, claim, what):
        """Proves a claim about an output under the facts."""
        self.outputs += 1
        result = self.prover.holds(claim, self.known)
        if result is not True:
            raise Refused(f"{what}: " + ("differs from the contract" if result is False
                                         else "it takes the solver too much work"))

    def expect_remainder(self, code, total, before, p, what):
        """Proves that `code` is (total + before) mod p, for every value of the sum of products `total`
        that its products allow, and of the byte `before`, a residue or 0."""
        self.expect_residue(code, total.named(), total.interval(), before, p, what)

    def expect_residue(self, code, named, ends, before, p, what):
        """The same of a term in the place of the sum, for every value from the least to the greatest."""
        self.outputs += 1
        least, greatest = ends
        any_sum = self.fresh("any_sum[0]", 64)  # and `least` more of it
        core = named.arg(0) if t.kind(named) == z3.Z3_OP_SIGN_EXT else named
        pairs = [(v, z3.Extract(v.size() - 1, 0, any_sum) + least) for v in (named, core)]
        ranges = {any_sum.get_id(): (0, greatest - least)}
        if not t.is_int(before):
            ranges[before.get_id()] = 0, p - 1
        forms, code = integers.Integers(p, ranges), z3.substitute(t.term(code, 8), *pairs)
        expected = [any_sum] + ([] if t.is_int(before) else [before])
        try:
            problem = forms.is_residue_of(code, expected, least)
        except integers.Inexact as inexact:
            problem = str(inexact)
        if problem:
            raise Refused(f"{what}: {problem}")

    def holds(self, claim):
        return self.prover.holds(self.without_functions(claim), self.known) is True

    def cut(self, code, *sums_cut):
        """`code` with every multiple of a sum written in the variable that stands for the sum, or in a
        part of it: [(sum, what stands for it)]. What is proved of the result holds for all values."""
        forms = [(t.LINEAR.get(total.get_id()) or ({total.get_id(): (total, 1)}, 0), variable)
                 for total, variable in sums_cut]
        pairs, seen, stack = [], set(), [code]
        while stack:
            node = stack.pop()
            if t.is_int(node) or t.ident(node) in seen:
                continue
            seen.add(t.ident(node))
            written = next((w for form, variable in forms
                            for w in [self.written(node, form, variable, sums_cut)] if w is not None),
                           None)
            if written is not None:
                pairs.append((node, written))
            else:
                stack += t.parts_of(node)
        return z3.substitute(code, *pairs) if pairs else code

    def written(self, node, form, variable, sums_cut):
        width = variable.size()
        if not z3.is_bv(node) or node.size() != width:
            return None
        atoms, constant = t.LINEAR.get(t.ident(node)) or ({t.ident(node): (node, 1)}, 0)
        terms, other = form
        first, unit = next((i, c) for i, (_, c) in terms.items() if c % 2)
        factor = atoms.get(first, (None, 0))[1] * pow(unit, -1, 1 << width) % (1 << width)
        if factor == 0:
            return None
        result = z3.BitVecVal(constant - factor * other, width) + variable * z3.BitVecVal(factor, width)
        atoms = dict(atoms)
        for i, (atom, coefficient) in terms.items():
            left = (atoms.get(i, (atom, 0))[1] - factor * coefficient) % (1 << width)
            atoms[i] = atom, left
        if any(c and i in terms for i, (_, c) in atoms.items()):
            return None
        for atom, coefficient in [(atom, c) for atom, c in atoms.values() if c]:
            result = result + self.cut(atom, *sums_cut) * z3.BitVecVal(coefficient, width)
        return z3.simplify(result)

    def without_functions(self, goal):
        """Each application of an uninterpreted function as a fresh variable: equal applications as
        one, what is proved holds for any others."""
        pairs, seen, stack = [], set(), [goal]
        while stack:
            node = stack.pop()
            if t.ident(node) in seen:
                continue
            seen.add(t.ident(node))
            if t.ident(node) in t.APPLIED:
                pairs.append((node, self.fresh(f"applied[{t.ident(node)}]", node.size())))
            else:
                stack += t.parts_of(node)
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


class Results:
    """An array of residues that a kernel stores element by element, perhaps more than once, each time
    with more added to what it reads back. What it reads back is unknown but for its range: a proof
    that each number stored is right, whatever stood there before, is one of any number of stores."""

    def __init__(self, run, count, width, modulus):
        """modulus(number): of an element."""
        self.run, self.size, self.modulus = run, width // 8, modulus
        self.base = run.place(count * self.size, self.size)
        self.end = self.base + count * self.size
        self.log = [[] for _ in range(count)]
        run.machine.appended = self

    def takes(self, address):
        return t.is_int(address) and self.base <= address < self.end

    def append(self, address, cells, lanes=None):
        """A store of some elements."""
        first, rest = divmod(address - self.base, self.size)
        count, left = divmod(len(cells), self.size)
        if rest or left or lanes is not None or first + count > len(self.log):
            raise Refused("a store of outputs that is not of whole elements")
        for k in range(count):
            value = t.from_cells(cells[k * self.size:(k + 1) * self.size])
            log = self.log[first + k]
            if log and same(value, log[-1][0]):
                continue  # the same once more: stores of whole words that overlap
            left = self.run.fresh(f"before[{first + k}.{len(log)}]", 8 * self.size,
                                  lambda v, p=self.modulus(first + k): [z3.ULT(v, p)])
            log.append((value, left))
            for i in range(self.size):
                self.run.machine.memory[address + k * self.size + i] = left, i

    def stored(self, number, times):
        """[(number stored, what the element was before)] of an element."""
        log = self.log[number]
        if len(log) != times:
            raise Refused(f"output {number} is stored {len(log)} times, not {times}")
        return list(zip([value for value, _ in log], [0] + [left for _, left in log]))


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
        run.machine.lookup, run.machine.places, self.tables = self.lookup, self.places, {}

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
        self.counts[count.get_id()] = count, t.extract(v, 0, min(width, self.lanes))
        return t.zero_extend(count, 8, width)

    def kept(self, bits, lanes, element):
        v = self.run.fresh(f"kept[{len(self.registers)}]", 8 * element * len(lanes))
        self.registers.append((t.to_cells(v, v.size()), bits, lanes))
        return self.registers[-1][0]

    def lookup(self, machine, address, size):
        """What a table of 8 bytes for each of 256 gives for 8 bits: for the ones among them their places
        come first, in order. None of other tables."""
        bits = self.row_of(machine, address)
        if size != 8 or bits is None:
            return None
        v = self.run.fresh(f"places[{len(self.tables)}]", 64)
        self.tables[v.get_id()] = v, bits
        return t.to_cells(v, 64)

    def row_of(self, machine, address):
        """The 8 bits that an address, 8 times them behind a table's beginning, is of."""
        atoms, base = t.linear(address, 64)
        (atom, factor), *others = atoms.values()
        bits = t.extract(atom, 0, 8)
        if factor == 1:  # shifted in the atom
            bits = t.extract(atom, 3, 8)
            if not self.run.holds(atom == z3.ZeroExt(53, z3.Concat(bits, z3.BitVecVal(0, 3)))):
                return None
        elif factor != 8 or not self.run.holds(atom == z3.ZeroExt(56, bits)):
            return None
        rows = [machine.image.constant(base + 8 * row, 8) for row in range(256)]
        if others or any(row is None or list(row[:number.bit_count()]) != [
                k for k in range(8) if number >> k & 1] for number, row in enumerate(rows)):
            return None
        return bits

    def places(self, cells):
        """The bits whose places the cells are, or None."""
        known = None if t.is_int(cells[0]) else self.tables.get(cells[0][0].get_id())
        return known[1] if known and same_cells(cells, t.to_cells(known[0], 64)) else None

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
        if register:
            count = len(register[2])
        words = words[:count]
        if not words or (len(words) < count if lanes is None else not register):
            raise Refused("a store may end outside the output")
        accepted = t.concat([(0, count - len(words))] + [
            (z3.If(z3.ULT(word, p), z3.BitVecVal(1, 1), z3.BitVecVal(0, 1)), 1)
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
        width = len(words)
        if step == (width * self.element, None):  # on a path on which a register is kept whole
            step = 0, next((i for i, (_, bits) in self.counts.items() if bits.eq(chosen)), None)
            if step[1]:
                self.run.expect(self.counts[step[1]][0], width, 8, "the number of words kept", path)
        if step[1] not in self.counts:
            raise Refused("not as many words are stored as a register keeps")
        number, counted = self.counts[step[1]]
        first = (z3.BitVecVal(1, width + 1) << z3.ZeroExt(width - 7, number)) - 1
        self.run.expect(chosen, accepted, width, "which words are kept", path)
        if t.COUNTS[number.get_id()] > width:
            raise Refused("more words are counted than a register has")
        self.run.expect(t.extract(counted, 0, width), accepted, width, "the number of words kept", path)
        if lanes is None:  # what is behind them too, inside the output
            return
        # Code may ask whether the mask is all ones instead of whether the count is the greatest.
        whole = (number == counted.size()) == (counted == t.mask(counted.size()))
        self.run.expect(t.extract(lanes, 0, width), z3.Extract(width - 1, 0, first), width,
                        "how many of the kept words are stored", [*path, whole])


def same_cells(a, b):
    return len(a) == len(b) and all(
        not t.is_int(y) and x[0].eq(y[0]) and x[1] == y[1] for x, y in zip(a, b))


class Unbounded(Run):
    """A run without the ranges that the contract requires: proofs that need them must fail."""

    def family(self, name, width, fact=no_facts, parts=()):
        return super().family(name, width, no_facts, [
            part._replace(range=self.wider(*part.range)) for part in parts])

    def operand(self, variable, part, value, least, greatest):
        return super().operand(variable, part, value, *self.wider(least, greatest))

    @staticmethod
    def wider(least, greatest):
        return 2 * least - 1, 2 * greatest + 1


def parting(code, spec):
    """Where two terms part that are different: the first operands in which the same operations differ."""
    while not t.is_number(code) and not t.is_number(spec) and code.decl() == spec.decl():
        own, contracts = t.parts_of(code), t.parts_of(spec)
        ours = [v for v in own if not any(map(v.eq, contracts))]
        others = [v for v in contracts if not any(map(v.eq, own))]
        if len(ours) != 1 or len(others) != 1:
            break
        (code,), (spec,) = ours, others
    return "in " + ", the contract has ".join(" ".join(v.sexpr().split())[:300] for v in (code, spec))


def walk(root):
    seen, stack = set(), [root]
    while stack:
        node = stack.pop()
        if t.ident(node) not in seen:
            seen.add(t.ident(node))
            stack += t.parts_of(node)
            yield node
