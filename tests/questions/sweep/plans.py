"""Sweep plans for tests: a folder with a small cluster and a plan."""

from pathlib import Path
from typing import Any

import yaml

from kschedctl.questions.sweep.cases import plan_of
from kschedctl.questions.sweep.job import SweepJob
from tests.builders import make_node, make_pod, write_snapshot

HEAD = {"apiVersion": "kschedctl/v1", "kind": "Sweep"}
NODES = [make_node("a-1", cpu="4", zone="a"), make_node("a-2", cpu="4", zone="a"), make_node("b-1", cpu="8", zone="b")]
PODS = [
    make_pod("old", requests={"cpu": "2"}, node="a-1"),
    make_pod("new-1", requests={"cpu": "3"}),
    make_pod("new-2", requests={"cpu": "3"}),
]


def make_job(folder: Path, *, base: dict[str, Any] | None = None, **fields: Any) -> SweepJob:
    """Return a plan over three nodes with 2 of 16 CPU in use and two pending pods of 3 CPU each."""
    snapshot = folder / "cluster.json"
    if not snapshot.exists():
        write_snapshot(folder, NODES, PODS).rename(snapshot)
    plan = {**HEAD, "base": {"snapshot": "cluster.json", **(base or {})}, **fields}
    return SweepJob(plan_of(yaml.safe_dump(plan, sort_keys=False).encode(), "plan.yaml"), folder)
