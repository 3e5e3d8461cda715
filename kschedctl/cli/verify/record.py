"""What ``verify --record`` does: choose a pod that differs, cut its case down, write it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kschedctl.api.defaults import DEFAULT_NAMESPACE
from kschedctl.api.wording import listed
from kschedctl.cli.progress import busy
from kschedctl.errors import InputError
from kschedctl.face import SchedulingCluster
from kschedctl.report.verify.data import PodData, RecordedCaseData
from kschedctl.scheduler.verify import Verification


@dataclass(frozen=True, slots=True)
class Wanted:
    """A case that is to be written.

    Attributes
    ----------
    path : str
        Where.
    pod : str
        Of which pod; empty for the first that differs.
    force : bool
        Whether a file that is there is replaced.
    """

    path: str
    pod: str
    force: bool

    def check(self, inputs: Iterable[str]) -> None:
        """Find out whether the file can be written, before a cluster is read.

        Parameters
        ----------
        inputs : iterable of str
            What is read: none of it is ever written to.

        Raises
        ------
        InputError
            Where it cannot.
        """
        target = Path(self.path).resolve()
        for given in inputs:
            read = Path(given).resolve()
            if target == read or (read.is_dir() and target.is_relative_to(read)):
                raise InputError("is part of what is read", where=self.path, hint="name another file")
        if not target.parent.is_dir():
            raise InputError("there is no such folder", where=str(Path(self.path).parent))
        if target.is_dir() or (target.exists() and not self.force):
            hint = "name another file" if target.is_dir() else "name another file, or give --force to replace it"
            raise InputError("is there already", where=self.path, hint=hint)

    def write(self, cluster: SchedulingCluster, found: Verification, gates: Mapping[str, bool]) -> RecordedCaseData:
        """Write the case.

        Parameters
        ----------
        found : Verification
            What differs.
        gates : mapping of str to bool
            Feature gates that are not at their default.

        Raises
        ------
        InputError
            Where nothing differs, or the file cannot be written.
        """
        index = self._chosen(cluster, found)
        with busy("cutting the case down"):
            case = cluster.recorded_case(index, gates)
        text = json.dumps(case, separators=(",", ":"), ensure_ascii=False) + "\n"
        try:
            with open(self.path, "w" if self.force else "x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror or error}", where=self.path) from None
        metadata = cluster.pods.records[index].metadata
        return RecordedCaseData(self.path, PodData(metadata.namespace, metadata.name), len(case["objects"]))

    def _chosen(self, cluster: SchedulingCluster, found: Verification) -> int:
        differing = found.differing
        if not differing:
            raise InputError("nothing differs, so there is no case to record", path="--record")
        if not self.pod:
            return differing[0]
        namespace, _, name = self.pod.rpartition("/")
        key = f"{namespace or DEFAULT_NAMESPACE}/{name}"
        index = next((index for index in differing if cluster.pods.key(index) == key), None)
        if index is None:
            hint = f"those that do are {listed([cluster.pods.key(index) for index in differing])}"
            raise InputError(f"{key} is no pod that differs", path="--pod", hint=hint)
        return index
