"""What the specification forbids does not compile (INTEG-5, MASK-5, SESS-1), each line of it for the
reason that was meant; what it asks for compiles. The lines stand in ../protocol/order_of_types.cpp."""
# test: once

import json
import re
import shlex
import subprocess
import unittest

from slip_system import BUILD, LIMIT_S, ROOT, SystemTest

LINES = ROOT / "property_tests/protocol/order_of_types.cpp"


def compiler():
    """The command with which the build compiles the session, without its file and its output."""
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    own = next(c for c in commands if "/slip_protocol.dir/" in c["command"])
    words = shlex.split(own["command"])
    for option in ("-o", "-c"):
        at = words.index(option)
        del words[at:at + 2]
    return words


def errors_of(*options):
    """Line and text of every error in the file, and all that the compiler says."""
    command = [*compiler(), "-fsyntax-only", *options, "-c", str(LINES)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, cwd=BUILD)
    said = re.findall(r"order_of_types\.cpp:(\d+):\d+: (?:fatal )?error: (.*)", result.stderr)
    return [(int(line), text) for line, text in said], result.stderr


class OrderOfTypes(SystemTest):
    def test_the_right_order_compiles(self):
        self.assertEqual(errors_of(), ([], ""))

    def test_every_forbidden_line_is_refused_for_its_reason_and_no_other_is(self):
        expected = {}
        for number, line in enumerate(LINES.read_text().splitlines(), start=1):
            if marker := re.search(r"// error: (.+)$", line):
                expected[number] = (line.strip(), marker[1])
        self.assertGreater(len(expected), 20)
        errors, said = errors_of("-DFORBIDDEN")
        self.assertLessEqual({line for line, _ in errors}, expected.keys(), said)
        for number, (line, reason) in expected.items():
            with self.subTest(line):
                texts = [text for at, text in errors if at == number]
                self.assertTrue(texts, "it compiles")
                self.assertRegex(texts[0], reason)


if __name__ == "__main__":
    unittest.main()
