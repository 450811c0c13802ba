"""Reading vector files, and asking an implementation about their cases over pipes."""

import contextlib
import dataclasses
import fcntl
import json
import pathlib
import selectors
import shlex
import subprocess

from . import hiding, lattice, operations, schema

FOLDER = pathlib.Path(__file__).resolve().parent.parent
VERSION = 2


@dataclasses.dataclass(frozen=True)
class Case:
    id: str
    level: str
    requirement: str
    comment: str
    operation: str
    set: str | None
    features: tuple
    stored_input: dict
    result: str
    stored_output: dict | None
    failure: dict | None
    intermediate: dict | None

    @property
    def clause(self):
        return self.id.split("/")[0]

    # Some are megabytes once they are expanded: each is for as long as its case is asked about.

    @property
    def input(self):
        case = expand(self.stored_input)
        return with_files(case) if self.operation == "load_artifact" else case

    @property
    def output(self):
        return expand(self.stored_output)


def expand(value):
    """{"repeat": v, "count": n} stands for a list of n times v, and {"hex": parts} for the parts
    one behind the other, each hexadecimal digits or {"repeat": digits, "count": n}."""
    if isinstance(value, dict):
        if value.keys() == {"repeat", "count"}:
            return [expand(value["repeat"])] * value["count"]
        if value.keys() == {"hex"}:
            return "".join(part if isinstance(part, str) else part["repeat"] * part["count"]
                           for part in value["hex"])
        return {name: expand(entry) for name, entry in value.items()}
    return [expand(entry) for entry in value] if isinstance(value, list) else value


def with_files(case):
    """The input of load_artifact: every file of the half, those of the case in place of the ones
    that are shipped. A file that is null is not there."""
    folder = FOLDER / "vectors/artifact"
    files = {path.relative_to(folder).as_posix(): path.read_bytes().hex()
             for path in folder.rglob("*") if path.is_file()}
    files = {path: data for path, data in (files | case["changed"]).items() if data is not None}
    if case["half"] == "david":
        files = {path: data for path, data in files.items() if path.startswith("david/")}
    return {"half": case["half"], "files": files}


def read_file(path):
    document = json.loads(path.read_text())
    if document.get("format") != "slip-vectors" or document.get("version") != VERSION:
        raise ValueError(f"{path}: not a file of slip-vectors version {VERSION}")
    cases = []
    for group in document["testGroups"]:
        for test in group["tests"]:
            cases.append(Case(test["tcId"], test["level"], test["requirement"], test["comment"],
                              group["operation"], group.get("set"), tuple(group["features"]),
                              test["input"], test["result"], test.get("output"),
                              test.get("failure"), test.get("intermediate")))
    if len(cases) != document["numberOfTests"]:
        raise ValueError(f"{path}: numberOfTests is wrong")
    return cases


def read_all(folder=FOLDER / "vectors"):
    """Every case of the folder; each id stands once."""
    cases = [case for path in sorted(folder.glob("*.json")) for case in read_file(path)]
    if not cases or len({case.id for case in cases}) != len(cases):
        raise ValueError(f"{folder}: no cases, or an id that stands twice")
    return cases


def validate(folder=FOLDER):
    """The violations of the schemas by the vector files: a list of sentences."""
    rules = json.loads((folder / "schemas/vectors.schema.json").read_text())
    problems = []
    for path in sorted((folder / "vectors").glob("*.json")):
        document = json.loads(path.read_text())
        problems += [f"{path.name}: {text}" for text in schema.violations(document, rules)]
    return problems


def judge(case, answer):
    """None if the answer is right, otherwise what is wrong with it."""
    if answer.get("result") != case.result:
        told = f", failing step: {case.failure['step']} by {case.failure['clause']}" \
            if case.failure else ""
        return f"expected {case.result}{told}; answered {json.dumps(answer)[:300]}"
    for name, value in (case.output or {}).items():
        given = answer.get("output", {}).get(name)
        if given != value and not (name == "masks" and same_masks(case, given)):
            return f"{name}: expected {short(value)}; answered {short(given)}" + hint(case)
    return None


def same_masks(case, given):
    """MASK-7: the masks of a block are exact; a cancellation may be off by noise that vanishes."""
    own = hiding.SETS[case.set]
    try:
        return all(mask | {"c": None} == right | {"c": None} and lattice.within_tolerance(
                       own, bytes.fromhex(right["c"]), bytes.fromhex(mask["c"]))
                   for mask, right in zip(given, case.output["masks"], strict=True))
    except (TypeError, KeyError, ValueError):  # an answer of another form
        return False


def hint(case):
    return f"; on the way: {short(case.intermediate)}" if case.intermediate else ""


def short(value):
    text = json.dumps(value)
    return text if len(text) <= 200 else text[:200] + "..."


class OwnImplementation:
    """This package, in the same process."""

    name = "slip_peer"
    features = operations.FEATURES

    def ask(self, case):
        return operations.answer(case.operation, case.set, case.input)

    def close(self):
        pass


class Implementation:
    """A program that answers one JSON object a line; conformance/README.md has the protocol."""

    def __init__(self, command, limit_s=300):
        self.limit_s = limit_s
        self.process = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        with contextlib.suppress(AttributeError, OSError):  # Linux: fewer turns for a long line
            fcntl.fcntl(self.process.stdin, fcntl.F_SETPIPE_SZ, 1 << 20)
        self.buffer = b""
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)
        hello = self.exchange({"request": "hello", "vectors": VERSION})
        self.name = str(hello.get("name", command))
        self.features = list(hello.get("features", []))
        unknown = set(self.features) - set(operations.FEATURES)
        if unknown or not {"david", "charlie"} & set(self.features):
            raise ValueError(f"features are among {operations.FEATURES}, with david or charlie; "
                             f"the implementation says {self.features}")

    def ask(self, case):
        request = {"request": "case", "id": case.id, "operation": case.operation,
                   "set": case.set, "input": case.input}
        try:
            answer = self.exchange(request)
        except ValueError as error:
            return {"result": f"no answer: {error}"}
        if answer.get("id") != case.id:
            return {"result": f"an answer to {answer.get('id')}"}
        return answer

    def exchange(self, request):
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except OSError as error:
            raise ValueError("the program ended") from error
        answer = json.loads(self.line())
        if not isinstance(answer, dict):
            raise ValueError("an answer is a JSON object")
        return answer

    def line(self):
        while b"\n" not in self.buffer:
            if not self.selector.select(self.limit_s):
                raise ValueError(f"no line within {self.limit_s} seconds")
            data = self.process.stdout.read1(1 << 16)
            if not data:
                raise ValueError("the program ended")
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line

    def close(self):
        with contextlib.suppress(OSError):  # what it did not read is lost
            self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
