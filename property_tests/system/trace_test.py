"""`slip generate --trace`: who was busy with what, and who waited."""

import collections
import itertools
import json
import stat
import unittest

from slip_system import Deployment, LocalDavid

CHARLIE, DAVID, MASKS = 1, 2, 3
OF_A_MESSAGE = {"quantise", "mask", "send", "low-rank part", "wait for David", "check and unmask",
                "add and scale"}
FIELDS = {"ph", "pid", "tid", "name", "ts", "dur", "args"}


def end(span):
    return span["ts"] + span["dur"]


class TraceOfARun(Deployment):
    def traced(self, david, *tail):
        """(the JSON of the run, the trace), of Charlie with this David; None: within Charlie."""
        out = self.folder / "trace.json"
        command = self.charlie_command(david) if david else ["generate", "--artifact", self.artifact]
        run = json.loads(self.slip(*command, *tail, "--trace", out).stdout)
        self.assertEqual(stat.S_IMODE(out.stat().st_mode), 0o600)
        return run, json.loads(out.read_text())

    def test_every_message_is_there_and_who_waited_for_whom(self):
        with LocalDavid(self.artifact / "david", self.folder / "david.socket") as david:
            run, trace = self.traced(david.endpoint)
        self.assertEqual(run["ids"], self.honest_ids)
        self.assertEqual(trace["otherData"], {"spans_left_out": 0})
        names = {event["tid"]: event["args"]["name"] for event in trace["traceEvents"]
                 if event["ph"] == "M" and event["name"] == "thread_name"}
        self.assertEqual(names.keys(), {CHARLIE, DAVID, MASKS})

        spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        for span in spans:
            self.assertEqual(span.keys(), FIELDS)
            self.assertGreaterEqual(span["dur"], 0)
        tracks = {track: sorted((s for s in spans if s["tid"] == track), key=lambda s: s["ts"])
                  for track in names}
        counts = collections.Counter(span["name"] for span in tracks[CHARLIE])
        self.assertEqual({counts[name] for name in OF_A_MESSAGE}, {run["rounds"]})
        self.assertEqual(counts["graph"], run["rounds"] - 1)
        self.assertEqual(len(tracks[DAVID]), run["rounds"])
        # He begins when all is sent, and Charlie's wait ends with his reply.
        sent = [s for s in tracks[CHARLIE] if s["name"] == "send"]
        waited = [s for s in tracks[CHARLIE] if s["name"] == "wait for David"]
        for message, sending, waiting in zip(tracks[DAVID], sent, waited, strict=True):
            self.assertEqual(message["args"], sending["args"])
            self.assertEqual(message["args"], waiting["args"])
            self.assertGreaterEqual(message["ts"] + 0.002, end(sending))
            self.assertGreaterEqual(waiting["ts"] + 0.002, message["ts"])
            self.assertGreaterEqual(end(message) + 0.002, end(waiting))
        # A wait for masks is within "mask"; nothing else of Charlie's overlaps.
        alone = [s for s in tracks[CHARLIE] if s["name"] != "wait for masks"]
        for before, after in itertools.pairwise(alone):
            self.assertLessEqual(end(before), after["ts"] + 0.002, (before, after))
        self.assertEqual({s["name"] for s in tracks[MASKS]}, {"masks", "cancellations"})

    def test_a_david_within_charlie_is_traced_too(self):
        run, trace = self.traced(None, "--json", "--ids", "1,2", "--max-tokens", "2")
        messages = [event for event in trace["traceEvents"] if event.get("tid") == DAVID
                    and event["ph"] == "X"]
        self.assertEqual(len(messages), run["rounds"])
        self.assertEqual({event["args"]["columns"] for event in messages}, {1, 2})

    def test_it_needs_the_protocol_and_nothing_is_left_of_a_run_that_fails(self):
        out = self.folder / "trace.json"
        out.write_text("older")
        self.refused("generate", "--artifact", self.artifact, "--engine", "unsplit", "--ids", "1",
                     "--trace", out, says=["--trace", "--engine hybrid"])
        self.refused("generate", "--artifact", self.artifact, "--ids", "999999", "--trace", out,
                     says=["999999"])
        self.assertEqual(out.read_text(), "older")


if __name__ == "__main__":
    unittest.main()
