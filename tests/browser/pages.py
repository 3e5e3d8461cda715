"""The pages of the tests: commands over the fixture clusters, printed as HTML."""

import json
import shlex
from pathlib import Path
from typing import Final

from tests.cli.in_process import run
from tests.cli.transcript import make_room
from tests.hostile_names import AS_IT_IS, MARKUP, NASTY, snapshot
from tests.paths import ROOT

_GANGS: Final = ROOT / "fixtures" / "gangs" / "cluster"
_SPREAD: Final = ROOT / "fixtures" / "shop" / "manifests" / "checkout.yaml"
_HOSTILE: Final = "hostile.json"
#: The command of each page; the default snapshot is that of the shop.
PAGES: Final = {
    "explain: fits": "explain shop/web-7",
    "explain: fits nowhere": "explain shop/search-3",
    "explain: every node": "explain shop/web-7 --nodes",
    "explain: a node in detail": "explain shop/search-3 --node node-8 --why",
    "explain: another node preferred": "explain shop/web-7 --prefer node-5 --withstand",
    "explain: a spread constraint": f"explain {_SPREAD}",
    "explain: many pods": "explain -A",
    "explain: a gang": f"explain ml/train-0 --snapshot {_GANGS}",
    "preempt": "preempt shop/search-3",
    "preempt: nothing to evict": "preempt batch/report-7",
    "volumes": "volumes -n data",
    "volumes: a conflict": "volumes shop/reports-6f7d8c9b5d-x2k4q --snapshot volumes/conflict",
    "devices": "devices --snapshot devices/cluster",
    "devices: a claim": "devices ml/train --snapshot devices/cluster",
    "pending": "pending --snapshot pending/cluster.yaml",
    "nodes": "nodes",
    "nodes: by zone": "nodes --by zone",
    "nodes: one": "nodes gpu-5",
    "simulate": "simulate",
    "capacity": "capacity shop/web-7",
    "capacity: all pods": "capacity -A",
    "provision": "provision --snapshot pools/cluster",
    "consolidate": "consolidate --snapshot pools/cluster",
    "drain": "drain node-1 node-2 --ignore-daemonsets --rolling --surge 1",
    "rollout": "rollout -f web-in-place.yaml --snapshot rollout.yaml",
    "optimum": "optimum optimum/greed/waiting.yaml --snapshot optimum/greed/cluster.yaml",
    "sweep": "sweep sweep.yaml --pareto",
    "leader": "leader --snapshot elections.yaml",
    "leader: simulated": "leader simulate --crash 20s --partition 40s-70s --clock-skew 2s --no-release",
    "lint": "lint lint",
    "diff": "diff -A --cordon node-8",
    "verify": "verify",
    "verify: differences": "verify --snapshot changed.json",
    "explain: hostile names": f"explain -A {AS_IT_IS} --snapshot {_HOSTILE}",
    "nodes: hostile names": f"nodes --snapshot {_HOSTILE}",
}


class Pages:
    """The pages as files, each written when it is first used.

    Parameters
    ----------
    folder : Path
        A new and empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self._room = folder / "room"
        self._room.mkdir()
        make_room(self._room)
        (self._room / _HOSTILE).write_text(json.dumps(snapshot("".join((*MARKUP, *NASTY)))))
        self._folder = folder

    def path(self, name: str) -> Path:
        """Return the file of a page, by its name in the table."""
        page = self._folder / f"{''.join(c if c.isalnum() else '-' for c in name)}.html"
        if not page.exists():
            page.write_text(self.render(PAGES[name]))
        return page

    def render(self, command: str) -> str:
        """Return the page that a command prints."""
        environment = {"HOME": str(self._room), "KSCHEDCTL_SNAPSHOT": "shop"}
        printed = run(*shlex.split(command), "-o", "html", folder=self._room, environment=environment)
        assert printed.code in (0, 1), printed.err
        return printed.out
