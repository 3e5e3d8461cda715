"""Trees of groups: CompositePodGroups, and the groups that name them as their parent."""

from collections.abc import Iterator
from typing import Final

from kschedctl.common.findings import Severity
from kschedctl.common.wording import counted, nearest
from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import setting
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.related_objects import POD_GROUP, computed_priority, gates_are_known
from kschedctl.linter.rule import Problem, Related, Rule, RuleSubject, Stage
from kschedctl.linter.values import Steps, at, is_rendered, mapping, text, whole
from kschedctl.objects.releases.release import RELEASES
from kschedctl.objects.releases.rules import COMPOSITE_POD_GROUP, GENERIC_WORKLOAD, TOPOLOGY_AWARE

_COMPOSITE: Final = "scheduling.k8s.io/CompositePodGroup"
_GROUPS: Final = (POD_GROUP, _COMPOSITE)
_PARENT: Final[Steps] = ("spec", "parentCompositePodGroupName")
_POLICY: Final[Steps] = ("spec", "schedulingPolicy")
_MODE: Final[Steps] = ("spec", "disruptionMode")
_MIN_GROUP_COUNT: Final[Steps] = (*_POLICY, "gang", "minGroupCount")
#: The most groups above a PodGroup.
_MOST_ABOVE: Final = 3

_WITH_TREES: Final = {
    "release": RELEASES["1.38"].with_features({GENERIC_WORKLOAD: True, TOPOLOGY_AWARE: True, COMPOSITE_POD_GROUP: True})
}


def _has_trees(context: LintContext) -> bool:
    """Report whether groups are scheduled in trees, as far as the gates are known."""
    release = context.release
    return COMPOSITE_POD_GROUP in release.features and (
        release.enabled(COMPOSITE_POD_GROUP) or not gates_are_known(context)
    )


def _parent_name(group: LintObject) -> str:
    """Return the name of a group's parent; empty if there is none, the name has a placeholder, or it is no group."""
    name = text(at(group.raw, *_PARENT)) if group.type in _GROUPS else ""
    return name if is_rendered(name) else ""


def _children(group: LintObject, context: LintContext) -> list[LintObject]:
    every = (each for kind in _GROUPS for each in context.manifests.beside(group, kind))
    return [each for each in every if _parent_name(each) == group.name]


@Rule(
    "KS707",
    "parent-group-not-given",
    Severity.ERROR,
    Stage.WAITS,
    RuleSubject.OBJECT,
    on=False,
    if_complete=True,
    fails="""scheduling.k8s.io/v1beta1 PodGroup workers
parentCompositePodGroupName: jbo  # <-
schedulingPolicy: {gang: {minCount: 4}}
---
scheduling.k8s.io/v1beta1 CompositePodGroup job
schedulingPolicy: {gang: {minGroupCount: 1}}
""",
    repair={"jbo": "job"},
    options=_WITH_TREES,
)
def parent_group_not_given(group: LintObject, context: LintContext) -> Iterator[Problem]:
    """A group names a parent CompositePodGroup that is neither in the manifest set nor in the snapshot.

    Until the parent exists, the scheduler considers no pod of the group. The parent may be in other files, or a controller
    may create it. Therefore the rule runs only if the settings declare the manifest set complete (``complete: true``), with
    a snapshot, or if it is selected. A parent of another namespace does not count.

    The API server accepts the group, and its pods stay pending.

    Repair: add the CompositePodGroup, or name an existing one of the namespace; the field cannot change later.
    """
    name = _parent_name(group)
    if not name or not _has_trees(context) or context.manifests.named(group, _COMPOSITE, name) is not None:
        return
    if context.overlay is not None:
        found = context.overlay.has_object(_COMPOSITE, name, group.namespace)
        if found is None:
            context.cannot_decide("KS707", group, "the snapshot has no CompositePodGroup")
        if found is not False:
            return
    if context.may_be_elsewhere("KS707", group):
        return
    near = nearest(name, {each.name for each in context.manifests.beside(group, _COMPOSITE)})
    yield Problem(
        message=f"CompositePodGroup {name} does not exist"
        + (f" in namespace {group.namespace}" if group.namespace else ""),
        steps=_PARENT,
        help=f"did you mean {near}?" if near else "add the CompositePodGroup, or name an existing one",
    )


@Rule(
    "KS708",
    "min-group-count-out-of-reach",
    Severity.ERROR,
    Stage.WAITS,
    _COMPOSITE,
    if_complete=True,
    on=False,
    fails="""scheduling.k8s.io/v1beta1 CompositePodGroup job
schedulingPolicy:
  gang:
    minGroupCount: 2  # <-
---
scheduling.k8s.io/v1beta1 PodGroup workers
parentCompositePodGroupName: job
schedulingPolicy: {gang: {minCount: 4}}
""",
    repair={"minGroupCount: 2": "minGroupCount: 1"},
    options=_WITH_TREES,
)
def min_group_count_out_of_reach(group: LintObject, context: LintContext) -> Iterator[Problem]:
    """A CompositePodGroup requires more groups than name it as their parent.

    The scheduler considers no pod of the tree before ``minGroupCount`` of the groups below have the pods that they need.
    The groups may be in other files, or a controller may create them. Therefore the rule runs only if the settings declare
    the manifest set complete (``complete: true``), with a snapshot, or if it is selected. It reports nothing if a
    controller owns the group.

    The API server accepts the objects, and all pods of the tree stay pending ("waiting for compositepodgroup/NAMESPACE/NAME
    to meet its quorum").

    Repair: a lower minGroupCount, or more groups with the parent.
    """
    wanted = whole(at(group.raw, *_MIN_GROUP_COUNT))
    if wanted is None or not _has_trees(context) or at(group.raw, "metadata", "ownerReferences"):
        return
    own = {(each.type, each.name) for each in _children(group, context)}
    stored = context.overlay.groups_below(group.name, group.namespace) if context.overlay is not None else set()
    exist = len(own | stored)
    if exist >= wanted or context.manifests.is_variant(group) or context.may_be_elsewhere("KS708", group):
        return
    yield Problem(
        message=f"minGroupCount is {wanted}, and {counted(exist, 'group')} {'names' if exist == 1 else 'name'} "
        f"{group.name} as the parent",
        steps=_MIN_GROUP_COUNT,
        help="lower minGroupCount, or add groups with this parent",
        fix=setting(group, f"set minGroupCount: {exist}", (_MIN_GROUP_COUNT, exist), safe=False) if exist else None,
    )


@Rule(
    "KS709",
    "groups-of-tree-differ",
    Severity.ERROR,
    Stage.WAITS,
    RuleSubject.OBJECT,
    fails="""scheduling.k8s.io/v1beta1 CompositePodGroup job
schedulingPolicy: {gang: {minGroupCount: 1}}
---
scheduling.k8s.io/v1beta1 PodGroup workers
parentCompositePodGroupName: job
schedulingPolicy:
  basic: {}  # <-
""",
    repair={"basic: {}": "gang: {minCount: 4}"},
    options=_WITH_TREES,
)
def groups_of_tree_differ(group: LintObject, context: LintContext) -> Iterator[Problem]:
    """A group does not agree with the group above it, so that its tree is never tried.

    All groups of a tree must be of one Workload (``workloadRef.workloadName``) and have one priority and preemption
    policy. Below a gang there must be gangs, below a group that is evicted as a whole (``disruptionMode: all``) only such groups, and above a PodGroup
    at most three CompositePodGroups. The rule reports nothing about a priority class that is neither in the manifest set
    nor in the snapshot.

    The API server accepts the objects, and all pods of the tree stay pending with a CompositePodGroupError.

    Repair: the same value as in the parent, or another parent.
    """
    name = _parent_name(group)
    parent = context.manifests.named(group, _COMPOSITE, name) if name else None
    if parent is None or not _has_trees(context) or group.partial or parent.partial:
        return
    for message, own, other, advice in _differences(group, parent, context):
        yield Problem(
            message=message,
            steps=own,
            help=advice,
            related=(Related(parent, other if at(parent.raw, *other) is not None else ("spec",), "the parent"),),
        )
    above: list[LintObject] = []
    here: LintObject | None = parent
    while here is not None and here not in above:
        above.append(here)
        next_name = _parent_name(here)
        here = context.manifests.named(here, _COMPOSITE, next_name) if next_name else None
    if here is not None:
        yield Problem(
            message=f"{group.name} is below a group that is below itself", steps=_PARENT, help="break the circle"
        )
    elif group.type == POD_GROUP and len(above) > _MOST_ABOVE:
        yield Problem(
            message=f"{len(above)} CompositePodGroups are above the PodGroup, and at most {_MOST_ABOVE} may be",
            steps=_PARENT,
            help="name a CompositePodGroup that is higher in the tree as the parent",
        )


def _differences(
    group: LintObject, parent: LintObject, context: LintContext
) -> Iterator[tuple[str, Steps, Steps, str]]:
    """Yield what a group and its parent disagree on: the problem, the paths in the group and the parent, and advice."""
    workload: Steps = ("spec", "workloadRef", "workloadName")
    own, other = (text(at(each.raw, *workload)) for each in (group, parent))
    if own != other and is_rendered(own) and is_rendered(other):
        shown, above = (name or "none" for name in (own, other))
        steps = workload if own else ("spec",)
        yield f"Workload {shown} differs from Workload {above} of its parent", steps, workload, "name one Workload"
    specs = [mapping(each.raw.get("spec")) for each in (group, parent)]
    classes = [text(spec.get("priorityClassName")) for spec in specs]
    if classes[0] != classes[1]:
        found = [computed_priority(spec, each, context) for spec, each in zip(specs, (group, parent), strict=True)]
        values = [each.value for each in found if each is not None and each.value is not None]
        if len(values) == len(found) and values[0] != values[1]:
            steps = ("spec", "priorityClassName") if classes[0] else ("spec",)
            message = f"priority {values[0]} differs from priority {values[1]} of its parent"
            yield message, steps, ("spec", "priorityClassName"), "write one priorityClassName in all groups of the tree"
    field: Steps = ("spec", "preemptionPolicy")
    policies = [text(at(each.raw, *field)) for each in (group, parent)]
    if all(policies) and policies[0] != policies[1]:
        message = f"preemptionPolicy {policies[0]} differs from {policies[1]} of its parent"
        yield message, field, field, "write one preemptionPolicy in all groups of the tree"
    gang: Steps = (*_POLICY, "gang")
    if at(parent.raw, *gang) is not None and at(group.raw, *_POLICY, "basic") is not None:
        message = f"the basic policy is not possible below {parent.name}, which is a gang"
        yield message, (*_POLICY, "basic"), gang, "write the gang policy here, or the basic policy in the parent"
    if at(parent.raw, *_MODE, "all") is not None and at(group.raw, *_MODE, "all") is None:
        message = f"{parent.name} is evicted as a whole, and this group below it is not"
        steps = (*_MODE, "single") if at(group.raw, *_MODE, "single") is not None else ("spec",)
        yield message, steps, (*_MODE, "all"), "write disruptionMode: {all: {}} here"
