"""The job of a sweep: computes the row of a case from its number, identically in every process and on every machine."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kschedctl.errors import ConfigError, InputError, KschedctlError
from kschedctl.face import SchedulingCluster
from kschedctl.loading import read_snapshot, scheduling_cluster
from kschedctl.snapshot.load import Snapshot
from kschedctl.snapshot.pod_choice import is_manifest
from kschedctl.snapshot.text_file import file_bytes
from kschedctl.sweep.axis import EDITS_BY_NAME
from kschedctl.sweep.case_analysis import ask
from kschedctl.sweep.case_configuration import configured
from kschedctl.sweep.measurements import measure
from kschedctl.sweep.plan import texts
from kschedctl.sweep.plan_reader import ReadPlan
from kschedctl.sweep.row import Row
from kschedctl.sweep.variation import BaseKey, Variation, variation
from kschedctl.text.yaml import yaml_value
from kschedctl.whatif.edit import Edit, FileEdit, PodEdit

#: The maximum number of cached clusters. Cases are ordered by cluster, so a few suffice.
_KEPT: Final = 2


@dataclass(frozen=True, slots=True)
class Start:
    """The starting point of cases: a snapshot with the plan's what-ifs applied, their pod edits, and their warnings."""

    snapshot: Snapshot
    pod_edits: tuple[PodEdit, ...]
    warnings: tuple[str, ...]


class SweepJob:
    """The execution of a plan's cases.

    Parameters
    ----------
    read : ReadPlan
        The plan.
    folder : Path
        The folder to which paths in the plan are relative.
    places : mapping of str to str, optional
        The actual locations of files, by their paths in the plan, if they differ.
    """

    def __init__(self, read: ReadPlan, folder: Path, places: Mapping[str, str] | None = None) -> None:
        self.read = read
        self.folder = folder
        self.places = dict(places or {})
        self._starts: OrderedDict[BaseKey, Start] = OrderedDict()

    def __getstate__(self) -> dict[str, Any]:
        # Loaded clusters are not pickled: each process loads its own.
        return {**self.__dict__, "_starts": OrderedDict()}

    def path(self, source: str) -> str:
        """Return the location of a file that the plan names."""
        return self.places.get(source) or str(self.folder / source)

    def variation(self, number: int) -> Variation:
        """Return the parameters of a case."""
        return variation(self.read.plan, self.read.axes, self.read.cases[number])

    def in_order(self, numbers: Iterable[int]) -> list[int]:
        """Return cases in the best order of execution: cases with the same starting point follow one another."""
        first: dict[BaseKey, int] = {}
        keyed = [(first.setdefault(self.variation(number).base, number), number) for number in numbers]
        return [number for _, number in sorted(keyed)]

    def cluster(self, number: int) -> tuple[SchedulingCluster, tuple[str, ...]]:
        """Return the cluster of a case, and warnings.

        Raises
        ------
        KschedctlError
            If the cluster cannot be loaded or the what-ifs cannot be applied.
        """
        case = self.variation(number)
        start = self.start(case.base)
        edits = self._edits(case.edits)
        config: str | Mapping[str, Any] | None = self.path(case.config) if case.config else None
        if case.weights or case.args:
            config = self._configuration(case, start)
        cluster = scheduling_cluster(
            start.snapshot,
            kubernetes_version=case.kubernetes_version,
            feature_gates=dict(case.feature_gates),
            config=config,
            edits=(*start.pod_edits, *edits),
        )
        # An axis of a weight overrides another weight on purpose: omit the scheduler's warning about that.
        meant = tuple(f"explicitly re-configured; overriding: {plugin}" for plugin in case.weights)
        others = (warning for warning in cluster.configuration.warnings if not warning.endswith(meant))
        return cluster, (*start.warnings, *_warnings(edits), *others)

    def row(self, number: int) -> Row:
        """Return the row of a case. An error of the case is reported in its row."""
        plan, axes = self.read.plan, self.read.cases[number]
        try:
            cluster, warnings = self.cluster(number)
            of = tuple(self.path(each) if self._is_file(each) else each for each in self.variation(number).of)
            answered = ask(plan.ask, cluster, of, self.variation(number).seed)
            values = measure(answered, self.read.columns)
        except KschedctlError as error:
            return self.failed(number, str(error))
        except MemoryError:
            return self.failed(number, "not enough memory")
        except RecursionError:
            return self.failed(number, "is nested too deeply")
        except Exception as error:
            # A bug in one case must not end the other cases.
            return self.failed(number, f"this is a bug in kschedctl: {type(error).__name__}: {error}")
        doubts, warnings = (tuple(map(self._told, dict.fromkeys(each))) for each in (answered.doubts, warnings))
        return Row(case=number, axes=axes, values=values, doubts=doubts, warnings=warnings)

    def failed(self, number: int, error: str) -> Row:
        """Return the row of a case that failed."""
        return Row(case=number, axes=self.read.cases[number], error=self._told(error))

    def _told(self, text: str) -> str:
        """Replace the locations of files in a text, which differ by machine, by their paths in the plan."""
        for source, place in self.places.items():
            text = text.replace(place, source)
        return text.replace(f"{self.folder}/", "")

    def configuration(self, number: int) -> dict[str, Any]:
        """Return the KubeSchedulerConfiguration of a case as plain data.

        Raises
        ------
        KschedctlError
            If the configuration or the snapshot cannot be read.
        """
        case = self.variation(number)
        return self._configuration(case, None if case.config else self.start(case.base))

    def _configuration(self, case: Variation, start: Start | None) -> dict[str, Any]:
        if not case.config:
            own = start.snapshot.scheduler_config if start is not None else None
            return configured(own, case.weights, case.args)
        path = self.path(case.config)
        data, _ = yaml_value(file_bytes(path, ConfigError), case.config)
        if not isinstance(data, dict):
            raise ConfigError("is not an object", where=case.config)
        try:
            return configured(data, case.weights, case.args)
        except ConfigError as error:
            raise error.at(case.config) from None

    def start(self, key: BaseKey) -> Start:
        """Return the starting point of cases, cached for up to two keys.

        Raises
        ------
        KschedctlError
            If the snapshot cannot be loaded.
        """
        found = self._starts.get(key)
        if found is None:
            while len(self._starts) >= _KEPT:
                self._starts.popitem(last=False)
            found = self._starts[key] = self._load(key)
        return found

    def _load(self, key: BaseKey) -> Start:
        paths, cluster, version, gates = key
        snapshot = read_snapshot(*map(self.path, paths), cluster=cluster)
        if not snapshot.nodes_told:
            raise InputError("holds no nodes", where=", ".join(paths))
        given = [(name, text) for name, value in self.read.plan.base.what_if.items() for text in texts(value)]
        order = list(EDITS_BY_NAME)
        edits = self._edits(sorted(given, key=lambda edit: order.index(edit[0])))
        made = scheduling_cluster(snapshot, kubernetes_version=version, feature_gates=dict(gates), edits=edits)
        return Start(made.snapshot, made.pod_edits, _warnings(edits))

    def _edits(self, given: Iterable[tuple[str, str]]) -> list[Edit]:
        edits = []
        for name, text in given:
            edit = EDITS_BY_NAME[name]
            for source in edit.sources(text):
                text = self.path(source) + text.removeprefix(source)
            edits.append(edit.parse(text, self.read.plan.base.namespace))
        return edits

    def _is_file(self, text: str) -> bool:
        return text in self.places or is_manifest(text) or (self.folder / text).is_file()


def _warnings(edits: Iterable[Edit]) -> tuple[str, ...]:
    """Return the warnings about the manifests of what-ifs."""
    return tuple(str(found) for edit in edits if isinstance(edit, FileEdit) for found in edit.warnings)
