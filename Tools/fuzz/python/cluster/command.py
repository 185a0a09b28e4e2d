"""Makes and ends the faults of a cluster under load, again and again, and compares what it remembers with what it acknowledged.

Three servers of NATS JetStream and three daemons on this machine. Producers post over real sockets and keep ledgers of their own,
screens resume from their cursors, a finger taps a lamp that two providers switch. The seed picks what happens: kill -9, SIGSTOP and
SIGTERM of leaders, standbys, the leader and the followers of the engine's stream, a whole box, all; a folder that is wiped; two
faults at once. Where network namespaces can be made each box is one, and is cut off, cut off one way or from the other boxes alone,
or gets a link that is slow or loses packets, and the disk of a server of the engine is full for a while. Behind each round every producer is acknowledged something within 60 s. At the end

    acknowledged <= log <= sent, each once, in order, with the rev that was told; each row that was seen is in the log;
    no position is acknowledged twice, and no term acknowledges a position in front of an earlier term's;
    no key and no cursor of a screen went back, every screen ends on the newest state, and none got RESET;
    the folders of the three nodes give one state.

    swift build -c release && Tools/fuzz/torture --cluster --rounds 100
    Tools/fuzz/torture --cluster --rounds 20 --engine file        # without an engine: faults of the daemons alone
    Tools/fuzz/torture --cluster --measure K-1 --rounds 20        # one fault again and again: median and worst
    Tools/fuzz/torture --cluster --broken refusalTakenForStored   # the daemon of a debug build, broken on purpose, is found

Exit status 0 when all of that is so; 1 otherwise; 77 where there is no nats-server.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys

from cluster import alone, measures, network, rounds

SKIPPED = 77


def main(root):
    parser = argparse.ArgumentParser(
        prog="Tools/fuzz/torture --cluster", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=None, help="of faults and victims; printed")
    parser.add_argument("--seconds", type=int, help="begin no round later than this")
    parser.add_argument("--fault", metavar="WORD", help="only faults with this in their name, such as kill, 'stop leader' or cut")
    parser.add_argument("--measure", choices=sorted([*measures.MEASURES, *measures.LOADS, alone.NAME]), help="one figure, of that many rounds of one fault")
    parser.add_argument("--against", metavar="DAEMON", help="with --measure K-14: another build, which this one costs no more than")
    parser.add_argument("--broken", choices=rounds.BROKEN, help="break the daemon so, of a debug build: rounds go on until that is found")
    parser.add_argument("--engine", choices=["nats", "file"], default="nats", help="file: a log that is one file, and no engine")
    parser.add_argument("--network", choices=["auto", "none"], default="auto",
                        help="none: no namespaces, all on 127.0.0.1, and no faults of the network")
    parser.add_argument("--daemon", help="telltaled of the release build, or with --broken of the debug build")
    parser.add_argument("--telltale", default=os.path.join(root, ".build/release/telltale"))
    parser.add_argument("--keep", action="store_true", help="keep the folder")
    parser.add_argument("--data", help="where to make the folder")
    parser.add_argument("option", nargs="*", help="more options of the daemons, behind --")
    arguments = parser.parse_args()
    arguments.root, arguments.environment = root, {"TELLTALE_BROKEN_LOG": arguments.broken} if arguments.broken else {}
    if not arguments.daemon:
        arguments.daemon = os.path.join(root, ".build", "debug" if arguments.broken else "release", "telltaled")
    if arguments.seed is None:
        arguments.seed = random.randrange(1 << 32)
        # For this program again, within namespaces.
        sys.argv[1:1] = ["--seed", str(arguments.seed)]
    if arguments.against and arguments.measure != alone.NAME:
        parser.error(f"--against goes with --measure {alone.NAME}")
    for program in filter(None, (arguments.daemon, arguments.telltale, arguments.against)):
        if not os.access(program, os.X_OK):
            sys.exit(f"{program} is not there; build it first: swift build -c release, and swift build for --broken")
    arguments.server = None
    if arguments.engine == "nats":
        subprocess.run([os.path.join(root, "Tools/ci/fetch"), "nats-server", "libnats"], check=False)
        arguments.server = shutil.which("nats-server", path=os.environ.get("PATH", "") + f":{root}/.build/python/bin")
        if arguments.server is None:
            print("torture: skipped, as there is no nats-server on the path, and Tools/ci/fetch could not get it; --engine file needs none")
            return SKIPPED
    arguments.boxes, arguments.why_no_boxes = False, "--network none"
    if arguments.engine == "file":
        arguments.why_no_boxes = "a file is one machine's"
    elif arguments.network == "auto" and arguments.measure not in (*measures.LOADS, alone.NAME):
        try:
            sys.argv.insert(1, "--cluster")
            network.enter()
            arguments.boxes = True
        except network.Unavailable as reason:
            arguments.why_no_boxes = f"namespaces cannot be made: {reason}"
    return measures.main(arguments) if arguments.measure else rounds.main(arguments)
