"""A sweep at work: from the number of a case to its row. Whatever runs it, a case's row is the same."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kschedctl.errors import ConfigError, InputError, KschedctlError
from kschedctl.face import SchedulingCluster
from kschedctl.loading import over, read_snapshot
from kschedctl.snapshot.load import Snapshot
from kschedctl.snapshot.pod_choice import is_manifest
from kschedctl.sweep.asking import ask
from kschedctl.sweep.axis import EDITS_BY_NAME
from kschedctl.sweep.configured import configured
from kschedctl.sweep.measuring import measure
from kschedctl.sweep.plan import texts
from kschedctl.sweep.reading import ReadPlan
from kschedctl.sweep.row import Row
from kschedctl.sweep.variation import BaseKey, Variation, variation
from kschedctl.text.yaml import yaml_value
from kschedctl.whatif.edit import Edit, FileEdit, PodEdit

#: How many loaded clusters are kept: cases come in the order of these.
_KEPT: Final = 2


@dataclass(frozen=True, slots=True)
class Start:
    """What cases start from: a snapshot with the what-ifs of all cases made, those of pods, and what these warn of."""

    snapshot: Snapshot
    pod_edits: tuple[PodEdit, ...]
    warnings: tuple[str, ...]


class Job:
    """A plan that is carried out.

    Parameters
    ----------
    read : ReadPlan
        The plan.
    folder : Path
        What paths in it are relative to.
    places : mapping of str to str, optional
        Where what it names is in truth, if not there.
    """

    def __init__(self, read: ReadPlan, folder: Path, places: Mapping[str, str] | None = None) -> None:
        self.read = read
        self.folder = folder
        self.places = dict(places or {})
        self._starts: OrderedDict[BaseKey, Start] = OrderedDict()

    def __getstate__(self) -> dict[str, Any]:
        # Loaded clusters are not sent about: whoever gets this loads its own.
        return {**self.__dict__, "_starts": OrderedDict()}

    def path(self, source: str) -> str:
        """Where something that the plan names is."""
        return self.places.get(source) or str(self.folder / source)

    def variation(self, number: int) -> Variation:
        """What a case says."""
        return variation(self.read.plan, self.read.axes, self.read.cases[number])

    def in_order(self, numbers: Iterable[int]) -> list[int]:
        """Cases in the order in which they are best worked on: those behind one another that start alike."""
        first: dict[BaseKey, int] = {}
        keyed = [(first.setdefault(self.variation(number).base, number), number) for number in numbers]
        return [number for _, number in sorted(keyed)]

    def cluster(self, number: int) -> tuple[SchedulingCluster, tuple[str, ...]]:
        """The cluster of a case, and what to be careful about.

        Raises
        ------
        KschedctlError
            Where it cannot be made.
        """
        case = self.variation(number)
        start = self.start(case.base)
        edits = self._edits(case.edits)
        config: str | Mapping[str, Any] | None = self.path(case.config) if case.config else None
        if case.weights or case.args:
            config = self._configuration(case, start)
        cluster = over(
            start.snapshot,
            kubernetes_version=case.kubernetes_version,
            feature_gates=dict(case.feature_gates),
            config=config,
            edits=(*start.pod_edits, *edits),
        )
        # That a weight takes the place of another one is what the axis is for.
        meant = tuple(f"explicitly re-configured; overriding: {plugin}" for plugin in case.weights)
        others = (warning for warning in cluster.configuration.warnings if not warning.endswith(meant))
        return cluster, (*start.warnings, *_warnings(edits), *others)

    def row(self, number: int) -> Row:
        """The row of a case. What is wrong with the case stands in it."""
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
            # The other cases are not lost over it.
            return self.failed(number, f"this is a bug in kschedctl: {type(error).__name__}: {error}")
        doubts, warnings = (tuple(map(self._told, dict.fromkeys(each))) for each in (answered.doubts, warnings))
        return Row(case=number, axes=axes, values=values, doubts=doubts, warnings=warnings)

    def failed(self, number: int, error: str) -> Row:
        """The row of a case that failed."""
        return Row(case=number, axes=self.read.cases[number], error=self._told(error))

    def _told(self, text: str) -> str:
        """A text with files as the plan calls them: they are elsewhere on every machine."""
        for source, place in self.places.items():
            text = text.replace(place, source)
        return text.replace(f"{self.folder}/", "")

    def configuration(self, number: int) -> dict[str, Any]:
        """The KubeSchedulerConfiguration of a case, as plain data.

        Raises
        ------
        KschedctlError
            Where there is none.
        """
        case = self.variation(number)
        return self._configuration(case, None if case.config else self.start(case.base))

    def _configuration(self, case: Variation, start: Start | None) -> dict[str, Any]:
        if not case.config:
            own = start.snapshot.scheduler_config if start is not None else None
            return configured(own, case.weights, case.args)
        path = self.path(case.config)
        try:
            data, _ = yaml_value(Path(path).read_bytes(), case.config)
        except OSError as error:
            raise ConfigError(f"cannot be read: {error.strerror or error}", where=case.config) from None
        if not isinstance(data, dict):
            raise ConfigError("is not an object", where=case.config)
        try:
            return configured(data, case.weights, case.args)
        except ConfigError as error:
            raise error.at(case.config) from None

    def start(self, key: BaseKey) -> Start:
        """What cases start from, loaded once.

        Raises
        ------
        KschedctlError
            Where it cannot be loaded.
        """
        found = self._starts.get(key)
        if found is None:
            while len(self._starts) >= _KEPT:
                self._starts.popitem(last=False)
            found = self._starts[key] = self._load(key)
        return found

    def _load(self, key: BaseKey) -> Start:
        paths, version, gates = key
        snapshot = read_snapshot(*map(self.path, paths))
        if not snapshot.nodes_told and not len(snapshot.cluster.nodes):
            raise InputError("holds no nodes", where=", ".join(paths))
        given = [(name, text) for name, value in self.read.plan.base.what_if.items() for text in texts(value)]
        order = list(EDITS_BY_NAME)
        edits = self._edits(sorted(given, key=lambda edit: order.index(edit[0])))
        made = over(snapshot, kubernetes_version=version, feature_gates=dict(gates), edits=edits)
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
    """What is wrong with the manifests of what-ifs and not refused."""
    return tuple(str(found) for edit in edits if isinstance(edit, FileEdit) for found in edit.warnings)
