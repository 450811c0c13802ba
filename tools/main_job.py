"""What ./run does once the program is built; see run. Everything it makes lies in build/run."""

import filecmp
import json
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
BLOCK = ["--shape", "tinyllama", "--blocks", "1"]  # what hiding is for: matrices with more rows than ell
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
    """`slip david` as a process of its own; `endpoint` is where it listens."""

    def __init__(self, *extra):
        self.process = subprocess.Popen(
            [BUILD / "slip", "david", "--artifact", WORK / "model/david", "--listen", "127.0.0.1:0",
             "--tls", WORK / "tls/david", *extra],
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


def charlie(david):
    """What `slip generate` needs to be Charlie, with this David."""
    return ["--artifact", WORK / "model", "--engine", "hybrid", "--tls", WORK / "tls/charlie",
            "--david", david.endpoint]


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


def linear_multiplications(artifact):
    """The model's own for a token: M n of every matrix (HIDE-1: David's have ell rows more)."""
    manifest = json.loads((artifact / "david/manifest.json").read_text())
    return sum(group["rows"] * group["cols"] for group in manifest["groups"])


def figure(report, name):
    return next(found["value"] for found in report["figures"] if found["name"] == name)


def seconds(report, name):
    return next(found["seconds"] for found in report["rows"] if found["name"] == name)


def cost_rows(name, artifact, hidden):
    """What a token costs, of a measured model (slip-bench hidden)."""
    open_, david = seconds(hidden, "unprotected int8, 1 columns"), seconds(hidden, "David, 1 columns")
    charlie = seconds(hidden, "Charlie without masks, 1 columns")
    masks = seconds(hidden, "masks of a column, processor time")
    return [
        (f"{name}: weights in its linear layers", f"{1e-6 * linear_multiplications(artifact):.1f} million"),
        ("  unprotected, int8", f"{1e3 * open_:.2f} ms per token"),
        ("  David", f"{1e3 * david:.2f} ms, {david / open_:.1f} times that"
         f" (multiplications: {figure(hidden, 'davids_factor'):.1f} times)"),
        ("  Charlie", f"{1e3 * (charlie + masks):.2f} ms, {(charlie + masks) / open_:.2f} of that"
         f" (his masks, ahead of use, {1e3 * masks:.2f} ms)"),
    ]


def identical(one, other):
    return one["ids"] == other["ids"] and filecmp.cmp(one["logits"], other["logits"], shallow=False)


def session_rows(run, unsplit):
    tokens = len(run["ids"])
    columns_tokens = tokens + len(run["prompt_ids"]) - 1
    ahead = run["offline_seconds"]
    return [
        ("identical to the unsplit integer model", "yes" if identical(unsplit, run) else "NO"),
        ("  compared", f"{tokens} ids and {run['logits'].stat().st_size} bytes of logits"),
        ("tokens/s over TLS", f"{run['tokens_per_second']:.1f}"),
        ("rounds", f"{run['rounds']} ({run['rounds'] / columns_tokens:.1f} per token)"),
        ("bytes up, down per token", f"{run['bytes_up'] / columns_tokens:.0f}, "
         f"{run['bytes_down'] / columns_tokens:.0f}"),
        ("integrity checks passed", f"{run['checks']} of {run['rounds']}"),
        ("Charlie's seconds online", f"{run['charlie_seconds']:.3f}, beside"
         f" {run['round_seconds']:.3f} waiting for David"),
        ("Charlie's seconds in total", f"{run['charlie_seconds'] + ahead:.3f} (ahead of use {ahead:.3f})"),
    ]


def report(unsplit, hybrid, costs, round_, rejected):
    """The closing tables."""
    table("Charlie and David, two processes over TLS 1.3, the whole model hidden",
          session_rows(hybrid, unsplit))
    table("What hiding costs, measured in this run, medians", costs + [
        ("a round over loopback TLS beyond its arithmetic", f"{round_['round_us']:.0f} us"),
        ("kernels", hybrid["kernels"]),
    ])
    print("The bundled model is too small for hiding to pay: its matrices have fewer rows than the 2304\n"
          "that hiding adds to each.")
    table("Dishonest David", [("a reply with one wrong residue", "rejected" if rejected else "NOT REJECTED")])


def is_rejected():
    """Whether Charlie ends with an integrity error and no text if David changes one residue of a reply."""
    with David("--misbehave", "flip") as david:
        try:
            text, said = slip("generate", *charlie(david), "--prompt", PROMPT,
                              "--max-tokens", TOKENS, status=1)
        except JobFailed as failure:
            print(failure)
            return False
    print(said.strip().splitlines()[-1])
    return text == "" and "integrity" in said.lower()


def measured(artifact, model):
    """The report of slip-bench on a hidden split."""
    return json.loads(slip("hidden", "--artifact", artifact, "--model", model, "--repetitions", 3, "--json",
                           program="slip-bench")[0])


def main():
    started = time.monotonic()
    if not (MODEL / "model.safetensors").is_file():
        raise JobFailed(f"{MODEL}: the bundled model is missing; expected model.safetensors")
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)

    step(f"splitting {MODEL.relative_to(ROOT)}: all of it hidden from David")
    slip("split", "--model", MODEL, "--out", WORK / "model", "--audit", WORK / "audit")
    slip("keys", "--out", WORK / "tls")

    step("generating with the unsplit integer model")
    unsplit = generate("unsplit", "--artifact", WORK / "model", "--engine", "unsplit",
                       "--audit", WORK / "audit")
    step("generating as Charlie, David in a process of his own, over TLS")
    with David() as david:
        hybrid = generate("hybrid", *charlie(david))
        print(f"\n{PROMPT}{hybrid['text']}")
        step("measuring")
        costs = cost_rows("the bundled model", WORK / "model", measured(WORK / "model", MODEL))
        round_ = json.loads(slip("round", "--artifact", WORK / "model", "--david", david.endpoint,
                                 "--tls", WORK / "tls/charlie", "--json", program="slip-bench")[0])
    step("a dishonest David, who changes one residue of one reply")
    rejected = is_rejected()
    step("hiding one block of TinyLlama's shape with its head, and measuring it")
    slip(*BLOCK, "--out", WORK / "block", program="slip-synthetic")
    slip("split", "--model", WORK / "block", "--out", WORK / "hidden-block")
    costs += cost_rows("one block of TinyLlama's shape and its head", WORK / "hidden-block",
                       measured(WORK / "hidden-block", WORK / "block"))
    for name in ("block", "hidden-block"):
        shutil.rmtree(WORK / name)
    report(unsplit, hybrid, costs, round_, rejected)
    print(f"\nall steps: {time.monotonic() - started:.0f} s; files in {WORK.relative_to(ROOT)}")
    return 0 if identical(unsplit, hybrid) and rejected else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except JobFailed as failure:
        print(f"run: {failure}", file=sys.stderr)
        sys.exit(1)
