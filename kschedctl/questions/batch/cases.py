"""Cases: a cluster, a pod and a configuration in one JSON object, decided one by one.

{"id": "...", "objects": [<objects>], "pod": <the pod to place>, "config": <KubeSchedulerConfiguration, optional>}

A case may also have ``theirs``, kube-scheduler's answer (``disagreement.Theirs``). Decisions ignore it.
"""

from typing import Any

import msgspec

from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.common.errors import InputError
from kschedctl.objects.defaults import default_pod
from kschedctl.objects.kinds import evidence_type, kind_type
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.quantity import QuantityError
from kschedctl.objects.releases.release import Release
from kschedctl.objects.resources import RequestRules, pod_requests
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.config.load import load_configuration
from kschedctl.scheduler.framework.interface import PostFilterResult
from kschedctl.scheduler.framework.registry import Registry
from kschedctl.scheduler.framework.runtime import PreFilterOutcome
from kschedctl.scheduler.framework.status import Code, Status


class CaseCluster(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The part that all cases share: a cluster and a configuration."""

    #: The name of the case; the answer has the same.
    id: str
    objects: tuple[dict[str, Any], ...] = ()
    #: A KubeSchedulerConfiguration.
    config: dict[str, Any] | None = None


class Case(CaseCluster, frozen=True, kw_only=True):
    """A case: a cluster, a configuration, and a pod to decide for."""

    #: The pod to place.
    pod: Any
    #: kube-scheduler's answer, in a case that a user recorded.
    theirs: dict[str, Any] | None = None


def decide(case: Case, release: Release, registry: Registry) -> Decision:
    """Decide a case.

    Raises InputError if the pod, an object or the configuration is invalid.
    """
    pod = read_case_pod(case.pod, "pod")
    return read_case_cluster(case, release, registry).decide(pod)


def read_case_cluster(case: CaseCluster, release: Release, registry: Registry) -> Scheduler:
    """Return the scheduler of a case over its cluster.

    Raises InputError if an object or the configuration is invalid.
    """
    builder = ClusterBuilder()
    for i, data in enumerate(case.objects):
        obj = read_case_object(data, f"objects[{i}]")
        if obj is not None:
            builder.add(obj, f"objects[{i}]")
    configuration = None
    if case.config is not None:
        points = registry.extension_points(release)
        configuration = load_configuration(
            case.config, release=release, implements=points, args_types=registry.args_types, where="config"
        )
    return Scheduler(builder.build(), release, configuration, registry)


def read_case_object(data: dict[str, Any], path: str) -> ApiObject | None:
    """Return an object of a case; ``None`` for a kind that scheduling does not read.

    Raises InputError if the object is invalid; the field's path begins with ``path``.
    """
    names = str(data.get("apiVersion", "")), str(data.get("kind", ""))
    kind = kind_type(*names) or evidence_type(*names)
    if kind is None:
        return None
    obj: ApiObject = _convert(data, kind, path)
    return obj


def read_case_pod(data: Any, path: str) -> Pod:
    """Return a case's pod with defaults, after checking its quantities; the scheduler reports wrong selectors itself.

    Raises InputError if the pod is invalid; the field's path begins with ``path``.
    """
    try:
        pod = default_pod(_convert(data, Pod, path))
        pod_requests(pod, RequestRules())
    except QuantityError as error:
        raise InputError(str(error), path=f"{path}.{error.path}") from None
    return pod


def _convert(data: Any, kind: type[Any], path: str) -> Any:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise InputError(str(error), path=path) from None


# A decision as a recorded answer: one JSON object per case, in the scheduler's own terms.
#
# ``filter`` has the status at which kube-scheduler stops, ``allFilters`` every failing plugin without nominated pods,
# ``scores`` the raw and weighted scores per feasible node. ``notModelled`` lists the features that the answer ignores.

Answer = dict[str, Any]


def answer(case_id: str, decision: Decision) -> Answer:
    """Return the answer to one case."""
    out: Answer = {"id": case_id}
    errors = decision.preemption.errors if decision.preemption is not None else ()
    if decision.error or errors:
        out["error"] = decision.error or f"dry run: {', '.join(errors)}"
    if decision.pre_enqueue.code is not Code.SUCCESS:
        out["preEnqueue"] = status_data(decision.pre_enqueue)
    if decision.pre_filter is not None:
        out |= _pre_filter(decision, decision.pre_filter)
    if decision.scores is not None and decision.best:
        out["scores"] = _scores(decision)
    if decision.best:
        out["best"] = list(decision.best)
    if decision.message:
        out["message"] = decision.message
    if decision.not_modelled:
        out["notModelled"] = [str(notice) for notice in decision.not_modelled]
    if decision.post_filter is not None:
        out["preemption"] = _preemption(decision, decision.post_filter)
    return out


def _preemption(decision: Decision, result: PostFilterResult) -> Answer:
    out: Answer = {"status": status_data(result.status)}
    if result.nominated:
        out["nominated"] = list(result.nominated)
    found = decision.preemption
    # If PreFilter rejected the pod, recorded answers have the outcome without the nodes.
    filtered = decision.pre_filter is not None and decision.pre_filter.status.code is Code.SUCCESS
    if found is not None and found.run is not None and filtered:
        out["candidates"] = {
            candidate.node: {
                "victims": [decision.cluster.pods.key(victim.pod) for victim in candidate.victims],
                "pdbViolations": candidate.n_violations,
            }
            for candidate in found.candidates
        }
        out["rejected"] = {node: status_data(status) for node, status in found.rejected.items()}
    return out


def status_data(status: Status) -> Answer:
    """Return a status as data, without empty fields."""
    out: Answer = {"code": str(status.code)}
    if status.plugin:
        out["plugin"] = status.plugin
    if status.reasons:
        out["reasons"] = list(status.reasons)
    return out


def _pre_filter(decision: Decision, result: PreFilterOutcome) -> Answer:
    out: Answer = {"preFilter": status_data(result.status)}
    if result.node_names is not None:
        out["preFilterNodes"] = sorted(result.node_names)
    if result.status.code is Code.SUCCESS:
        out |= _filters(decision)
    return out


def _filters(decision: Decision) -> Answer:
    out: Answer = {"skippedFilters": sorted(decision.state.skip_filter_plugins)}
    statuses = decision.statuses
    if statuses is None or statuses.snapshot is None:
        return out
    names = decision.cluster.nodes.names
    out["filter"] = {names[row]: status_data(statuses.status(int(row))) for row in decision.searched}
    every: Answer = {}
    for row in decision.searched:
        found = statuses.snapshot_position(int(row))
        if found is not None:
            run, position = found
            said = {plugin: run.rejections[plugin].status(position) for plugin in run.plugins}
            failing = {plugin: status_data(one) for plugin, one in said.items() if one.code is not Code.SUCCESS}
            every |= {names[row]: failing} if failing else {}
    out["allFilters"] = every
    return out


def _scores(decision: Decision) -> Answer:
    scores = decision.scores
    if scores is None:
        return {}
    names = decision.cluster.nodes.names
    return {
        names[row]: {
            "raw": {plugin: int(raw[i]) for plugin, raw in scores.raw.items()},
            "weighted": {p: int(normalized[i]) * scores.weights[p] for p, normalized in scores.normalized.items()},
            "total": int(scores.total[i]),
        }
        for i, row in enumerate(scores.rows)
    }
