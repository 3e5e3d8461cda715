"""Requests, gates and annotations of pods."""

from collections.abc import Iterator
from typing import Final

from kschedctl.common.findings import Severity
from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import removing, renaming, setting
from kschedctl.linter.pods import TemplateContainer, WorkloadPods
from kschedctl.linter.rule import Problem, Rule, RuleSubject, Stage
from kschedctl.linter.values import Steps, at, items, mapping, nano_units, text
from kschedctl.objects.cluster_autoscaler import SAFE_TO_EVICT
from kschedctl.objects.karpenter import DO_NOT_DISRUPT
from kschedctl.objects.quantity import NANO
from kschedctl.objects.resources import format_nanos


@Rule(
    "KS120",
    "gates-left-on",
    Severity.WARNING,
    Stage.WAITS,
    RuleSubject.PODS,
    of_fields=True,
    fails="""v1 Pod web
schedulingGates:  # <-
- name: example.com/quota
""",
    passes="v1 Pod web\n",
)
def gates_left_on(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The pod template has scheduling gates, so every pod stays pending until its gates are removed.

    Scheduling gates are for controllers, which add them when a pod is created and remove them when the pod may be
    scheduled. Gates in a template apply to every pod, and must be removed from each pod separately.

    The API server accepts the object, and the pods stay pending (SchedulingGated).

    Repair: remove schedulingGates; let the controller that decides when a pod may be scheduled add them.
    """
    gates = items(pods.spec.get("schedulingGates"))
    if not gates or pods.obj.live:
        return
    names = ", ".join(text(at(gate, "name")) for gate in gates)
    steps = pods.of_spec("schedulingGates")
    yield Problem(
        message=f"every pod stays pending until {names} {'is' if len(gates) == 1 else 'are'} removed from it",
        steps=steps,
        help="remove schedulingGates",
        fix=removing(pods.obj, "remove schedulingGates", steps),
    )


_LEAST: Final = 2**20 * NANO
_NAMES: Final = ("memory", "ephemeral-storage")


@Rule(
    "KS121",
    "tiny-quantity",
    Severity.ERROR,
    Stage.WAITS,
    RuleSubject.PODS,
    of_fields=True,
    fails="""v1 Pod web
resources:
  requests:
    memory: 128m  # <-
""",
    repair={"128m": "128Mi"},
)
def tiny_quantity(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A container requests or limits less than 1Mi of memory or disk: probably 128m was written for 128Mi.

    The suffix ``m`` means thousandths: 128m of memory is 0.128 bytes. A number without a suffix is in bytes. No container
    can start with that little.

    The API server accepts the object, with a warning that is easily missed. The pods are scheduled as if they needed
    nothing, and are killed or never start.

    Repair: write the unit, such as 128Mi.
    """
    places = [(container.steps, container.raw.get("resources")) for container in pods.containers]
    places.append((pods.of_spec(), pods.spec.get("resources")))
    for steps, resources in places:
        for field in ("requests", "limits"):
            for name, written in mapping(mapping(resources).get(field)).items():
                nanos = nano_units(written)
                if not (name in _NAMES or name.startswith("hugepages-")) or nanos is None or not 0 < nanos < _LEAST:
                    continue
                is_bytes = str(written) == str(nanos // NANO)
                meant = f"{written[:-1]}Mi" if isinstance(written, str) and written.endswith("m") else ""
                at_amount = (*steps, "resources", field, name)
                yield Problem(
                    message=f"{written} of {name} is {'in bytes' if is_bytes else f'{nanos / NANO:g} bytes'}",
                    steps=at_amount,
                    help=f"write {meant}" if meant else f"write the unit, such as {written}Mi",
                    fix=setting(pods.obj, f"write {meant}", (at_amount, meant), safe=False) if meant else None,
                )


_MANY: Final = 64 * NANO
_PER_CPU: Final = 256 * 2**20


@Rule(
    "KS122",
    "huge-cpu",
    Severity.WARNING,
    Stage.WAITS,
    RuleSubject.PODS,
    fails="""v1 Pod web
resources:
  requests:
    cpu: 100  # <-
    memory: 256Mi
""",
    repair={"cpu: 100": "cpu: 100m"},
)
def huge_cpu(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A container requests 64 CPUs or more and little memory: probably 100m was intended and 100 was written.

    A CPU quantity without a unit is in whole CPUs. Pods that do need that many CPUs need memory as well; so a container
    with less than 256Mi of memory per CPU, or without memory in its requests and limits, is reported.

    The API server accepts the object, and the pods stay pending until there is a node of that size.

    Repair: write the unit, such as 100m.
    """
    for container in pods.containers:
        cpu, memory = nano_units(container.amount("cpu")), nano_units(container.amount("memory"))
        if cpu is None or cpu < _MANY:
            continue
        if container.amount("memory") is not None and (memory is None or memory >= cpu * _PER_CPU):
            continue
        requests = mapping(mapping(container.raw.get("resources")).get("requests"))
        steps = (*container.steps, "resources", "requests" if requests.get("cpu") is not None else "limits", "cpu")
        written = str(container.amount("cpu"))
        beside = "no memory" if memory is None else f"{container.amount('memory')} of memory"
        fix = setting(pods.obj, f"write {written}m", (steps, f"{written}m"), safe=False) if written.isdigit() else None
        yield Problem(
            message=f"requests {written} cpus and {beside}: probably {written}m is intended"
            if fix
            else f"requests {written} of cpu and {beside}",
            steps=steps,
            help=f"write {written}m for {written} thousandths of a cpu" if fix else "request what the container needs",
            fix=fix,
        )


_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")


@Rule(
    "KS123",
    "init-dominates",
    Severity.INFO,
    None,
    RuleSubject.PODS,
    fails="""v1 Pod web
initContainers:
- name: migrate
  image: migrate
  resources:
    requests:
      memory: 2Gi  # <-
resources:
  requests:
    memory: 256Mi
""",
    repair={"2Gi": "256Mi"},
)
def init_dominates(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """An init container requests more than all containers together, so the pod reserves that much for its whole lifetime.

    For each resource the scheduler counts the largest request of an init container or the sum of the requests of all
    containers, whichever is larger. The reservation does not shrink when the init container ends. Init containers that are
    restarted (sidecars) count as containers. The rule ignores resources that no container requests.

    Nothing is blocked; fewer pods fit on each node, and unused capacity is paid for.

    Repair: lower the init container's request, or use the reserved amount in the containers.
    """
    for resource in _RESOURCES:
        stated = [(each, each.amount(resource)) for each in pods.containers if each.amount(resource) is not None]
        amounts = [(each, nano_units(written)) for each, written in stated]
        if any(nanos is None for _, nanos in amounts):
            continue
        first = [(nanos or 0, each) for each, nanos in amounts if each.init]
        later = [nanos or 0 for each, nanos in amounts if not each.init]
        if not first or not later:
            continue
        most, container = max(first, key=lambda pair: pair[0])
        if most > sum(later):
            yield Problem(
                message=f"init container {container.name} requests {format_nanos(resource, most)} of {resource}, all "
                f"containers together {format_nanos(resource, sum(later))}: the pod reserves the former for its "
                "lifetime",
                steps=(*container.steps, "resources", _field(container, resource), resource),
                help="lower it, or use the reserved amount in the containers",
            )


def _field(container: TemplateContainer, resource: str) -> str:
    requests = mapping(mapping(container.raw.get("resources")).get("requests"))
    return "requests" if requests.get(resource) is not None else "limits"


@Rule(
    "KS124",
    "no-requests",
    Severity.INFO,
    None,
    RuleSubject.PODS,
    on=False,
    fails="""v1 Pod web
containers:
- name: web  # <-
  image: nginx
""",
    passes="""v1 Pod web
resources:
  requests: {cpu: 100m, memory: 128Mi}
""",
)
def no_requests(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A container has no request for CPU or memory, so the scheduler treats it as if it needed none.

    Pods without requests fit on every node, and are evicted first when a node runs short of memory. Other linters report
    the same, so the rule runs only if it is selected.

    Nothing is blocked; nodes are filled beyond their capacity.

    Repair: request what the container uses.
    """
    of_pod = mapping(mapping(pods.spec.get("resources")).get("requests"))
    for container in pods.containers:
        missing = [name for name in ("cpu", "memory") if container.amount(name) is None and name not in of_pod]
        if missing and not container.init:
            steps = (*container.steps, "resources") if container.raw.get("resources") else container.steps
            yield Problem(
                message=f"container {container.name} requests no {' and no '.join(missing)}",
                steps=steps,
                help="request what it uses",
            )


#: The replacement, by annotation.
_INSTEAD: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": "priorityClassName",
    "scheduler.alpha.kubernetes.io/affinity": "spec.affinity",
    "scheduler.alpha.kubernetes.io/tolerations": "spec.tolerations",
    "karpenter.sh/do-not-evict": DO_NOT_DISRUPT,
}


@Rule(
    "KS126",
    "dead-annotation",
    Severity.WARNING,
    None,
    RuleSubject.PODS,
    of_fields=True,
    fails="""v1 Pod web
annotations:
  scheduler.alpha.kubernetes.io/critical-pod: ""  # <-
""",
    passes="""v1 Pod web
priorityClassName: system-cluster-critical
""",
)
def dead_annotation(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """An annotation has no effect: one of alpha scheduling, or karpenter.sh/do-not-evict.

    The scheduler ignores ``scheduler.alpha.kubernetes.io/critical-pod``, ``/affinity`` and ``/tolerations`` since
    Kubernetes 1.16. Karpenter ignores ``karpenter.sh/do-not-evict`` since Karpenter 1.0, which replaced it by
    ``karpenter.sh/do-not-disrupt``.

    The API server accepts the object, with a warning that is easily missed, and the annotation does nothing.

    Repair: priorityClassName for critical pods, the fields of the spec for affinity and tolerations, else the annotation
    that replaces it.
    """
    places: dict[Steps, None] = dict.fromkeys(((*pods.template, "metadata"), ("metadata",)))
    for place in places:
        annotations = mapping(at(pods.obj.raw, *place, "annotations"))
        for name, instead in _INSTEAD.items():
            if name not in annotations:
                continue
            steps = (*place, "annotations", name)
            renamed = instead == DO_NOT_DISRUPT and instead not in annotations
            fix = renaming(pods.obj, steps, instead) if renamed else removing(pods.obj, f"remove {name}", steps)
            yield Problem(
                message=f"the annotation {name} no longer has an effect",
                steps=steps,
                help=f"use {instead}",
                fix=fix,
                key=True,
            )


_OF_PODS: Final = (SAFE_TO_EVICT, DO_NOT_DISRUPT)


@Rule(
    "KS127",
    "pod-annotation-on-workload",
    Severity.WARNING,
    None,
    RuleSubject.PODS,
    fails="""apps/v1 Deployment web
annotations:
  cluster-autoscaler.kubernetes.io/safe-to-evict: "false"  # <-
""",
    passes="""apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
      annotations:
        cluster-autoscaler.kubernetes.io/safe-to-evict: "false"
    spec:
      containers:
      - name: web
        image: nginx
""",
)
def pod_annotation_on_workload(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """An annotation that is read on pods is set on the workload that creates them, where it has no effect.

    ``cluster-autoscaler.kubernetes.io/safe-to-evict`` and ``karpenter.sh/do-not-disrupt`` are read on pods. A Deployment's
    own annotations are not copied to its pods; those of its template are.

    The API server accepts the object, and autoscalers treat the pods as if the annotation were not set.

    Repair: move it to the template's metadata. That changes the template, so the pods are replaced once.
    """
    if not pods.template:
        return
    own = mapping(pods.metadata.get("annotations"))
    for name in _OF_PODS:
        value = pods.obj.annotations.get(name)
        if value is not None and name not in own:
            to = (*pods.template, "metadata", "annotations", name)
            yield Problem(
                message=f"{name} has an effect on pods only; a {pods.obj.kind}'s annotations are not copied to its "
                "pods",
                steps=("metadata", "annotations", name),
                help="move it to the template's metadata",
                fix=setting(pods.obj, "add it to the template", (to, value)),
                key=True,
            )
