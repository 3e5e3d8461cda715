"""Scheduler configurations, and the schedulers that pods name."""

from collections.abc import Iterator
from typing import Final

from kschedctl.common.findings import Severity
from kschedctl.common.wording import listed, similar
from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import removing, setting
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem, Related, Rule, RuleSubject, Stage
from kschedctl.linter.rules.api_versions import leaving_out, served_beside
from kschedctl.linter.scheduler_profiles import (
    ALL,
    CONFIG,
    DEFAULT_SCHEDULER,
    FILTERS,
    MULTI_POINT,
    NEEDED,
    OUT_OF_TREE,
    QUEUE_SORTS,
    SCORES,
    in_tree,
    is_enabled,
    is_enabled_at_multi_point,
    plugins,
    profiles,
    scheduler_name,
)
from kschedctl.linter.values import Steps, at, is_rendered, numbered, text

_STABLE: Final = "v1"
#: The first minor release without a version.
_SINCE: Final = {"v1alpha1": 22, "v1alpha2": 22, "v1beta1": 23, "v1beta2": 28, "v1beta3": 29}


@Rule(
    "KS601",
    "config-version-gone",
    Severity.ERROR,
    Stage.WAITS,
    "kubescheduler.config.k8s.io/KubeSchedulerConfiguration",
    fails="""kubescheduler.config.k8s.io/v1beta3 KubeSchedulerConfiguration  # <-
""",
    repair={"v1beta3": "v1"},
)
def config_version_gone(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    """A scheduler configuration has an API version that kube-scheduler does not support.

    v1beta1 is removed since Kubernetes 1.23, v1beta2 since 1.28, v1beta3 since 1.29. In a file or folder that is named after
    the version, beside a configuration of a supported version, the finding is info: it is for older releases.

    kube-scheduler exits when it starts, and every pod of its profiles stays pending.

    Repair: kubescheduler.config.k8s.io/v1.
    """
    minor = int(context.release.version.partition(".")[2])
    group, _, version = obj.api_version.rpartition("/")
    since = _SINCE.get(version)
    if since is None or minor < since:
        return
    supported = [each for each in (_STABLE, *_SINCE) if minor < _SINCE.get(each, minor + 1)]
    newer = served_beside(obj, [f"{group}/{each}" for each in supported], context)
    beside = f"; {newer.file.name} has {newer.api_version}" if newer is not None else ""
    yield Problem(
        message=f"kube-scheduler does not support {obj.api_version} as of Kubernetes 1.{since}, and exits{beside}",
        steps=("apiVersion",),
        help=leaving_out(obj) if newer is not None else f"use {group}/{_STABLE}, and check for renamed fields",
        severity=Severity.INFO if newer is not None else None,
    )


#: The plugin that replaces a removed one; empty if none does.
_GONE: Final = {
    "NodeResourcesLeastAllocated": "NodeResourcesFit",
    "NodeResourcesMostAllocated": "NodeResourcesFit",
    "RequestedToCapacityRatio": "NodeResourcesFit",
    "SelectorSpread": "PodTopologySpread",
    "NodeLabel": "NodeAffinity",
    "NodePreferAvoidPods": "",
    "ServiceAffinity": "",
    **dict.fromkeys(
        ("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits", "NonCSILimits"), "NodeVolumeLimits"
    ),
}


@Rule(
    "KS602",
    "unknown-plugin",
    Severity.WARNING,
    Stage.WAITS,
    "kubescheduler.config.k8s.io/KubeSchedulerConfiguration",
    fails="""kubescheduler.config.k8s.io/v1 KubeSchedulerConfiguration
profiles:
- plugins:
    score:
      disabled:
      - name: NodeResourcesLeastAllocated  # <-
""",
    repair={"NodeResourcesLeastAllocated": "NodeResourcesFit"},
)
def unknown_plugin(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    """A profile names a plugin that kube-scheduler does not have.

    If the plugin is enabled, kube-scheduler exits when it starts. If it is disabled, nothing is disabled, and the plugin's
    replacement stays enabled: since Kubernetes 1.22 NodeResourcesFit computes the scores of NodeResourcesLeastAllocated.
    Plugins of kubernetes-sigs/scheduler-plugins are info, as a scheduler can be built with them. Name your own plugins in
    the settings (``plugins``).

    Pods of the profiles stay pending, or are scheduled to other nodes than intended.

    Repair: the plugin's current name, or its replacement.
    """
    known = {*in_tree(context.release), *context.plugins, ALL}
    told: set[str] = set()
    for steps, profile in profiles(obj):
        named = [(each.name, (*each.steps, "name"), each.enabled) for each in plugins(profile, steps)]
        for way, raw in numbered(at(profile, "pluginConfig"), (*steps, "pluginConfig")):
            if name := text(at(raw, "name")):
                named.append((name, (*way, "name"), True))
        for name, where, enabled in named:
            if name in told or name in known or not is_rendered(name):
                continue
            told.add(name)
            instead = _GONE.get(name)
            near = similar(name, known) if instead is None else [instead] if instead else []
            effect = "kube-scheduler exits" if enabled else "this disables nothing"
            out_of_tree = name in OUT_OF_TREE
            yield Problem(
                message=f"{name} is a plugin of scheduler-plugins, not of kube-scheduler"
                if out_of_tree
                else f"kube-scheduler has no plugin {name}: {effect}",
                steps=where,
                help="run a scheduler that is built with it"
                if out_of_tree
                else f"use {near[0]}"
                if instead
                else f"did you mean {near[0]}?"
                if near
                else "name it in the settings (plugins) if it is your own",
                severity=Severity.INFO if out_of_tree else None,
            )


@Rule(
    "KS603",
    "weight-without-effect",
    Severity.WARNING,
    None,
    "kubescheduler.config.k8s.io/KubeSchedulerConfiguration",
    fails="""kubescheduler.config.k8s.io/v1 KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      enabled:
      - name: NodePorts
        weight: 5  # <-
""",
    repair={"NodePorts": "NodeAffinity"},
)
def weight_without_effect(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    """A plugin's weight or arguments have no effect.

    A weight applies to Score only. A weight of 0 is treated as 1; to have no weight, disable the plugin at score. The
    arguments of a plugin that is enabled at no extension point are not used.

    Nodes are chosen by other scores than intended.

    Repair: leave it out, or enable the plugin.
    """
    known = in_tree(context.release)
    for steps, profile in profiles(obj):
        named = plugins(profile, steps)
        for each in named:
            if each.weight is None or not each.enabled:
                continue
            where = (*each.steps, "weight")
            if each.point not in (MULTI_POINT, "score"):
                yield Problem(
                    message=f"a weight applies only at score, not at {each.point}", steps=where, help="leave it out"
                )
            elif each.name in known and each.name not in SCORES:
                yield Problem(
                    message=f"{each.name} computes no scores, so its weight has no effect",
                    steps=where,
                    help="leave it out",
                )
            elif each.weight == 0:
                yield Problem(
                    message=f"weight 0 of {each.name} is treated as 1",
                    steps=where,
                    help="disable it at score if it should not count",
                )
        enabled = {each.name for each in named if each.enabled}
        for way, raw in numbered(at(profile, "pluginConfig"), (*steps, "pluginConfig")):
            name = text(at(raw, "name"))
            if not name or name in enabled or is_enabled_at_multi_point(name, named, context.release):
                continue
            if name == ALL or (name not in known and not name[:1].isupper()):
                continue
            yield Problem(
                message=f"no extension point of the profile has {name}: its arguments are not used",
                steps=(*way, "name"),
                help="enable it, or leave the arguments out",
            )


_VITAL: Final = frozenset(("NodeResourcesFit", "VolumeBinding", "NodePorts"))


@Rule(
    "KS604",
    "filter-disabled",
    Severity.WARNING,
    None,
    "kubescheduler.config.k8s.io/KubeSchedulerConfiguration",
    fails="""kubescheduler.config.k8s.io/v1 KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      disabled:
      - name: NodeResourcesFit  # <-
""",
    repair={"multiPoint": "score"},
)
def filter_disabled(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    """A profile disables a plugin that filters out nodes on which pods cannot run.

    For ``NodeResourcesFit``, ``VolumeBinding`` and ``NodePorts`` that is an error: pods are bound to full nodes and are
    failed by the kubelet (OutOfcpu), or are bound without their volumes. Usually only the scores were intended: these are
    disabled at ``score``.

    Pods are bound to nodes where they cannot run, fail, and are recreated again and again.

    Repair: disable the plugin only at score, or enable it at filter again.
    """
    filters = [name for name, _ in context.release.default_plugins if name in FILTERS]
    for steps, profile in profiles(obj):
        named = plugins(profile, steps)
        lost: dict[tuple[str | int, ...], list[str]] = {}
        for name in filters:
            for point in ("filter", *NEEDED.get(name, ())):
                if not is_enabled(name, point, named, context.release):
                    off = [each for each in named if not each.enabled and each.name in (name, ALL)]
                    by = next((each for place in (point, MULTI_POINT) for each in off if each.point == place), None)
                    if by is not None:
                        lost.setdefault(by.steps, []).append(name)
                    break
        for where, names in lost.items():
            vital = [name for name in names if name in _VITAL]
            yield Problem(
                message=f"without {', '.join(names)}, pods are bound to nodes where they cannot run",
                steps=(*where, "name"),
                help="disable it only at score, or enable it at filter again",
                severity=Severity.ERROR if vital else None,
            )


@Rule(
    "KS605",
    "profiles-conflict",
    Severity.ERROR,
    Stage.WAITS,
    "kubescheduler.config.k8s.io/KubeSchedulerConfiguration",
    fails="""kubescheduler.config.k8s.io/v1 KubeSchedulerConfiguration
profiles:
- schedulerName: batch
- schedulerName: batch  # <-
""",
    repair={"batch  # <-": "web"},
)
def profiles_conflict(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    """Two profiles of a configuration have the same scheduler name, or different QueueSort plugins.

    A scheduler name may occur in one profile only. All profiles share one queue, so their QueueSort plugin must be the
    same.

    kube-scheduler exits when it starts, and every pod of its profiles stays pending.

    Repair: give each profile its schedulerName, and all of them one QueueSort plugin.
    """
    seen: dict[str, Steps] = {}
    first: tuple[str, Steps] | None = None
    for steps, profile in profiles(obj):
        name = scheduler_name(profile)
        if name in seen:
            yield Problem(
                message=f"two profiles have schedulerName {name}: kube-scheduler exits",
                steps=(*steps, "schedulerName"),
                help=f"set another name than {name}" + (", the default" if name == DEFAULT_SCHEDULER else ""),
                related=(Related(obj, seen[name], "the other profile"),),
            )
        seen.setdefault(name, steps)
        named = plugins(profile, steps)
        own = [each.name for each in named if each.point == "queueSort" and each.enabled]
        broad = [each.name for each in named if each.point == MULTI_POINT and each.enabled and each.name in QUEUE_SORTS]
        off = {each.name for each in named if not each.enabled and each.point in (MULTI_POINT, "queueSort")}
        by_default = broad[0] if broad and off & {ALL, "PrioritySort"} else "PrioritySort"
        sort = own[0] if own else by_default
        if first is None:
            first = sort, steps
        elif sort != first[0]:
            yield Problem(
                message=f"sorts the queue by {sort}, the first profile by {first[0]}: kube-scheduler exits",
                steps=(*steps, "plugins"),
                help="use one QueueSort plugin in all profiles",
                related=(Related(obj, first[1], "the first profile"),),
            )


@Rule(
    "KS606",
    "default-constraints-ignored",
    Severity.ERROR,
    Stage.WAITS,
    "kubescheduler.config.k8s.io/KubeSchedulerConfiguration",
    fails="""kubescheduler.config.k8s.io/v1 KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: PodTopologySpread
    args:
      defaultConstraints:  # <-
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: ScheduleAnyway
""",
    repair={"args:": "args:\n      defaultingType: List"},
)
def default_constraints_ignored(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    """Default topology constraints are set with System defaulting, or have a label selector.

    ``defaultConstraints`` require ``defaultingType: List``; System, which is the default, means the scheduler's own
    constraints. A default constraint cannot have a label selector: the selector is derived from the pod's Services and
    controller.

    kube-scheduler exits when it starts, and every pod of its profiles stays pending.

    Repair: defaultingType: List, and no labelSelector.
    """
    for steps, profile in profiles(obj):
        for way, config in numbered(at(profile, "pluginConfig"), (*steps, "pluginConfig")):
            if at(config, "name") != "PodTopologySpread":
                continue
            args = (*way, "args")
            constraints = at(config, "args", "defaultConstraints")
            if constraints and at(config, "args", "defaultingType") in (None, "", "System"):
                stated = at(config, "args", "defaultingType") or "not set, which means System"
                yield Problem(
                    message=f"defaultingType is {stated}, and defaultConstraints are set: kube-scheduler exits",
                    steps=(*args, "defaultConstraints"),
                    help="set defaultingType: List",
                    fix=setting(obj, "set defaultingType: List", ((*args, "defaultingType"), "List")),
                )
            for where, constraint in numbered(constraints, (*args, "defaultConstraints")):
                if at(constraint, "labelSelector") is not None:
                    selector = (*where, "labelSelector")
                    yield Problem(
                        message="a default constraint cannot have a labelSelector: kube-scheduler exits",
                        steps=selector,
                        help="leave it out",
                        fix=removing(obj, "remove labelSelector", selector),
                    )


@Rule(
    "KS607",
    "schedulername-unserved",
    Severity.WARNING,
    Stage.WAITS,
    RuleSubject.PODS,
    fails="""kubescheduler.config.k8s.io/v1 KubeSchedulerConfiguration
profiles:
- schedulerName: batch
---
v1 Pod web
schedulerName: bathc  # <-
""",
    repair={"bathc": "batch"},
)
def scheduler_name_unserved(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The pods name a scheduler that no profile of the manifest set's scheduler configuration serves.

    The rule runs only if the manifest set has a scheduler configuration: other schedulers, such as yunikorn or volcano,
    have none.

    The API server accepts the object, and the pods stay pending: no scheduler schedules them.

    Repair: the schedulerName of a profile.
    """
    name = text(pods.spec.get("schedulerName"))
    if not name or name == DEFAULT_SCHEDULER or not is_rendered(name):
        return
    configs = context.manifests.seen_from(pods.obj, CONFIG)
    served = [scheduler_name(profile) for config in configs for _, profile in profiles(config)]
    if configs and name not in served:
        yield Problem(
            message=f"no profile has schedulerName {name}; profiles: {listed(served) or 'none'}",
            steps=pods.of_spec("schedulerName"),
            help="use the schedulerName of a profile",
            related=(Related(configs[0], ("profiles",), "the configuration"),),
        )
