"""Pods that have a node and do not start or run there: the node, the claims, the kubelet's words."""

from collections.abc import Iterator
from itertools import chain
from typing import Final

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import LOST
from kschedctl.common.wording import duration, listed, similar
from kschedctl.diagnosis.diagnosis import Advice, ClusterDiagnosis, ClusterSituation, Diagnosis, Situation
from kschedctl.diagnosis.evidence.containers import CRASH_LOOP, state_words, stopped_containers
from kschedctl.diagnosis.evidence.events import MessageKind, events_about, meaning, one_line, said
from kschedctl.diagnosis.evidence.resizes import (
    IN_PROGRESS,
    PENDING,
    PendingResize,
    lowered_autoscaler,
    pending_resizes,
    withdrawn,
)
from kschedctl.diagnosis.node_health import health_problem, is_unhealthy, since
from kschedctl.diagnosis.rules.csi_drivers import unregistered_on
from kschedctl.diagnosis.rules.volumes import volumes_attached_elsewhere
from kschedctl.objects.event import Event
from kschedctl.objects.pod import Pod, PodSpec
from kschedctl.objects.resources import MEMORY
from kschedctl.objects.volume import PersistentVolumeClaim, StorageClass
from kschedctl.objects.well_known import HOSTNAME
from kschedctl.scheduler.framework.risk import Risk

_UNTRIED: Final = "the kubelet starts pods, not the scheduler"
#: The kubelet's reasons for an image that it cannot get (pkg/kubelet/images).
_IMAGE: Final = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError"}
)
#: The reason of the Event of a probe that fails.
_UNHEALTHY: Final = "Unhealthy"
#: Reasons of Events that do not keep a container from starting, or that repeat what its state says.
#: The reason of a container that was killed because it used more memory than its limit.
_OOM: Final = "OOMKilled"
_NOT_DECISIVE: Final = frozenset({_UNHEALTHY, "BackOff", "FailedPreStopHook", "FailedToRetrieveImagePullSecret"})
_DESCRIBE: Final = "kubectl describe pod -n {ns} {pod}"
#: The meaning of kubelet messages, from the special to the general.
_KINDS: Final = (
    MessageKind.of(
        "no-address",
        r"(?i)(?:\w+-cni\w*|cni|plugin|ipam|sandbox).*?(?:assign an IP|no (?:available|more|free) (?:IP|address)|"
        r"(?:no|not enough|insufficient|out of)(?: \w+)? (?:IPs\b|IP addresses|addresses)|insufficientfreeaddresses|"
        r"range is full|exhausted)",
        "scheduling is done, and the network plugin has no IP address left for the pod on {node}",
        (
            "give {node} more addresses: prefix delegation of the network plugin, a larger subnet or pod range",
            Risk.MISTAKE,
            "# look at the log and the settings of the network plugin (CNI) on {node}",
        ),
        (
            "lower max-pods of {node} to what its network interfaces have addresses for, then delete {ns}/{pod}, so "
            "that another node gets its successor",
            Risk.SHARED,
            "kubectl delete pod -n {ns} {pod}    # after max-pods of {node} is lowered",
        ),
    ),
    MessageKind.of(
        "network-not-ready",
        r"(?i)network is not ready|cni plugin not initialized|cni config uninitialized|no networks found in /etc/cni",
        "scheduling is done, and {node} has no network plugin (CNI) that works",
        ("install or repair the network plugin (CNI) on {node}", Risk.MISTAKE, "kubectl describe node {node}"),
    ),
    MessageKind.of(
        "network-plugin-fails",
        r'(?i)failed to (?:set ?up|create).*?sandbox.*?plugin type="(?P<plugin>[^"]+)"(?: name="[^"]*")?'
        r"(?: failed \(\w+\):)? ?(?P<why>.{0,160})",
        "scheduling is done, and the network plugin {plugin} cannot set up the pod on {node}: {why}",
        (
            "repair the network plugin {plugin} on {node}: look at its pod there",
            Risk.MISTAKE,
            "kubectl get pods -A -o wide --field-selector spec.nodeName={node}",
        ),
    ),
    MessageKind.of(
        "missing-runtime-handler",
        r'(?i)(?:no runtime for|runtimehandler|runtime handler) "?(?P<handler>[^"\s]+)"? (?:is configured|not)',
        "scheduling is done, and the container runtime of {node} has no handler {handler}, which the RuntimeClass of "
        "the pod names",
        (
            "configure the handler {handler} on {node}, or choose nodes that have it in the RuntimeClass "
            "(scheduling.nodeSelector)",
            Risk.MISTAKE,
            "kubectl get runtimeclass -o yaml",
        ),
    ),
    MessageKind.of(
        "missing-key",
        r"couldn't find key (?P<key>\S+) in (?P<kind>Secret|ConfigMap) (?P<of>[\w.-]+/)?(?P<name>[\w.-]+)"
        r"|references non-existent (?P<other>secret|config) key: (?P<missing>\S+)",
        "scheduling is done, and {kind}{other} {name} of the pod has no key {key}{missing}",
        (
            "add the key {key}{missing} to {kind}{other} {name}, or correct its name in the pod template",
            Risk.MISTAKE,
            "kubectl get {kind}{other} -n {ns} {name} -o yaml",
        ),
    ),
    MessageKind.of(
        "missing-object",
        r'(?i)(?P<kind>secret|configmap|persistentvolumeclaim|serviceaccount)s? "(?P<name>[^"]+)" not found',
        "scheduling is done, and the {kind} {name} that the pod uses does not exist in {ns}",
        (
            "create the {kind} {name} in {ns}, or correct its name in the pod template",
            Risk.MISTAKE,
            "kubectl get {kind}s -n {ns}",
        ),
    ),
    MessageKind.of(
        "volume-in-use",
        r'Multi-Attach error for volume "(?P<volume>[^"]+)"',
        "scheduling is done, and volume {volume} is still attached to another node",
        (
            "end the pod that uses volume {volume} on the other node, or wait until the volume is detached there",
            Risk.MISTAKE,
            "kubectl get volumeattachments | grep {volume}",
        ),
    ),
    MessageKind.of(
        "image-not-pulled",
        r'(?i)(?:failed to pull|back-off pulling) image "(?P<image>[^"]+)":? ?(?P<why>.{0,160})',
        "scheduling is done, and {node} cannot pull the image {image}: {why}",
        ("correct the image {image}, or the Secret that it is pulled with", Risk.MISTAKE, _DESCRIBE),
    ),
    MessageKind.of(
        "volume-not-mounted",
        r'(?:MountVolume|AttachVolume|MapVolume)\S* failed for volume "(?P<volume>[^"]+)" ?:? ?(?P<why>.{0,200})',
        "scheduling is done, and volume {volume} cannot be used on {node}: {why}",
        ("repair what keeps volume {volume} from {node}: {why}", Risk.MISTAKE, _DESCRIBE),
    ),
)


def is_lost(cluster: Cluster, node: str) -> bool:
    """Report whether the node of a pod does not exist, although the snapshot does not seem to lack nodes."""
    return node not in cluster.nodes.row and len({*pods_of_lost_nodes(cluster), node}) <= len(cluster.nodes)


def pods_of_lost_nodes(cluster: Cluster) -> dict[str, list[int]]:
    """Return the pods on nodes that do not exist, as indices by the name of the node."""
    pods = cluster.pods
    out: dict[str, list[int]] = {}
    for index in np.flatnonzero(pods.node_row == LOST).tolist():
        out.setdefault(pods.records[index].node_name, []).append(index)
    return out


def binding(cluster: Cluster, pod: Pod, node: str) -> str:
    """Return the relation of a pod to the node that it is bound to, as a predicate such as ``runs on n1``."""
    if is_lost(cluster, node):
        return f"is bound to {node}, which does not exist"
    if pod.status.phase == "Pending":
        return f"is bound to {node}, but has not started"
    if next(stopped_containers(pod.status), None) is not None:
        return f"is on {node}, and does not run"
    ends = pod.metadata.deletion_timestamp
    if ends is not None:
        return f"is being deleted on {node}{since(ends)}"
    also = next(chain(_waiting_resize(cluster, pod), _not_ready(cluster, pod)), None)
    return f"runs on {node}{f'; {also.cause}' if also is not None else ''}"


def is_misnamed(pod: Pod) -> bool:
    """Report whether a pod on a node that does not exist was created with that nodeName, and never ran there."""
    never_started = pod.status.phase in ("", "Pending") and pod.status.start_time is None
    return never_started and pod.metadata.controller is None and pod.metadata.deletion_timestamp is None


def misnamed_node(cluster: Cluster, pod: Pod, node: str) -> Diagnosis:
    """Return the diagnosis of a pod whose nodeName was written by hand and names no node."""
    close = similar(node, cluster.nodes.names)
    meant = f" (did you mean {listed(close, 'or')}?)" if close else ""
    other = close[0] if close else "NODE"
    row = cluster.nodes.row.get(other)
    hostname = cluster.nodes.objects[row].metadata.labels.get(HOSTNAME, other) if row is not None else other
    return Diagnosis(
        rule="misnamed-node",
        cause=f"nodeName {node} is no node of the cluster{meant}",
        advice=(
            Advice(
                summary=f"recreate {pod.key} with nodeName {other}, or with nodeSelector {HOSTNAME}: {hostname}",
                risk=Risk.MISTAKE,
                untried="the node of a pod cannot be changed",
                command=f"# in pod {pod.name}: nodeSelector: {{{HOSTNAME}: {hostname}}} instead of nodeName: {node}",
            ),
        ),
        checks=("kubectl get nodes",),
    )


def unstarted(situation: Situation) -> Iterator[Diagnosis]:
    """A pod is bound to a node and does not start: scheduling is done, and the kubelet is the next to act.

    Its ``nodeName`` names no node, its node is unhealthy, or its kubelet says why: in an Event, such as an address or a
    Secret that is missing, or in the state of a container, such as an image that cannot be pulled or a program that ends
    with an error. Another node would rarely help.

    Operators repair what the reason names. The node of a pod cannot be changed: a pod with a wrong ``nodeName`` is
    recreated.
    """
    # Yield what keeps a bound pod from starting.
    pod, node, cluster = situation.pod, situation.node, situation.cluster
    if not node:
        return
    if node in cluster.nodes.row:
        yield from pod_problem(cluster, pod, node)
        yield from _waiting_resize(cluster, pod)
    elif pod.status.phase == "Pending" and is_misnamed(pod) and is_lost(cluster, node):
        yield misnamed_node(cluster, pod, node)


def pod_problem(cluster: Cluster, pod: Pod, node: str) -> Iterator[Diagnosis]:
    """Yield what keeps a pod on a node from starting, from running or from being ready."""
    if pod.status.phase == "Pending":
        yield from on_unhealthy_node(cluster, node)
    yield from kubelet_problem(cluster, pod, node)
    yield from _not_ready(cluster, pod)


def on_unhealthy_node(cluster: Cluster, node: str) -> Iterator[Diagnosis]:
    """Yield the problem of a pod's node."""
    row = cluster.nodes.row.get(node)
    if row is not None and is_unhealthy(cluster.nodes.objects[row]):
        yield Diagnosis(
            rule="unstarted-pod",
            cause=f"its node {node} is {health_problem(cluster.nodes.objects[row])}",
            advice=(
                Advice(
                    summary=f"get {node} ready again, or replace it",
                    risk=Risk.MISTAKE,
                    untried="the kubelet runs on the machine",
                    command=f"kubectl describe node {node}",
                ),
            ),
        )


def kubelet_problem(cluster: Cluster, pod: Pod, node: str) -> Iterator[Diagnosis]:
    """Yield the reason why a pod does not start or run on its node, as its kubelet reports it in Events and states."""
    events = [
        event
        for event in events_about(cluster, Pod.__name__, pod.namespace, pod.name)
        if event.reason not in _NOT_DECISIVE
    ]
    stopped = next(stopped_containers(pod.status), None)
    describe = _DESCRIBE.format(ns=pod.namespace, pod=pod.name)
    if stopped is not None:
        waits = stopped.state.waiting.reason if stopped.state.waiting is not None else ""
        crashed = waits == CRASH_LOOP or not waits
        words = stopped.state.waiting.message if stopped.state.waiting is not None and not crashed else ""
        known = None if crashed else _meaning(events, pod, node) or _meaning_of(words, pod, node)
        if known is not None:
            yield known
            return
        log = f"kubectl logs -n {pod.namespace} {pod.name} -c {stopped.name} --previous"
        cure = Advice(
            summary=f"correct the image {_image(pod.spec, stopped.name)} of container {stopped.name}, or the Secret that "
            "it is pulled with",
            risk=Risk.MISTAKE,
            untried="the kubelet pulls images",
            command=describe,
        )
        repair = Advice(
            summary=f"repair the program of container {stopped.name}, or what it needs: its log says why it ended",
            risk=Risk.MISTAKE,
            untried="the container ends by itself",
            command=log,
        )
        ended = stopped.state.terminated or stopped.last_state.terminated
        last_words = (
            (f"container {stopped.name} ended with: {one_line(ended.message)}",) if ended and ended.message else ()
        )
        too_small = tuple(_more_memory(pod, stopped.name)) if crashed and ended and ended.reason == _OOM else ()
        yield Diagnosis(
            rule="unstarted-pod",
            cause=f"scheduling is done; container {stopped.name} {'waits' if waits else 'has ended'}: "
            f"{state_words(stopped)}{words and f': {one_line(words)}'}",
            evidence=(*last_words, *map(said, events[:1])),
            advice=(cure,) if waits in _IMAGE else too_small or (repair,) if crashed else (),
            checks=(log if crashed else describe,),
        )
    elif pod.status.phase == "Pending" and events:
        yield _meaning(events, pod, node) or Diagnosis(
            rule="unstarted-pod", cause=f"scheduling is done; {said(events[0])}", checks=(describe,)
        )


def _not_ready(cluster: Cluster, pod: Pod) -> Iterator[Diagnosis]:
    """Yield the probe that keeps a pod whose containers run from being ready, as its kubelet reports it."""
    ready = next((each for each in pod.status.conditions if each.type == "Ready" and each.status == "False"), None)
    events = events_about(cluster, Pod.__name__, pod.namespace, pod.name)
    probe = next((event for event in events if event.reason == _UNHEALTHY), None)
    if ready is None or probe is None or pod.status.phase != "Running" or any(stopped_containers(pod.status)):
        return
    yield Diagnosis(
        rule="unready-pod",
        cause=f"it is not ready{since(ready.last_transition_time)}: {said(probe)}",
        advice=(
            Advice(
                summary="repair what its probe reports: its containers run, and answer the probe with an error or not at all",
                risk=Risk.MISTAKE,
                untried="the kubelet probes containers",
                command=f"kubectl logs -n {pod.namespace} {pod.name}",
            ),
        ),
    )


def _waiting_resize(cluster: Cluster, pod: Pod) -> Iterator[Diagnosis]:
    """Yield the in-place resize of a pod that its kubelet has not carried out, by its condition."""
    for each in pod.status.conditions:
        failed = each.type == IN_PROGRESS and bool(each.message)
        if each.status == "True" and (each.type == PENDING or failed):
            what = "fails" if failed else "is infeasible" if each.reason == "Infeasible" else "is deferred"
            why = f": {one_line(each.message)}" if each.message else ""
            room = "" if failed or each.reason == "Infeasible" else ", or make room on its node"
            yield Diagnosis(
                rule="waiting-resize",
                cause=f"its resize {what}{since(each.last_transition_time)}{why}",
                advice=(
                    Advice(
                        summary=f"{lowered_autoscaler(cluster, pod)}withdraw the resize of {pod.key}{room}",
                        risk=Risk.MISTAKE,
                        untried="the kubelet carries out resizes",
                        command=f"kubectl edit pod -n {pod.namespace} {pod.name} --subresource=resize",
                    ),
                ),
            )


def _withdrawal(cluster: Cluster, resize: PendingResize) -> Advice:
    remedy = withdrawn(cluster, [resize])
    untried = "the pod runs in any case; what it asks for is its owner's decision"
    return Advice(summary=remedy.summary, risk=remedy.risk, untried=untried, command=remedy.command)


def waiting_resizes(situation: ClusterSituation) -> Iterator[ClusterDiagnosis]:
    """In-place resizes that kubelets have not carried out, while the scheduler counts what they ask for.

    A resize that does not fit on the node is deferred until other pods end, or found infeasible if it never can fit. Until
    then the scheduler counts the larger of what is asked for and what is allocated, so that the room is lost for others.

    Operators withdraw the resize, or make room for it.
    """
    # Yield the pods whose resize waits.
    for resize in pending_resizes(situation.cluster):
        pod = situation.cluster.pods.pod(resize.index)
        yield ClusterDiagnosis(
            rule="waiting-resize",
            cause=f"it {resize.words()}",
            evidence=(resize.message,) if resize.message else (),
            advice=(_withdrawal(situation.cluster, resize),),
            kind=Pod.__name__,
            namespace=pod.namespace,
            name=pod.name,
            state=f"waits for its resize on {situation.cluster.nodes.names[resize.row]}",
            pods=(pod.key,),
            since=resize.since,
        )


def _meaning(events: list[Event], pod: Pod, node: str) -> Diagnosis | None:
    """Return the diagnosis for the newest Event whose message is well known."""
    found = (_meaning_of(event.message, pod, node, said(event)) for event in events)
    return next((each for each in found if each is not None), None)


def _meaning_of(message: str, pod: Pod, node: str, *evidence: str) -> Diagnosis | None:
    """Return the diagnosis for a message of the kubelet that is well known, else ``None``."""
    found = meaning(message, _KINDS, _UNTRIED, ns=pod.namespace, pod=pod.name, node=node)
    return Diagnosis(rule=found.rule, cause=found.phrase, evidence=evidence, advice=found.advice) if found else None


def _more_memory(pod: Pod, name: str) -> Iterator[Advice]:
    """Yield the cure of a container that ended because it used more memory than its limit."""
    container = next((each for each in (*pod.spec.init_containers, *pod.spec.containers) if each.name == name), None)
    limit = container.resources.limits.get(MEMORY) if container is not None else None
    if limit is not None:
        yield Advice(
            summary=f"raise the memory limit of container {name}, which is {limit}, or lower what its program uses",
            risk=Risk.MISTAKE,
            untried="the snapshot does not show how much memory the program needs",
            command=f"# set resources.limits.memory of container {name} in the template of {pod.namespace}/{pod.name}",
        )


def _image(spec: PodSpec, name: str) -> str:
    return next((each.image for each in (*spec.init_containers, *spec.containers) if each.name == name), "")


#: Pods that are younger than ten minutes may be starting.
_PATIENCE: Final = 600
_WAITS: Final = "WaitForFirstConsumer"
_SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"


def unstarted_pods(situation: ClusterSituation) -> Iterator[ClusterDiagnosis]:
    """Pods that have a node and do not start: their node is unhealthy, a claim is not bound, or the kubelet says why.

    Such a pod is in phase Pending, although the scheduler, or ``spec.nodeName``, has given it a node. A pod that was
    created a few minutes ago may still pull its images; it is left out.

    Operators repair the node or the claim, or what the kubelet's Event or a waiting container's reason names: an image, a
    Secret, an address. For anything else they look at the kubelet's log.
    """
    # Yield the pods that have had a node for more than ten minutes and are still in phase Pending.
    cluster, pods = situation.cluster, situation.cluster.pods
    for index in pods.starting.tolist():
        record = pods.records[index]
        if pods.node_row[index] < 0 or record.metadata.deletion_timestamp is not None:
            continue
        age = situation.seconds_since(record.status.start_time or record.metadata.creation_timestamp)
        if age <= _PATIENCE:
            continue
        pod, node = pods.pod(index), record.node_name
        checks: tuple[str, ...] = (f"kubectl describe pod -n {pod.namespace} {pod.name}",)
        claims = list(_claim_problems(cluster, pod))
        found: Diagnosis
        if (unhealthy := next(on_unhealthy_node(cluster, node), None)) is not None:
            found = unhealthy
        elif claims:
            found = Diagnosis(
                rule="", cause="; ".join(claims), checks=(f"kubectl describe pvc -n {pod.namespace}", *checks)
            )
        elif volumes := [*volumes_attached_elsewhere(cluster, pod, node), *unregistered_on(cluster, pod, node)]:
            found = volumes[0]
        else:
            nothing_said = "; the snapshot has no Event and no state of a container that says why"
            found = next(kubelet_problem(cluster, pod, node), None) or Diagnosis(
                rule="", cause=f"{node} has had it for {duration(int(age))} and has not started it{nothing_said}"
            )
        yield ClusterDiagnosis(
            rule="unstarted-pod",
            cause=found.cause,
            evidence=found.evidence,
            advice=found.advice,
            checks=tuple(dict.fromkeys((*checks, *found.checks))),
            kind=Pod.__name__,
            namespace=pod.namespace,
            name=pod.name,
            state=f"does not start on {node}",
            pods=(pod.key,),
            since=pod.metadata.creation_timestamp,
        )


def _claim_problems(cluster: Cluster, pod: Pod) -> Iterator[str]:
    """Yield the problems of a pod's claims."""
    for volume in pod.spec.volumes:
        source = volume.persistent_volume_claim
        if source is None:
            continue
        claim = cluster.get(PersistentVolumeClaim, source.claim_name, pod.namespace)
        if claim is None:
            hidden = cluster.is_forbidden(PersistentVolumeClaim, pod.namespace)
            if not hidden and any(True for _ in cluster.list(PersistentVolumeClaim)):
                yield f"its claim {source.claim_name} does not exist"
        elif not claim.spec.volume_name:
            yield f"its claim {claim.name} is not bound{_unbound(cluster, claim)}"


def _unbound(cluster: Cluster, claim: PersistentVolumeClaim) -> str:
    name = claim.spec.storage_class_name or ""
    storage_class = cluster.get(StorageClass, name)
    if name and storage_class is None and any(True for _ in cluster.list(StorageClass)):
        return f", and its StorageClass {name} does not exist"
    waits = storage_class is not None and storage_class.volume_binding_mode == _WAITS
    if waits and _SELECTED_NODE not in claim.metadata.annotations:
        return f": {name} binds when the scheduler places a pod, and this pod's nodeName was set without the scheduler"
    event = next(iter(events_about(cluster, PersistentVolumeClaim.__name__, claim.namespace, claim.name)), None)
    return f": {said(event)}" if event is not None else ""
