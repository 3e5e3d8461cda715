"""The pods of any workload; the entry point of this package."""

from collections.abc import Iterable
from dataclasses import replace as with_fields
from typing import Final, cast

import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.node_selection import nodes_matching_pod
from kschedctl.cluster.nodes import Nodes
from kschedctl.common.errors import ManifestError
from kschedctl.common.findings import Where
from kschedctl.controllers.workloads.claims import make_claim, with_own_claims, without_stored
from kschedctl.controllers.workloads.ownership import wanted_replicas
from kschedctl.controllers.workloads.template import (
    MadePod,
    controller_reference,
    fresh_pod,
    has_template,
    normalize_template,
    owner_if_missing,
    pod_from_template,
    template_hash,
    uid_of,
)
from kschedctl.objects import field_errors
from kschedctl.objects.core import Taint
from kschedctl.objects.defaults import default_object
from kschedctl.objects.meta import ApiObject, LabelSelector, ObjectMeta
from kschedctl.objects.pod import NO_EXECUTE, NO_SCHEDULE, Affinity, Pod, PodSpec, Toleration, tolerated
from kschedctl.objects.quantity import QUANTITY_HINT, QuantityError
from kschedctl.objects.selectors import (
    IN,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    SelectorError,
    matches,
    parse_int64,
    parse_label_selector,
)
from kschedctl.objects.volume import ClaimVolumeSource, PersistentVolumeClaim, PersistentVolumeClaimStatus, Volume
from kschedctl.objects.well_known import POD_TEMPLATE_HASH
from kschedctl.objects.workload import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    PodTemplate,
    PodTemplateSpec,
    ReplicaSet,
    ReplicasSpec,
    ReplicationController,
    StatefulSet,
)

# The pods of Jobs, and of CronJobs, which create their pods through a Job (pkg/controller/job and cronjob).

_INDEXED: Final = "Indexed"
_COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
_NAME_LABELS: Final = ("job-name", "batch.kubernetes.io/job-name")
_UID_LABELS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
_MAX_PREFIX_LENGTH: Final = 58
#: A stand-in for the minutes since 1970 that the CronJob controller puts into the names of Jobs.
_TIME: Final = "xxxxxxxx"


def job_of_cron_job(cron_job: CronJob) -> Job:
    """Return the next Job of a CronJob, with a stand-in for the scheduled time in its name."""
    template = cron_job.spec.job_template
    return Job(
        metadata=ObjectMeta(
            name=f"{cron_job.name}-{_TIME}",
            namespace=cron_job.namespace,
            labels=template.metadata.labels,
            annotations=template.metadata.annotations,
            owner_references=(controller_reference(cron_job),),
        ),
        spec=replace(template.spec, suspend=template.spec.suspend or cron_job.spec.suspend),
    )


def _parallel_pods(job: Job) -> int:
    """Return the number of pods that run at once."""
    if job.spec.suspend:
        return 0
    parallelism = 1 if job.spec.parallelism is None else job.spec.parallelism
    completions = job.spec.completions
    if completions is None and job.spec.parallelism is None:
        completions = 1
    if completions is None:
        return 0 if job.status.succeeded else parallelism
    return max(min(parallelism, completions - job.status.succeeded), 0)


# The pods of a StatefulSet: one per ordinal, each with its own claims (pkg/controller/statefulset).

REVISION_HASH: Final = "controller-revision-hash"
_POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
_POD_INDEX: Final = "apps.kubernetes.io/pod-index"
_ON_DELETE: Final = "OnDelete"

#: The number of ordinals for which pods are created one by one, where each is shown.
MOST_ORDINALS: Final = 1000


def pods_of_stateful_set(
    stateful_set: StatefulSet, template: PodTemplateSpec, cluster: Cluster, most_ordinals: int = MOST_ORDINALS
) -> tuple[MadePod, ...]:
    """Return the pods of a StatefulSet by ordinal; if it is scaled to zero, the first one with 0 replicas.

    Each pod is separate, since its labels and claims differ from the others'. At most `most_ordinals` pods are created;
    the last of them has the number of all further pods in its replicas.
    """
    spec = stateful_set.spec
    count = wanted_replicas(stateful_set)
    revision = update_revision(stateful_set, template, cluster)
    made = []
    n_made = min(max(count, 1), most_ordinals)
    claim_labels = spec.selector.match_labels if spec.selector is not None else None
    for ordinal in range(spec.ordinals.start, spec.ordinals.start + n_made):
        claims = {
            claim.name: make_claim(
                claim,
                f"{claim.name}-{stateful_set.name}-{ordinal}",
                stateful_set.namespace,
                cluster,
                labels=claim_labels,
            )
            for claim in spec.volume_claim_templates
        }
        objects = (*owner_if_missing(cluster, stateful_set), *without_stored(tuple(claims.values()), cluster))
        name = f"{stateful_set.name}-{ordinal}"
        labels = {**ordinal_labels(name), REVISION_HASH: revision}
        pod = pod_from_template(template, stateful_set, name=name, labels=labels)
        own = tuple(
            Volume(name=name, persistent_volume_claim=ClaimVolumeSource(claim_name=claim.name))
            for name, claim in claims.items()
        )
        others = tuple(volume for volume in pod.spec.volumes if volume.name not in claims)
        made.append(
            MadePod(replace(pod, spec=replace(pod.spec, volumes=(*own, *others))), min(count, 1), objects=objects)
        )
    if count > n_made:
        made[-1] = with_fields(made[-1], replicas=count - n_made + 1)
    return tuple(made)


def ordinal_labels(name: str) -> dict[str, str]:
    """Return the labels by which the controller identifies the pod of an ordinal."""
    return {_POD_NAME: name, _POD_INDEX: name.rpartition("-")[2]}


def ordinal_of(name: str) -> int | None:
    """Return the ordinal in the name of a StatefulSet's pod; ``None`` if it has none."""
    ordinal = name.rpartition("-")[2]
    return int(ordinal) if ordinal.isascii() and ordinal.isdigit() else None


def gets_newer_template(stateful_set: StatefulSet, pod: Pod) -> bool:
    """Report whether the controller would create a pod of a StatefulSet from a newer template than the existing one.

    Pods below the partition keep the old revision, whose template the StatefulSet does not contain.
    """
    own, newest = pod.metadata.labels.get(REVISION_HASH, ""), stateful_set.status.update_revision
    if not own or not newest or own == newest:
        return False
    strategy = stateful_set.spec.update_strategy
    partition = strategy.rolling_update.partition if strategy.rolling_update is not None else 0
    ordinal = ordinal_of(pod.name)
    start = stateful_set.spec.ordinals.start
    return strategy.type == _ON_DELETE or (ordinal is not None and ordinal >= start + partition)


def another(pod: Pod, name: str, cluster: Cluster) -> MadePod:
    """Return a copy of a pod under another name; that of a StatefulSet gets unbound copies of the pod's own claims."""
    owner = pod.metadata.controller
    fresh = fresh_pod(pod, name=name)
    if owner is None or owner.kind != StatefulSet.__name__:
        return MadePod(fresh)
    volumes, claims = [], []
    for volume in pod.spec.volumes:
        source = volume.persistent_volume_claim
        if source is not None and source.claim_name == f"{volume.name}-{pod.name}":
            claim_name = f"{volume.name}-{name}"
            claim = cluster.get(PersistentVolumeClaim, source.claim_name, pod.namespace)
            if claim is not None:
                claims.append(
                    replace(
                        claim,
                        metadata=ObjectMeta(name=claim_name, namespace=claim.namespace, labels=claim.metadata.labels),
                        spec=replace(claim.spec, volume_name=""),
                        status=PersistentVolumeClaimStatus(phase="Pending"),
                    )
                )
            volume = replace(volume, persistent_volume_claim=replace(source, claim_name=claim_name))
        volumes.append(volume)
    labels = {key: value for key, value in ordinal_labels(name).items() if key in pod.metadata.labels}
    metadata = replace(fresh.metadata, labels={**fresh.metadata.labels, **labels})
    fresh = replace(fresh, metadata=metadata, spec=replace(fresh.spec, volumes=tuple(volumes)))
    return MadePod(fresh, objects=without_stored(tuple(claims), cluster))


def update_revision(stateful_set: StatefulSet, template: PodTemplateSpec, cluster: Cluster) -> str:
    """Return the update revision that the cluster has stored for the template, or a stand-in."""
    stored = cluster.get(StatefulSet, stateful_set.name, stateful_set.namespace)
    if stored is not None and stored.status.update_revision and has_template(stored, template):
        return stored.status.update_revision
    return f"{stateful_set.name}-{template_hash(template)}"


# The pods of a DaemonSet: one per eligible node (pkg/controller/daemon).

_NODE_NAME: Final = "metadata.name"
_TEMPLATE_GENERATION: Final = "pod-template-generation"
_GENERATION_ANNOTATION: Final = "deprecated.daemonset.template.generation"
_TOLERATED: Final = (
    ("not-ready", NO_EXECUTE),
    ("unreachable", NO_EXECUTE),
    ("disk-pressure", NO_SCHEDULE),
    ("memory-pressure", NO_SCHEDULE),
    ("pid-pressure", NO_SCHEDULE),
    ("unschedulable", NO_SCHEDULE),
)
_TOLERATED_ON_HOST_NETWORK: Final = (("network-unavailable", NO_SCHEDULE),)


def pods_of_daemon_set(daemon_set: DaemonSet, template: PodTemplateSpec, cluster: Cluster) -> tuple[MadePod, ...]:
    """Return the pods of a DaemonSet, one per eligible node, in the order of the cluster; empty if there is none."""
    stored = cluster.get(DaemonSet, daemon_set.name, daemon_set.namespace)
    notes = [known.metadata.annotations.get(_GENERATION_ANNOTATION) for known in (daemon_set, stored or daemon_set)]
    labels = {REVISION_HASH: template_hash(template), _TEMPLATE_GENERATION: next((note for note in notes if note), "1")}
    spec = with_daemon_tolerations(template.spec)
    made = []
    for number, node in enumerate(eligible_nodes(cluster.nodes, spec)):
        bound = replace(template, spec=for_node(spec, node))
        made.append(MadePod(pod_from_template(bound, daemon_set, labels=labels, number=number), node=node))
    return tuple(made)


def for_node(spec: PodSpec, node: str) -> PodSpec:
    """Return the spec of a DaemonSet's pod for a node: the required node affinity is replaced by that of the node."""
    affinity = spec.affinity or Affinity()
    name = NodeSelectorRequirement(key=_NODE_NAME, operator=IN, values=(node,))
    required = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(name,)),))
    own = replace(
        affinity.node_affinity or NodeAffinity(), required_during_scheduling_ignored_during_execution=required
    )
    return replace(spec, affinity=replace(affinity, node_affinity=own))


def with_daemon_tolerations(spec: PodSpec) -> PodSpec:
    """Return the spec with the tolerations that the DaemonSet controller adds, all without tolerationSeconds."""
    tolerations = list(spec.tolerations)
    for taint, effect in (*_TOLERATED, *(_TOLERATED_ON_HOST_NETWORK if spec.host_network else ())):
        added = Toleration(key=f"node.kubernetes.io/{taint}", operator="Exists", effect=effect)
        if added in tolerations:
            continue
        same = [i for i, own in enumerate(tolerations) if replace(own, toleration_seconds=None) == added]
        for i in same:
            tolerations[i] = added
        if not same:
            tolerations.append(added)
    return replace(spec, tolerations=tuple(tolerations))


def eligible_nodes(nodes: Nodes, spec: PodSpec) -> list[str]:
    """Return the nodes on which a DaemonSet runs a pod.

    Args:
        spec: The spec of its pods, with the tolerations that the controller adds.

    Returns: The names of the nodes that the node selector, node affinity and ``nodeName`` allow, and whose
        NoSchedule and NoExecute taints are all tolerated.
    """
    tolerates = np.array([not untolerated_taints(spec, taints) for taints in nodes.taint_lists], dtype=np.bool_)
    mask = nodes_matching_pod(nodes, spec) & tolerates[nodes.taint_list]
    names = [nodes.names[row] for row in np.flatnonzero(mask)]
    return [name for name in names if spec.node_name in ("", name)]


def untolerated_taints(spec: PodSpec, taints: Iterable[Taint]) -> tuple[Taint, ...]:
    """Return the NoSchedule and NoExecute taints of a node for which a DaemonSet creates no pod there."""
    hard = (taint for taint in taints if taint.effect in (NO_SCHEDULE, NO_EXECUTE))
    return tuple(taint for taint in hard if not tolerated(spec.tolerations, taint))


def node_of(spec: PodSpec) -> str:
    """Return the node that the controller has chosen for a pod of a DaemonSet; empty if the pod does not say."""
    own = spec.affinity.node_affinity if spec.affinity is not None else None
    required = own.required_during_scheduling_ignored_during_execution if own is not None else None
    terms = required.node_selector_terms if required is not None else ()
    fields = (field for term in terms for field in term.match_fields)
    return next((field.values[0] for field in fields if field.key == _NODE_NAME and len(field.values) == 1), "")


# The pods of ReplicaSets, ReplicationControllers, and Deployments, which create pods through a ReplicaSet.

_REVISION: Final = "deployment.kubernetes.io/revision"
_MAX_NAME_LENGTH: Final = 253


def pods_of_replicas(
    owner: ReplicaSet | ReplicationController, template: PodTemplateSpec, cluster: Cluster
) -> tuple[MadePod, ...]:
    """Return the pod of a ReplicaSet or ReplicationController; its replicas are identical."""
    pod = pod_from_template(template, owner)
    return (MadePod(pod, wanted_replicas(owner), objects=owner_if_missing(cluster, owner)),)


def pods_of_deployment(deployment: Deployment, template: PodTemplateSpec, cluster: Cluster) -> tuple[MadePod, ...]:
    """Return the pod of a Deployment's newest ReplicaSet: the stored one if its template is equal, else a new one."""
    same = [
        replica_set
        for replica_set in cluster.list(ReplicaSet)
        if _belongs_to(replica_set, deployment) and has_template(replica_set, template)
    ]
    replica_set = max(same, key=revision, default=None) or _new(deployment, template)
    own_hash = replica_set.metadata.labels.get(POD_TEMPLATE_HASH, "")
    pod = pod_from_template(template, replica_set, labels={POD_TEMPLATE_HASH: own_hash} if own_hash else None)
    return (MadePod(pod, wanted_replicas(deployment), objects=owner_if_missing(cluster, replica_set)),)


def _belongs_to(replica_set: ReplicaSet, deployment: Deployment) -> bool:
    owner = replica_set.metadata.controller
    return (
        owner is not None
        and (owner.kind, owner.name) == ("Deployment", deployment.name)
        and replica_set.namespace == deployment.namespace
    )


def revision(replica_set: ReplicaSet) -> int:
    """Return the number that the Deployment controller gives a ReplicaSet; 0 if it has none."""
    return parse_int64(replica_set.metadata.annotations.get(_REVISION, "")) or 0


def _new(deployment: Deployment, template: PodTemplateSpec) -> ReplicaSet:
    """Return the ReplicaSet that the Deployment controller creates for a new template."""
    own_hash = template_hash(template)
    labels = {**template.metadata.labels, POD_TEMPLATE_HASH: own_hash}
    selector = deployment.spec.selector or LabelSelector()
    return ReplicaSet(
        metadata=ObjectMeta(
            name=f"{deployment.name[: _MAX_NAME_LENGTH - 1 - len(own_hash)]}-{own_hash}",
            namespace=deployment.namespace,
            labels=labels,
            owner_references=(controller_reference(deployment),),
        ),
        spec=ReplicasSpec(
            selector=replace(selector, match_labels={**selector.match_labels, POD_TEMPLATE_HASH: own_hash}),
            replicas=wanted_replicas(deployment),
            template=replace(template, metadata=replace(template.metadata, labels=labels)),
        ),
    )


#: The kinds that ``pods_of`` accepts, including Pod itself.
WORKLOADS: Final[tuple[type[ApiObject], ...]] = (
    Pod,
    Deployment,
    StatefulSet,
    DaemonSet,
    ReplicaSet,
    Job,
    CronJob,
    ReplicationController,
    PodTemplate,
)
_SELECTED: Final = (Deployment, StatefulSet, DaemonSet, ReplicaSet)

#: The fields that hold a number of pods, by attribute, with their names in manifests.
_COUNTS: Final = {"replicas": "replicas", "parallelism": "parallelism", "completions": "completions"}


def pods_of(
    obj: ApiObject, cluster: Cluster, *, where: Where = "", most_ordinals: int = MOST_ORDINALS
) -> tuple[MadePod, ...]:
    """Return the pods that the controller of an object creates.

    Args:
        obj: A workload, or a pod, which is returned unchanged.
        cluster: The cluster, with its nodes and the objects that the controller has already created.
        where: The source of the object, for error messages.
        most_ordinals: The number of ordinals of a StatefulSet that are created one by one; the last stands for all
            further ones.

    Returns: One pod if all pods are equal except for their names, else one per pod: per ordinal of a StatefulSet,
        per eligible node of a DaemonSet (empty if there is none).

    Raises ManifestError if the object is of any other kind, if its template is missing or has an invalid quantity,
        if a number of pods is negative, or if its selector does not select the template.
    """
    if isinstance(obj, Pod):
        return (with_own_claims(MadePod(obj), cluster),)
    if not isinstance(obj, WORKLOADS):
        known = ", ".join(kind.__name__ for kind in WORKLOADS)
        raise ManifestError(
            f"a {type(obj).__name__} creates no pods", where=where, hint=f"kinds that create pods: {known}"
        )
    # Names and namespaces are compared with those of the cluster's objects, which have API defaults.
    obj = default_object(obj)
    path = _template_path(obj)
    if isinstance(obj, CronJob):
        obj = job_of_cron_job(obj)
    template = _template(obj)
    if template is None:
        raise ManifestError("is missing", where=where, path=path, hint="add the pod template")
    if isinstance(obj, _SELECTED):
        _check_selector(obj.spec.selector, template, where)
    try:
        normalize_template(template)
    except QuantityError as error:
        raise ManifestError(str(error), where=where, path=f"{path}.{error.path}", hint=QUANTITY_HINT) from None
    _check_counts(obj, where)
    return tuple(with_own_claims(made, cluster) for made in _made(obj, template, cluster, most_ordinals))


def _check_counts(obj: ApiObject, where: Where) -> None:
    """Raise ``ManifestError`` if a number of pods is negative, as an API server does."""
    spec = obj.spec.job_template.spec if isinstance(obj, CronJob) else getattr(obj, "spec", None)
    path = "spec.jobTemplate.spec" if isinstance(obj, CronJob) else "spec"
    for field, name in _COUNTS.items():
        number = getattr(spec, field, None)
        if isinstance(number, int) and number < 0:
            finding = field_errors.invalid(f"{path}.{name}", number, "must be greater than or equal to 0")
            raise ManifestError.together([finding.at(where)])


def _made(obj: ApiObject, template: PodTemplateSpec, cluster: Cluster, most_ordinals: int) -> tuple[MadePod, ...]:
    match obj:
        case Deployment():
            return pods_of_deployment(obj, template, cluster)
        case StatefulSet():
            return pods_of_stateful_set(obj, template, cluster, most_ordinals)
        case DaemonSet():
            return pods_of_daemon_set(obj, template, cluster)
        case ReplicaSet() | ReplicationController():
            return pods_of_replicas(obj, template, cluster)
        case Job():
            # An indexed Job gets the pod of index 0: the others differ only in the index.
            added: dict[str, str] = {}
            if not obj.spec.manual_selector:
                added = dict.fromkeys(_NAME_LABELS, obj.name) | dict.fromkeys(_UID_LABELS, uid_of(obj))
            labels = {key: value for key, value in added.items() if key not in template.metadata.labels}
            if obj.spec.completion_mode != _INDEXED:
                return (MadePod(pod_from_template(template, obj, labels=labels), _parallel_pods(obj)),)
            index = {_COMPLETION_INDEX: "0"}
            ending = "-0-"
            prefix = f"{obj.name[: _MAX_PREFIX_LENGTH - len(ending)]}{ending}"
            pod = pod_from_template(template, obj, prefix=prefix, labels={**labels, **index}, annotations=index)
            return (MadePod(pod, _parallel_pods(obj)),)
        case _:
            return (MadePod(pod_from_template(template, obj)),)


def _template(obj: ApiObject) -> PodTemplateSpec | None:
    if isinstance(obj, PodTemplate):
        return obj.template
    return cast("Deployment", obj).spec.template


def _template_path(obj: ApiObject) -> str:
    if isinstance(obj, PodTemplate):
        return "template"
    return "spec.jobTemplate.spec.template" if isinstance(obj, CronJob) else "spec.template"


def _check_selector(selector: LabelSelector | None, template: PodTemplateSpec, where: Where) -> None:
    if selector is None or not (selector.match_labels or selector.match_expressions):
        hint = "set matchLabels to labels of the template"
        raise ManifestError("is missing or empty", where=where, path="spec.selector", hint=hint)
    try:
        parsed = parse_label_selector(selector)
    except SelectorError as error:
        raise ManifestError(str(error), where=where, path=f"spec.selector.{error.path}") from None
    if not matches(parsed, template.metadata.labels):
        raise ManifestError(
            "`selector` does not match template `labels`",
            where=where,
            path="spec.template.metadata.labels",
            hint=f"spec.selector requires {','.join(map(str, parsed))}",
        )
