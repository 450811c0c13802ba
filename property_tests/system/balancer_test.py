"""deploy/haproxy with the real HAProxy: Davids and Charlies behind it, of whom some are killed, stopped or
asked to end while clients ask. No answer may be lost or wrong (SERVE-13)."""
# test: once

import concurrent.futures
import contextlib
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from serve_client import Served, ServeTest, Wrong, events_of, make_certificate, order, read_whole
from serve_load_test import LOAD, Client, ServeTable
from slip_system import LIMIT_S, ROOT, David

HAPROXY = shutil.which("haproxy", path=os.environ["PATH"] + ":/usr/sbin")


class Front(Served):
    """What clients see of servers behind a balancer."""

    def __init__(self, endpoint, cafile):
        self.endpoint, self.cafile = endpoint, cafile


class Balancer:
    """HAProxy with a file of deploy/haproxy, on a free port; `variables`: those of the file but for the
    one where it listens."""

    def __init__(self, name, listen, variables):
        self.name, self.listen, self.variables = name, listen, variables

    def __enter__(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            descriptor = listener.fileno()
            self.endpoint = f"127.0.0.1:{listener.getsockname()[1]}"
            variables = self.variables | {self.listen: f"fd@{descriptor}"}
            self.process = subprocess.Popen(
                [HAPROXY, "-db", "-f", ROOT / "deploy/haproxy" / self.name], pass_fds=[descriptor],
                env=os.environ | {name: str(value) for name, value in variables.items()},
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def lines_of(log):
    return os.pread(log.fileno(), 1 << 20, 0).decode()


def davids_behind(davids):
    return Balancer("davids.cfg", "DAVIDS_LISTEN",
                    {f"DAVID_{number}": david.endpoint for number, david in enumerate(davids, 1)})


@unittest.skipUnless(HAPROXY, "haproxy is not installed")
class BalancedDavids(ServeTable, ServeTest):
    def david(self, *more):
        return David(self.artifact / "david", self.tls / "david", *more)

    def goes_on(self, hurt):
        """Clients get every answer while `hurt` befalls the David who has Charlie's session, of which Charlie
        himself would wait long for a frame."""
        clients, seconds = LOAD if "SLIP_FULL" in os.environ else (8, 3)
        table = self.table()
        with self.david() as first, self.david() as second, davids_behind([first, second]) as balancer, \
                Served("--artifact", self.artifact, "--model-name", "tiny", "--tls", self.tls / "charlie",
                       "--plain-seeds", "--david-timeout", LIMIT_S, "--reopen", LIMIT_S, "--david",
                       balancer.endpoint) as served, concurrent.futures.ThreadPoolExecutor(clients) as pool:
            end = time.monotonic() + seconds + 6
            asked = [pool.submit(Client(served, table, seed).ask_until, end) for seed in range(clients)]
            before = served.metric("generated_tokens_total")
            served.wait_for(lambda: served.metric("generated_tokens_total") > before + 20)
            hurt(self.who_serves(first, second))
            served.wait_for(lambda: served.metric("sessions_total") > 1)
            done = [each.result() for each in asked]
            self.assertEqual(served.metric('generations_total{reason="failed"}'), 0)
        self.assertTrue(all(client.answered > 0 for client in done))

    @staticmethod
    def who_serves(first, second):
        """Whose process has used more of a processor."""
        def used(david):
            with open(f"/proc/{david.process.pid}/stat") as file:
                return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))
        return max(first, second, key=used)

    def test_SERVE_13_no_answer_is_lost_when_a_david_is_killed(self):
        self.goes_on(lambda david: david.process.kill())

    def test_SERVE_13_no_answer_is_lost_when_a_david_hangs(self):
        self.goes_on(lambda david: david.hang())

    def test_probes_leave_no_lines_where_a_david_knows_whose_they_are(self):
        probe = re.compile(r"the TLS handshake failed: (peer did not return a certificate|.* connection|"
                           "Connection reset by peer)")
        with tempfile.TemporaryFile() as told_log, tempfile.TemporaryFile() as untold_log, \
                David(self.artifact / "david", self.tls / "david", "--probes-from", "127.0.0.1",
                      stderr=told_log) as told, \
                David(self.artifact / "david", self.tls / "david", stderr=untold_log) as untold, \
                davids_behind([told, untold]):
            while len(probe.findall(lines_of(untold_log))) < 3:
                time.sleep(0.1)
            with socket.create_connection(told.endpoint.rsplit(":", 1)) as stranger:
                stranger.sendall(b"GET / HTTP/1.0\r\n\r\n")
                stranger.recv(100)
            while "http request" not in lines_of(told_log):
                time.sleep(0.1)
            self.assertEqual(probe.findall(lines_of(told_log)), [])
        self.refused("david", "--artifact", self.artifact / "david", "--listen", "shm:x", "--probes-from",
                     "127.0.0.1", says=["--probes-from"])


@unittest.skipUnless(HAPROXY, "haproxy is not installed")
class BalancedCharlies(ServeTable, ServeTest):
    """Two servers of the unsplit model; clients see the balancer alone."""

    @contextlib.contextmanager
    def behind(self):
        """(what clients connect to, both servers)."""
        https = self.folder / f"https{time.monotonic_ns()}"
        make_certificate(https)
        both = https / "both.pem"
        both.write_bytes((https / "cert.pem").read_bytes() + (https / "key.pem").read_bytes())
        with contextlib.ExitStack() as stack:
            servers = [stack.enter_context(self.unsplit(
                "--https-cert", https / "cert.pem", "--https-key", https / "key.pem", "--plain-seeds",
                cafile=https / "cert.pem")) for _ in range(2)]
            balancer = stack.enter_context(Balancer("charlies.cfg", "CHARLIES_LISTEN", {
                "CLIENTS_CERT": both, "CHARLIES_CA": https / "cert.pem",
                "CHARLIE_1": servers[0].endpoint, "CHARLIE_2": servers[1].endpoint}))
            front = Front(balancer.endpoint, https / "cert.pem")
            servers[0].wait_for(lambda: front.get("/health")[0] == 200)
            yield front, servers

    def test_SERVE_14_no_answer_is_lost_when_a_charlie_is_asked_to_end(self):
        table = self.table()
        with self.behind() as (front, servers), concurrent.futures.ThreadPoolExecutor(8) as pool:
            end = time.monotonic() + 4
            asked = [pool.submit(Client(front, table, seed).ask_until, end) for seed in range(8)]
            time.sleep(1)
            self.assertEqual(servers[0].stop()[0], 0)
            done = [each.result() for each in asked]
            self.assertEqual(read_whole("text", front.post("text", order())[2])["text"], self.alone()["text"])
        self.assertTrue(all(client.answered > 0 for client in done))

    def test_an_answer_of_a_charlie_who_is_killed_is_cut_off_and_the_next_one_comes(self):
        with self.behind() as (front, servers), contextlib.closing(front.connect()) as connection:
            Client.send(connection, prompt="Once", max_tokens=400, stream=True)
            stream = connection.getresponse()
            self.assertTrue(stream.read(200))
            live = [server for server in servers if server.metric("live_generations")]
            self.assertEqual(len(live), 1)
            live[0].stop(signal.SIGKILL)
            with self.assertRaises((http.client.IncompleteRead, ConnectionError, Wrong)):
                events_of(stream.read())
            for _ in range(3):
                self.assertEqual(read_whole("text", front.post("text", order())[2])["text"],
                                 self.alone()["text"])


if __name__ == "__main__":
    unittest.main()
