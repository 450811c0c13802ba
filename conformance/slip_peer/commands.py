"""What each command of __main__ does. Returns the exit status."""

import json
import sys

from . import (errors, hiding, mutants, operations, probe_charlie, probe_david, report, serving, vectors,
               view)


def read_known_failing(path):
    """The ids of the list; an empty line or one that begins with # is a remark."""
    lines = path.read_text().splitlines() if path else []
    return [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]


def finish(result, arguments):
    """Prints and writes the report; the exit status."""
    errors.require(result.results, "select cases", "CONV-4",
                   f"no case has an id that begins with {arguments.only}")
    result.print()
    if arguments.junit:
        arguments.junit.write_text(result.junit())
    if arguments.json:
        arguments.json.write_text(result.json())
    return result.exit_status


def result_of(case, implementation):
    def result(status, message=""):
        return report.Result(case.id, case.level, case.requirement,
                             f"{case.operation} {case.set or ''} {case.comment}", status,
                             message)
    if not set(case.features) <= set(implementation.features):
        return result(report.NOT_CLAIMED)
    answer = implementation.ask(case)
    if answer.get("result") == "unimplemented":
        return result(report.UNIMPLEMENTED, "a case of a claimed feature was skipped")
    problem = vectors.judge(case, answer)
    return result(report.FAIL, problem) if problem else result(report.PASS)


def run_vectors(arguments):
    implementation = (vectors.Implementation(arguments.implementation)
                      if arguments.implementation else vectors.OwnImplementation())
    outcome = report.Report(implementation.name, implementation.features,
                            read_known_failing(arguments.known_failing), arguments.only)
    try:
        for case in vectors.read_all():
            if case.id.startswith(arguments.only):
                outcome.add(result_of(case, implementation))
    finally:
        implementation.close()
    return finish(outcome, arguments)


def peer(arguments):
    """The role that this program plays is the one that is not tested."""
    known_failing = read_known_failing(arguments.known_failing)
    if arguments.role == "charlie":
        errors.require(arguments.connect, "peer", "SESS-7", "--as charlie needs --connect")
        return finish(probe_david.run(arguments, known_failing), arguments)
    errors.require(arguments.implementation, "peer", "SESS-7",
                   "--as david needs --implementation, with {endpoint} in it")
    return finish(probe_charlie.run(arguments, known_failing), arguments)


def kill_mutants(arguments):
    """Every mutant must fail a case of the clause that is named beside it."""
    hidden = hiding.HIDDEN.name  # the set whose cases take longest comes last
    cases, rows = sorted(vectors.read_all(), key=lambda case: case.set == hidden), []
    for mutant in mutants.MUTANTS:
        found = mutants.fate(mutant, cases)
        row = {"class": mutant.kind, "mutant": mutant.name, "clause": mutant.clause,
               "killed": found is not None}
        print(f"{'killed' if found else 'SURVIVED'}  {mutant.kind}: {mutant.name}, by " +
              (f"{found[0].id} ({found[0].comment})" if found else f"no case of {mutant.clause}"))
        if found:
            case, how = found
            row |= {"case": case.id, "requirement": case.requirement, "how": how}
        rows.append(row)
    survived = sum(not row["killed"] for row in rows)
    print(f"{len(rows) - survived} of {len(rows)} mutants killed")
    if arguments.json:
        arguments.json.write_text(json.dumps({"format": "slip-mutants", "version": 2,
                                              "mutants": rows}, indent=1) + "\n")
    return 1 if survived else 0


def answer(_):
    """The other end of the pipe protocol: this package as the implementation."""
    for line in sys.stdin:
        request = json.loads(line)
        if request["request"] == "hello":
            reply = {"name": "slip_peer", "features": operations.FEATURES}
        else:
            reply = {"id": request["id"]} | operations.answer(
                request["operation"], request["set"], request["input"])
        print(json.dumps(reply), flush=True)
    return 0


def schemas(_):
    problems = vectors.validate()
    for problem in problems:
        print(problem)
    return 1 if problems else 0


TABLE = {"vectors": run_vectors, "peer": peer, "view": view.command, "david": serving.david,
         "charlie": serving.charlie, "answer": answer, "schemas": schemas, "mutants": kill_mutants}
