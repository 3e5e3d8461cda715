"""The job of a sweep: computes the row of a case from its number, identically in every process and on every machine."""

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from kschedctl.cluster.placed_pods import pending_pods
from kschedctl.common.errors import ConfigError, InputError, KschedctlError, ManifestError
from kschedctl.common.text.yaml import yaml_value
from kschedctl.controllers.workloads.pods import WORKLOADS
from kschedctl.controllers.workloads.template import MadePod
from kschedctl.objects.meta import ApiObject
from kschedctl.questions.answer import Envelope
from kschedctl.questions.capacity.analysis import capacity
from kschedctl.questions.capacity.request import CapacityRequest
from kschedctl.questions.drain.analysis import drain_answer
from kschedctl.questions.drain.request import DrainRequest
from kschedctl.questions.drain.run import run_drain
from kschedctl.questions.explain.analysis import decide_together
from kschedctl.questions.explain.answer import WorkloadData
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.loading import loaded_cluster, read_snapshot
from kschedctl.questions.provenance import PodSubject, envelope, pods_asked_about, provenance
from kschedctl.questions.simulate.analysis import run_simulation, simulation_answer
from kschedctl.questions.simulate.request import SimulateRequest
from kschedctl.questions.sweep.answer import Ask
from kschedctl.questions.sweep.cases import BaseKey, ReadPlan, Variation, configured, variation
from kschedctl.questions.sweep.measurements import CaseResult, measure
from kschedctl.questions.sweep.plan import EDITS_BY_NAME, texts
from kschedctl.sources.snapshot.files import file_bytes
from kschedctl.sources.snapshot.load import Snapshot, read_manifest
from kschedctl.sources.snapshot.pod_choice import is_manifest
from kschedctl.trials.completeness import require_listed
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.whatif.edit import Edit, FileEdit, PodEdit
from kschedctl.trials.whatif.targets import find_kind, split_target

# The analysis of a plan, run on the cluster of one case, with the values that columns need.

_DRAIN: Final = DrainRequest(ignore_daemonsets=True, force=True, delete_emptydir_data=True)


def ask(
    question: Ask, cluster: LoadedCluster, of: Sequence[str], seed: int | None, options: Mapping[str, Any]
) -> CaseResult:
    """Run an analysis on a cluster.

    Args:
        of: The subjects of the analysis: pods, manifests, workloads or nodes.
        seed: The seed of the random choice among nodes with equal scores; ``None`` for the first node by name.
        options: Further options of the question, by the field of its request.

    Raises KschedctlError if the analysis fails.
    """
    require_listed(cluster.cluster, "Pod")
    cluster.require_nodes()
    return _QUESTIONS[question](cluster, of, seed, options)


def _simulate(cluster: LoadedCluster, of: Sequence[str], seed: int | None, options: Mapping[str, Any]) -> CaseResult:
    request = SimulateRequest(seed=seed)
    run = run_simulation(cluster, request, AnalysisHandle())
    answer = simulation_answer(cluster, request, run, why=False)
    return CaseResult(
        cluster=run.simulation.cluster,
        release=cluster.release_choice.release,
        own={
            "pods": answer.pods,
            "placed": answer.placed,
            "waiting": answer.pods - answer.placed,
            "evicted": len(answer.evicted),
            "attempts": len(answer.attempts),
            "seconds": (run.simulation.now() - run.simulation.began).total_seconds(),
        },
        pods=tuple(run.simulation.met.values()),
        doubts=_doubts(answer),
    )


def _explain(cluster: LoadedCluster, of: Sequence[str], seed: int | None, options: Mapping[str, Any]) -> CaseResult:
    over, asked = _asked(cluster, of)
    # Compute decisions only: a full answer also describes the reasons of every node, which takes much longer.
    # Each pod counts, also if pods of a workload have the same answer.
    decided = list(decide_together(over, [msgspec.structs.replace(one, workload=None) for one in asked], seed))
    decisions = [one.decision for one in decided]
    missing = (each for one in decided for each in one.provenance.missing)
    not_modelled = dict.fromkeys(note for decision in decisions for note in decision.not_modelled)
    scores = [
        int(decision.scores.total.max()) for decision in decisions if decision.scores and len(decision.scores.total)
    ]
    return CaseResult(
        cluster=cluster.cluster,
        release=cluster.release_choice.release,
        own={
            "pods": len(decisions),
            "placed": sum(decision.schedulable for decision in decisions),
            "waiting": sum(not decision.schedulable for decision in decisions),
            "feasibleNodes": min(
                (len(one.statuses.feasible) if one.statuses is not None else 0 for one in decisions), default=None
            ),
            "score": sum(scores) / len(scores) if scores else None,
        },
        pods=tuple(decision.pod.metadata for decision in decisions),
        doubts=_doubts(Envelope(**envelope(cluster.cluster, provenance(cluster, missing), not_modelled))),
    )


def _capacity(cluster: LoadedCluster, of: Sequence[str], seed: int | None, options: Mapping[str, Any]) -> CaseResult:
    over, asked = _asked(cluster, of)
    request = dataclasses.replace(CapacityRequest(asked, **options), suggest=0)
    if len(request.copied) != 1:
        raise ManifestError(f"capacity needs one pod, not {len(asked)}", where=", ".join(of))
    (answer,) = capacity(over, request, AnalysisHandle())
    return CaseResult(
        cluster=cluster.cluster,
        release=cluster.release_choice.release,
        own={"copies": answer.copies, "nodesTaking": len(answer.nodes)},
        pods=(over.find(asked[0].pod).metadata,),
        doubts=_doubts(answer),
    )


def _drain(cluster: LoadedCluster, of: Sequence[str], seed: int | None, options: Mapping[str, Any]) -> CaseResult:
    request = dataclasses.replace(_DRAIN, nodes=tuple(of), seed=seed, **options)
    run = run_drain(cluster, request, AnalysisHandle())
    answer = drain_answer(cluster, request, run)
    return CaseResult(
        cluster=run.simulation.cluster,
        release=cluster.release_choice.release,
        own={
            "drained": sum(node.drained for node in answer.nodes),
            "evicted": sum(len(node.moved) for node in answer.nodes),
            "blocked": sum(len(node.blocked) for node in answer.nodes),
            "waiting": sum(len(group.pods) for group in answer.waiting),
            "seconds": (run.simulation.now() - run.began).total_seconds(),
        },
        pods=tuple(run.simulation.met.values()),
        doubts=_doubts(answer),
    )


_QUESTIONS: Final[Mapping[Ask, Callable[[LoadedCluster, Sequence[str], int | None, Mapping[str, Any]], CaseResult]]] = {
    Ask.SIMULATE: _simulate,
    Ask.EXPLAIN: _explain,
    Ask.CAPACITY: _capacity,
    Ask.DRAIN: _drain,
}


def _asked(cluster: LoadedCluster, of: Sequence[str]) -> tuple[LoadedCluster, tuple[PodSubject, ...]]:
    """Return the requested pods, and the cluster with the other objects that their controllers create.

    Without ``of`` these are the pending pods of the configured schedulers. Of a workload of the cluster they are its
    pending pods, and those that its controller has yet to create.
    """
    if not of:
        pending = map(cluster.pods.pod, pending_pods(cluster.cluster))
        profiles = cluster.configuration.profiles
        return cluster, tuple(PodSubject(pod) for pod in pending if pod.spec.scheduler_name in profiles)
    made: list[MadePod] = []
    asked: list[PodSubject] = []

    def make(objects: Iterable[ApiObject]) -> None:
        for obj in objects:
            if isinstance(obj, WORKLOADS):
                new = cluster.pods_of(obj, where=obj.ref)
                made.extend(new)
                asked.extend(PodSubject(one.pod) for one in new)

    for text in of:
        if is_manifest(text):
            make(obj for obj, _ in read_manifest(text).objects)
        elif text.count("/") > 1:
            obj = _workload(cluster, text)
            found = pods_asked_about(cluster, obj)
            name = type(obj).__name__, obj.namespace, obj.name
            workload = WorkloadData(*name, found.wanted, running=len(found.running))
            made.extend(found.missing)
            pods = (*map(cluster.pods.pod, found.pending), *(one.pod for one in found.missing))
            asked.extend(PodSubject(pod, workload=workload) for pod in pods)
        else:
            asked.append(PodSubject(cluster.written_pod(text)[0]))
    return cluster.with_made(made), tuple(asked)


def _workload(cluster: LoadedCluster, text: str) -> ApiObject:
    word, name, namespace = split_target(text, "")
    kind = find_kind(word)
    found = cluster.cluster.get(kind, name, namespace)
    if found is None:
        require_listed(cluster.cluster, kind.__name__, namespace)
    if found is None or not isinstance(found, WORKLOADS):
        raise ManifestError(f"the snapshot has no {kind.__name__} {namespace}/{name}")
    return found


def _doubts(answer: Envelope) -> tuple[str, ...]:
    """Return the reasons why the cluster's own scheduler may decide differently."""
    every = (
        *(answer.doubts or ()),
        *(f"{each.needed_for}: {each.effect}" for each in answer.missing),
        *(f"not modelled: {each.feature}; {each.effect}" for each in answer.not_modelled),
    )
    return tuple(dict.fromkeys(every))


# The row of a case in the table.


class Row(msgspec.Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """The result of a case."""

    case: int
    axes: dict[str, Any]
    #: The measured numbers, by column; empty if the case failed.
    values: dict[str, int | float | None] = {}
    #: The error; empty if the case succeeded.
    error: str = ""
    #: The reasons why the cluster's own scheduler may decide differently.
    doubts: tuple[str, ...] = ()
    #: The other warnings, about manifests and configurations that may not have the intended effect.
    warnings: tuple[str, ...] = ()


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

    Args:
        folder: The folder to which paths in the plan are relative.
        places: The actual locations of files, by their paths in the plan, if they differ.
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

    def cluster(self, number: int) -> tuple[LoadedCluster, tuple[str, ...]]:
        """Return the cluster of a case, and warnings.

        Raises KschedctlError if the cluster cannot be loaded or the what-ifs cannot be applied.
        """
        case = self.variation(number)
        start = self.start(case.base)
        edits = self._edits(case.edits)
        config: str | Mapping[str, Any] | None = self.path(case.config) if case.config else None
        if case.weights or case.args:
            config = self._configuration(case, start)
        cluster = loaded_cluster(
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
            case = self.variation(number)
            answered = ask(plan.ask, cluster, of, case.seed, case.options)
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

        Raises KschedctlError if the configuration or the snapshot cannot be read.
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

        Raises KschedctlError if the snapshot cannot be loaded.
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
        made = loaded_cluster(snapshot, kubernetes_version=version, feature_gates=dict(gates), edits=edits)
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
