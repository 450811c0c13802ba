"""What ./run does once the program is built; see run. Everything it makes lies in build/run."""

import contextlib
import filecmp
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/release"
WORK = ROOT / "build/run"
MODEL = ROOT / "models/tinystories-llama"
RANK = 16
TOKENS = 200
PROMPT = "Once upon a time, there was a little girl"


class JobFailed(Exception):
    """A step did not do what it must; the message is for the user."""


def slip(*arguments, program="slip", status=0):
    """Runs a command of the program, its progress shown; returns (stdout, stderr)."""
    command = [str(BUILD / program), *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if result.returncode != status:
        shown = " ".join([program, *map(str, arguments)])
        raise JobFailed(f"'{shown}' ended with status {result.returncode}, expected {status}:\n"
                        f"{result.stderr.strip()}")
    return result.stdout, result.stderr


class David:
    """`slip david`, or `slip offline`, as a process of its own; `endpoint` is where it listens."""

    def __init__(self, *extra, role="david"):
        self.process = subprocess.Popen(
            [BUILD / "slip", role, "--artifact", WORK / "model/david", "--listen", "127.0.0.1:0",
             "--tls", WORK / "tls" / role, *extra],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
        line = self.process.stdout.readline()
        if "listening on " not in line:
            self.process.kill()
            raise JobFailed(f"David did not start: {self.process.communicate()[1].strip()}")
        self.endpoint = line.split("listening on ")[1].split()[0].strip('",}')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()


def charlie(artifact):
    """What `slip generate` needs to be Charlie, but for the Davids."""
    return ["--artifact", artifact, "--engine", "hybrid", "--tls", WORK / "tls/charlie"]


def generate(name, *engine):
    """Generates the same text with an engine; returns the JSON report with the logits' file."""
    logits = WORK / f"{name}.logits"
    out, _ = slip("generate", *engine, "--prompt", PROMPT, "--max-tokens", TOKENS,
                  "--logits", logits, "--json")
    return json.loads(out) | {"logits": logits}


def table(title, rows):
    width = max(len(name) for name, _ in rows)
    print(f"\n{title}")
    print("-" * len(title))
    for name, value in rows:
        print(f"{name:<{width}}  {value}")


def step(text):
    print(f"\n== {text}", flush=True)


def percent(part, whole):
    return f"{100 * part / whole:.2f} %"


def total(run):
    """Charlie's multiplications, online, for masks and for check vectors, of the model's linear ones."""
    charlie = (run["charlie_multiplications"] + run["offline_multiplications"]
               + run["setup_multiplications"])
    return percent(charlie, run["david_multiplications"])  # n M per column: the unsplit model's


def identical(one, other):
    return one["ids"] == other["ids"] and filecmp.cmp(one["logits"], other["logits"], shallow=False)


def session_rows(run, unsplit):
    tokens = len(run["ids"])
    columns_tokens = tokens + len(run["prompt_ids"]) - 1
    online = percent(run["charlie_multiplications"], run["david_multiplications"])
    before = run["offline_seconds"] + run["setup_seconds"]
    return [
        ("identical to the unsplit integer model", "yes" if identical(unsplit, run) else "NO"),
        ("  compared", f"{tokens} ids and {run['logits'].stat().st_size} bytes of logits"),
        ("Charlie's multiplications in total", f"{total(run)} of the model's linear ones ({online} online)"),
        ("tokens/s over TLS", f"{run['tokens_per_second']:.1f}"),
        ("rounds", f"{run['rounds']} ({run['rounds'] / columns_tokens:.1f} per token)"),
        ("bytes up, down per token", f"{run['bytes_up'] / columns_tokens:.0f}, "
         f"{run['bytes_down'] / columns_tokens:.0f}"),
        ("integrity checks passed", f"{run['checks']} of {run['rounds']}"),
        ("Charlie's seconds online", f"{run['charlie_seconds']:.3f}, beside"
         f" {run['david_seconds']:.3f} waiting for David"),
        ("Charlie's seconds in total", f"{run['charlie_seconds'] + before:.3f} (offline {before:.3f})"),
    ]


def report(unsplit, alone, second, decode, round_):
    """The closing tables of the honest runs."""
    table("Charlie alone: he computes the cancellations, two processes over TLS 1.3",
          session_rows(alone, unsplit))
    table("With a second David, who computes them: three processes over TLS 1.3", [
        *session_rows(second, unsplit),
        ("cancellations received and checked", second["offline_columns"]),
        ("steps that waited for them", second["offline_waits"]),
        ("what it assumes", "nobody ever holds what both Davids see: together it is the activations"),
    ])
    table("Speed, measured in one run, interleaved, medians", [
        ("hybrid decode in process, cancellations ready",
         f"{decode['hybrid_tokens_per_second']:.0f} tokens/s"),
        ("unprotected int8 model of the same shape, the processor's own int8 instructions",
         f"{decode['int8_tokens_per_second']:.0f} tokens/s"),
        ("ratio", f"{decode['ratio']:.2f}"),
        ("offline cost, apart", f"{1e3 * decode['offline_seconds_per_token']:.2f} ms per token"),
        ("a round over loopback TLS beyond its arithmetic", f"{round_['round_us']:.0f} us"),
        ("kernels", alone["kernels"]),
    ])


def is_rejected(davids, command):
    """Whether Charlie, with these (role, extra flags), ends with an integrity error and no text."""
    with contextlib.ExitStack() as running:
        endpoints = {role: running.enter_context(David(*extra, role=role)).endpoint
                     for role, extra in davids}
        where = [word for role, endpoint in endpoints.items() for word in (f"--{role}", endpoint)]
        try:
            text, said = slip(*command, *where, "--prompt", PROMPT, "--max-tokens", TOKENS, status=1)
        except JobFailed as failure:
            print(failure)
            return False
    shutil.rmtree(WORK / "state", ignore_errors=True)  # INTEG-7 would delay the next demonstration
    print(said.strip().splitlines()[-1])
    return text == "" and "integrity" in said.lower()


def dishonest(command):
    """The demonstrations of wrong products; [(who, whether he was caught)]."""
    wrong = ("--misbehave", "flip")
    step("dishonest Davids, who change one residue of one answer")
    return [
        ("David", is_rejected([("david", wrong)], command)),
        ("the second David", is_rejected([("david", ()), ("offline", wrong)], command)),
        ("both together", is_rejected([("david", wrong), ("offline", wrong)], command)),
    ]


def main():
    started = time.monotonic()
    if not (MODEL / "model.safetensors").is_file():
        raise JobFailed(f"{MODEL}: the bundled model is missing; expected model.safetensors")
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    os.environ["SLIP_STATE"] = str(WORK / "state")  # its reject delays nobody else

    step(f"splitting {MODEL.relative_to(ROOT)}: rank {RANK} in every linear layer of every block")
    slip("split", "--model", MODEL, "--rank", RANK, "--out", WORK / "model")
    slip("keys", "--out", WORK / "tls")

    step("generating with the unsplit integer model")
    unsplit = generate("unsplit", "--artifact", WORK / "model", "--engine", "unsplit")
    step("generating as Charlie, David in a process of his own, over TLS")
    with David() as david:
        alone = generate("alone", *charlie(WORK / "model"), "--david", david.endpoint)
        print(f"\n{PROMPT}{alone['text']}")
        step("the same with a second David, who computes the cancellations; check vectors prepared,"
             " Charlie without David's half")
        slip("check-vectors", "--artifact", WORK / "model", "--count", 1)
        shutil.copytree(WORK / "model/charlie", WORK / "half/charlie")
        with David(role="offline") as offline:
            second = generate("second", *charlie(WORK / "half"), "--david", david.endpoint,
                              "--offline", offline.endpoint)
        step("measuring")
        decode = json.loads(slip("decode", "--artifact", WORK / "model", "--model", MODEL, "--json",
                                 program="slip-bench")[0])
        round_ = json.loads(slip("round", "--artifact", WORK / "model", "--david", david.endpoint,
                                 "--tls", WORK / "tls/charlie", "--json", program="slip-bench")[0])
    caught = dishonest(["generate", *charlie(WORK / "model")])
    report(unsplit, alone, second, decode, round_)
    table("Dishonest Davids", [(who, "rejected" if rejected else "NOT REJECTED") for who, rejected in caught])
    print(f"\nall steps: {time.monotonic() - started:.0f} s; files in {WORK.relative_to(ROOT)}")
    honest = identical(unsplit, alone) and identical(unsplit, second)
    return 0 if honest and all(rejected for _, rejected in caught) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except JobFailed as failure:
        print(f"run: {failure}", file=sys.stderr)
        sys.exit(1)
