"""slip conform: tests an implementation of the SLIP protocol; conformance/README.md explains it.

Exit status: 0 conformant (or done), 1 not, 2 usage, 3 not conformant exactly as the list of known
failures says."""

import argparse
import json
import pathlib
import sys

from . import commands, errors


def add_report_options(parser):
    parser.add_argument("--known-failing", type=pathlib.Path, metavar="FILE",
                        help="ids that are known to fail, one a line; they are run all the same")
    parser.add_argument("--junit", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--only", default="", metavar="PREFIX",
                        help="only cases whose id begins so, such as MASK- or WIRE-4/")


def parser():
    top = argparse.ArgumentParser(prog="slip conform", description=__doc__.split("\n\n")[0],
                                  epilog=__doc__.split("\n\n")[1])
    commands_of = top.add_subparsers(dest="command", required=True)

    vectors = commands_of.add_parser("vectors", help="ask a program about every vector, over pipes")
    vectors.add_argument("--implementation", metavar="CMD",
                         help="the program; without it this package tests itself")
    add_report_options(vectors)

    peer = commands_of.add_parser("peer", help="test a foreign peer over TLS, well-behaved and not")
    peer.add_argument("--as", dest="role", choices=["charlie", "david"], required=True,
                      help="what this program plays; the other one is tested")
    peer.add_argument("--connect", metavar="HOST:PORT", help="where the foreign David listens")
    peer.add_argument("--implementation", metavar="CMD",
                      help="starts the foreign Charlie for one case; {endpoint} in it is replaced")
    peer.add_argument("--tls", type=pathlib.Path, required=True, metavar="DIR",
                      help="the folder of this program's role: certificates and key")
    peer.add_argument("--other-tls", type=pathlib.Path, metavar="DIR",
                      help="certificates of the tested role, to try them where they must not work")
    peer.add_argument("--artifact", type=pathlib.Path, required=True, metavar="OUT/david")
    add_report_options(peer)

    david = commands_of.add_parser("david", help="serve an artifact: an honest David")
    david.add_argument("--artifact", type=pathlib.Path, required=True, metavar="OUT/david")
    david.add_argument("--listen", required=True, metavar="HOST:PORT")
    david.add_argument("--tls", type=pathlib.Path, required=True, metavar="DIR")
    david.add_argument("--sessions", type=int, default=0, metavar="N", help="end after N sessions")
    david.add_argument("--record", type=pathlib.Path, metavar="FILE",
                       help="write what he sees, for `view`")

    charlie = commands_of.add_parser("charlie", help="run a model: an honest Charlie")
    charlie.add_argument("--artifact", type=pathlib.Path, required=True, metavar="OUT")
    charlie.add_argument("--connect", required=True, metavar="HOST:PORT")
    charlie.add_argument("--tls", type=pathlib.Path, required=True, metavar="DIR")
    charlie.add_argument("--ids", metavar="1,2,3", help="of the LLaMA family: generate from these")
    charlie.add_argument("--max-tokens", type=int, metavar="N")
    charlie.add_argument("--images", type=pathlib.Path, metavar="FILE",
                         help="of a convolutional network: classify an IDX file")
    charlie.add_argument("--limit", type=int, metavar="N", help="the first N images only")

    view = commands_of.add_parser("view", help="statistics on a recorded view of David")
    view.add_argument("file", type=pathlib.Path, nargs="?")
    view.add_argument("--repeats", action="store_true",
                      help="every session of the recording has the same input")
    view.add_argument("--masks", type=pathlib.Path, metavar="OUT/charlie/masks.safetensors",
                      help="for the seed of T: with --repeats, looks for lattice masks without noise")
    view.add_argument("--held", type=pathlib.Path, metavar="OUT/david",
                      help="instead: what he holds of a hidden split")
    view.add_argument("--audit", type=pathlib.Path, metavar="AUDIT",
                      help="of --held: the owner's integer model, to look for an A without noise")
    view.add_argument("--check", type=pathlib.Path, metavar="OUT/charlie/check.safetensors",
                      help="of --held: whether U is that of the split")
    view.add_argument("--each-session", action="store_true",
                      help="judge every session of the recording by itself, and count")
    view.add_argument("--false-alarms", type=float, default=0.001, metavar="RATE",
                      help="of all checks together, for a recording of uniform masks (default 0.001)")
    view.add_argument("--calibrate", type=int, metavar="N",
                      help="instead: false alarms and power on N synthetic recordings each")
    view.add_argument("--seed", type=int, default=1, metavar="N", help="of --calibrate")
    view.add_argument("--json", action="store_true")

    commands_of.add_parser("answer", help="answer vectors over pipes, as an implementation does")
    mutants = commands_of.add_parser("mutants", help="wrong implementations, each with its killer")
    mutants.add_argument("--json", type=pathlib.Path, metavar="FILE")
    commands_of.add_parser("schemas", help="check the vector files against their schema")
    return top


def main():
    sys.set_int_max_str_digits(0)
    arguments = parser().parse_args()
    try:
        return commands.TABLE[arguments.command](arguments)
    except BrokenPipeError:
        return 1
    except (errors.BadInput, OSError, ValueError, json.JSONDecodeError) as error:
        print(f"slip conform {arguments.command}: error: {error}", file=sys.stderr)
        return 2
    except (errors.ProtocolError, errors.IntegrityError, errors.InternalError) as error:
        print(f"slip conform {arguments.command}: error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
