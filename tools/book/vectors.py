"""One vector of a clause, worked through: the second implementation computes it while the page is made."""

import html
import inspect
import json
import sys

from book import pages, sources

SAME = "The second implementation computed this case while this page was made, with the same result."
OTHER = "The second implementation gave another result; what a vector allows, the conformance suite says."
SHOWN = 300  # characters of a value


def second_implementation(root):
    """conformance/slip_peer, as modules."""
    if str(root / "conformance") not in sys.path:
        sys.path.append(str(root / "conformance"))
    from slip_peer import operations, vectors
    return operations, vectors


def values(fields):
    """A table of the fields of an input or an output."""
    return pages.table(["field", "value"], [
        (f"<code>{html.escape(name)}</code>", f"<code>{html.escape(short(value))}</code>")
        for name, value in (fields or {}).items()], "values")


def short(value):
    text = json.dumps(value) if not isinstance(value, str) else value
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} ... ({len(text)} characters)"


def simplest(cases):
    """The valid case with the least input, or the one with the least if none is valid; None without cases."""
    valid = [case for case in cases if case[3]["result"] == "valid"] or cases
    return min(valid, key=lambda case: len(json.dumps(case[3]["input"])), default=None)


def recomputed(root, group, case):
    """What slip_peer says of a case: a sentence, and where its operation stands."""
    operations, vectors = second_implementation(root)
    function = operations.TABLE.get(group["operation"])
    if function is None or group["operation"] == "load_artifact":
        return "", None
    given = operations.answer(group["operation"], group.get("set"), vectors.expand(case["input"]))
    same = given["result"] == case["result"] and given.get("output") == vectors.expand(case.get("output"))
    return SAME if same else OTHER, function


def worked(root, cases):
    """HTML of a clause's vectors: how many, and one worked through."""
    file, line, group, case = simplest(cases)
    said, function = recomputed(root, group, case)
    parts = [f'<p>{len(cases)} in <a href="{sources.address(file)}"><code>{file}</code></a>. One of them, '
             f'<a href="{sources.address(file, line)}">{case["tcId"]}</a>, of the operation '
             f'<code>{group["operation"]}</code>'
             + (f', set <code>{group["set"]}</code>' if group.get("set") else "")
             + f': {html.escape(case["requirement"])}. '
             f'{html.escape(case.get("comment", "")).capitalize()}.</p>',
             "<h3>Input</h3>", values(case["input"]),
             f"<h3>Result: {case['result']}</h3>", values(case.get("output") or case.get("failure"))]
    if said:
        parts.append(f"<p>{said}</p>")
    if function and inspect.isfunction(function) and "slip_peer" in inspect.getsourcefile(function):
        lines, first = inspect.getsourcelines(function)
        parts.append(sources.excerpt(root, "conformance/slip_peer/operations.py", first,
                                     first + len(lines) - 1))
    return "".join(parts)
