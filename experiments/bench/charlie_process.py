#!/usr/bin/env python3
"""What Charlie costs as a process of his own: the figures that slip-bench, which holds David and the
unprotected model as well, cannot measure. Prints one JSON object:

charlie_memory        GiB of anonymous memory, at most, of `slip generate` after 512 tokens, David over TLS
charlie_memory_least  the same with the least --mask-memory
least_memory_slower   its seconds over those with the default memory
cold_start            processor seconds until the first token of a prompt of 16, and wall_seconds beside them
split_lattice         with --split MODEL: wall seconds and GiB of anonymous memory, at most, of `slip split`
"""

import argparse
import json
import os
import pathlib
import re
import resource
import subprocess
import tempfile
import time

GIB = 2**30


def anonymous_bytes(pid):
    """Resident memory that is no file's; None once the process has ended."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return None
    found = re.search(r"^RssAnon:\s+(\d+) kB", status, re.MULTILINE)
    return int(found.group(1)) * 1024 if found else None


def measured(command):
    """Runs it; returns its standard output and what it took."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out:
        start = time.monotonic()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        most = 0
        while process.poll() is None:
            most = max(most, anonymous_bytes(process.pid) or 0)
            time.sleep(0.02)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if process.returncode != 0:
            raise SystemExit(f"charlie_process.py: '{' '.join(command)}' ended with status "
                             f"{process.returncode}")
        out.seek(0)
        return out.read(), {
            "wall_seconds": time.monotonic() - start,
            "processor_seconds": (after.ru_utime - before.ru_utime
                                  + after.ru_stime - before.ru_stime),
            "anonymous_gib": most / GIB}


class David:
    """A David of this split, over TLS, whose time and memory are not Charlie's."""

    def __init__(self, slip, artifact, folder):
        subprocess.run([slip, "keys", "--out", folder / "tls"], check=True,
                       stdout=subprocess.DEVNULL)
        self.process = subprocess.Popen(
            [slip, "david", "--artifact", artifact / "david", "--listen", "127.0.0.1:0", "--tls",
             folder / "tls/david"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        endpoint = line.split("listening on ")[1].split()[0].strip('",}')
        self.options = ["--david", endpoint, "--tls", str(folder / "tls/charlie")]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def least_mask_memory(slip, generate):
    """MiB, from the message that refuses less."""
    refused = subprocess.run([*generate, "--max-tokens", "1", "--mask-memory", "1"],
                             capture_output=True, text=True, check=False)
    found = re.search(r"needs at least (\d+)", refused.stderr)
    if refused.returncode != 2 or not found:
        raise SystemExit(f"charlie_process.py: {slip} did not say how much memory masks need: "
                         f"{refused.stderr}")
    return -(-int(found.group(1)) // 2**20)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slip", required=True, help="the program")
    parser.add_argument("--artifact", required=True, type=pathlib.Path,
                        help="what 'slip split' wrote")
    parser.add_argument("--context", type=int, default=512, help="tokens (default 512)")
    parser.add_argument("--split", help="a checkpoint to split, at rank 16")
    arguments = parser.parse_args()
    slip = os.path.abspath(arguments.slip)
    figures = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with David(slip, arguments.artifact, folder) as david:
            ids = ",".join(str(3 + 7 * i) for i in range(16))
            generate = [slip, "generate", "--artifact", str(arguments.artifact), "--engine", "hybrid",
                        *david.options, "--ids", ids, "--json"]
            cold = measured([*generate, "--max-tokens", "1"])[1]
            figures["cold_start"] = cold
            length = ["--max-tokens", str(arguments.context - 16)]
            out, whole = measured([*generate, *length])
            figures["tokens"] = 16 + len(json.loads(out)["ids"])
            figures["charlie_memory"] = whole
            least = least_mask_memory(slip, generate)
            _, small = measured([*generate, *length, "--mask-memory", str(least)])
            figures["charlie_memory_least"] = small | {"mask_memory_mib": least}
            figures["least_memory_slower"] = small["wall_seconds"] / whole["wall_seconds"]
        if arguments.split:
            out = folder / "split"
            figures["split_lattice"] = measured([slip, "split", "--model", arguments.split, "--rank",
                                                 "16", "--set", "paper-lattice", "--out", out])[1]
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
