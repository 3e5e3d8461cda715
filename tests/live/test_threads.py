"""Many lists are read at a time, and nothing is built while something else is read with it."""

import subprocess
import sys
from pathlib import Path

import pytest

from kschedctl.objects.kinds import KINDS
from tests.live.hostile_server import Talk, talking
from tests.live.plain_server import discovery

N_RUNS = 200
#: Every run is a process of its own that has built nothing yet; forking spares it the imports.
RUNS = """
import os, sys, faulthandler
import kubernetes.client, kubernetes.config, urllib3, numpy
from kschedctl.sources.live.kubeconfig import LiveContext
from kschedctl.sources.live.reader import load_live
kubeconfig, n_runs = sys.argv[1], int(sys.argv[2])
sys.setswitchinterval(1e-6)
endings = []
for _ in range(n_runs):
    pid = os.fork()
    if not pid:
        try:
            found = load_live(LiveContext(kubeconfig=kubeconfig, page_size=2))
            os._exit(0 if len(found.cluster.nodes) == 2 else 9)
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(8)
    endings.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print(*sorted(endings))
"""


def groups() -> list[tuple[str, list[tuple[str, list[tuple[str, str]]]]]]:
    """All kinds that scheduling reads, by group."""
    names: dict[str, list[tuple[str, str]]] = {}
    for group, kind in KINDS:
        names.setdefault(group, []).append((f"{kind.lower()}s", kind))
    return [(group, [("v1", kinds)]) for group, kinds in names.items()]


@pytest.mark.slow
def test_200_runs_end_well(tmp_path: Path) -> None:
    """Threads are switched as often as can be, and the server gives them another moment: 100 Continue."""
    served = dict(groups())

    def handle(talk: Talk) -> None:
        talk.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        match talk.path:
            case "/version":
                talk.answer({"gitVersion": "v1.36.3"})
            case "/api":
                talk.answer(discovery([("", served[""])]))
            case "/apis":
                talk.answer(discovery([(name, versions) for name, versions in served.items() if name]))
            case path:
                names = ("a", "b") if path.endswith("/nodes") else ("a",)
                items = [{"metadata": {"name": name, "labels": {"a": "b"}}, "spec": {}, "status": {}} for name in names]
                talk.answer({"metadata": {}, "items": items})

    with talking(handle, tmp_path) as (live, _):
        command = [sys.executable, "-c", RUNS, live.kubeconfig, str(N_RUNS)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.stdout.split() == ["0"] * N_RUNS, done.stderr
