"""What a run showed: on the terminal, as JUnit XML, and as JSON."""

import dataclasses
import html
import json

PASS, FAIL, UNIMPLEMENTED, NOT_CLAIMED = "pass", "fail", "unimplemented", "not claimed"


@dataclasses.dataclass(frozen=True)
class Result:
    id: str              # begins with the clause
    level: str
    requirement: str
    comment: str
    status: str
    message: str = ""

    @property
    def clause(self):
        return self.id.split("/")[0]


class Report:
    """Of the cases whose id begins with `only`. known_failing: ids that are expected to fail."""

    def __init__(self, implementation, features, known_failing=(), only=""):
        self.implementation, self.features = implementation, features
        self.only = only
        self.known_failing = {name for name in known_failing if name.startswith(only)}
        self.results = []

    def add(self, result):
        self.results.append(result)

    def with_status(self, *statuses):
        return [result for result in self.results if result.status in statuses]

    @property
    def broken(self):
        """A MUST of a claimed feature that failed or was skipped."""
        return [result for result in self.with_status(FAIL, UNIMPLEMENTED)
                if result.level == "MUST"]

    @property
    def conformant(self):
        return not self.broken and bool(self.with_status(PASS))

    @property
    def unexpected(self):
        """Failures of a MUST that are not on the list of known failures."""
        return [result.id for result in self.broken if result.id not in self.known_failing]

    @property
    def outdated(self):
        """What is on the list and does not fail: the list is compared, never used to skip."""
        failing = {result.id for result in self.with_status(FAIL, UNIMPLEMENTED)}
        return sorted(self.known_failing - failing)

    @property
    def exit_status(self):
        """0: conformant. 3: not conformant, exactly as the list of known failures says. 1: else."""
        if self.unexpected or self.outdated:
            return 1
        return 0 if self.conformant else 3

    def print(self, write=print):
        for result in self.with_status(FAIL, UNIMPLEMENTED):
            known = ", known" if result.id in self.known_failing else ""
            write(f"{result.status.upper()}{known} {result.id} [{result.level}] "
                  f"{result.requirement}\n    {result.comment}: {result.message}")
        clauses = sorted({result.clause for result in self.broken})
        counts = ", ".join(f"{len(self.with_status(status))} {status}" for status in
                           (PASS, FAIL, UNIMPLEMENTED, NOT_CLAIMED))
        write(f"{self.implementation} ({', '.join(self.features)}): {counts}")
        for name in self.outdated:
            write(f"{name} is on the list of known failures and does not fail")
        verdict = "conformant" if self.conformant else f"NOT conformant: {', '.join(clauses)}"
        write(verdict + (f", as far as cases {self.only}* can tell" if self.only else ""))

    def json(self):
        return json.dumps({
            "format": "slip-conformance-report", "version": 1,
            "implementation": self.implementation, "features": self.features,
            "only": self.only, "conformant": self.conformant,
            "unexpectedFailures": self.unexpected, "outdatedKnownFailures": self.outdated,
            "brokenClauses": sorted({result.clause for result in self.broken}),
            "results": [dataclasses.asdict(result) for result in self.results]}, indent=1) + "\n"

    def junit(self):
        cases = []
        for result in self.results:
            body = ""
            if result.status in (FAIL, UNIMPLEMENTED):
                body = f"<failure message={quoted(result.status)}>" \
                       f"{html.escape(result.requirement + ': ' + result.message)}</failure>"
            elif result.status == NOT_CLAIMED:
                body = "<skipped/>"
            cases.append(f'<testcase classname="{result.clause}" '
                         f'name={quoted(result.id + " " + result.comment)}>{body}</testcase>')
        failures = len(self.with_status(FAIL, UNIMPLEMENTED))
        return (f'<testsuite name={quoted("conformance of " + self.implementation)} '
                f'tests="{len(cases)}" failures="{failures}">\n' + "\n".join(cases)
                + "\n</testsuite>\n")


def quoted(text):
    """As the value of an attribute of XML."""
    return f'"{html.escape(text)}"'
