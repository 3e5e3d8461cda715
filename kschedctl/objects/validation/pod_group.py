"""Validation of PodGroups, Workloads and CompositePodGroups, in each version of scheduling.k8s.io that has them.

Most rules are declared at the fields (``declared``); those between templates of a Workload are functions. An API server
applies the functions first.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, TypeAlias

import msgspec
from msgspec.structs import replace

from kschedctl.common.findings import Finding
from kschedctl.objects.field_errors import OMITTED
from kschedctl.objects.names import label_problems, path_segment_problems, qualified_name_problems, subdomain_problems
from kschedctl.objects.releases.rules import ValidationRules
from kschedctl.objects.validation.metadata import object_metadata
from kschedctl.objects.validation.part import Part
from kschedctl.objects.validation.pod_rejections import FORBIDDEN, PREEMPT, computed_priority
from kschedctl.objects.validation.values import Tree, ValidationContext

# Validation by rules that are declared at the fields of a type (apimachinery's ``validate``), as newer kinds have it.
#
# A type is a table: its fields in the order of the Go struct, each with its check. The table also defines which fields
# an API server drops because their feature gate is off, and how messages print a value of the type.

Check: TypeAlias = Callable[[Part], None]
#: The value of an absent struct that Go holds in place, not by a pointer.
IN_PLACE: Final[Tree] = {}
_UNIT: Final = "bytes"


class Field(msgspec.Struct, frozen=True):
    """A field of a struct."""

    name: str
    check: "Check | Struct | Items"
    #: The value that counts as absent: ``None`` for a pointer or a list, else Go's zero value.
    zero: Any = None
    #: True if the value must be set.
    required: bool = False
    #: The feature gate without which an API server drops the field; empty if none.
    gate: str = ""
    #: True if messages print the field even if it is absent (no ``omitempty``).
    printed: bool = False

    def value(self, tree: Tree) -> Any:
        """Return the field's value in a struct, or ``None`` if it is absent."""
        value = tree.get(self.name, self.zero)
        if self.zero is IN_PLACE:
            return value
        # An empty list counts as absent, while a pointer to an empty struct or text does not.
        return None if value == [] or (self.zero is not None and value == self.zero) else value


class Struct(msgspec.Struct, frozen=True):
    """A type with fields."""

    #: The fields in the order of the Go struct.
    fields: tuple[Field, ...] = ()
    #: The fields of which exactly one must be set; empty if the type is no union.
    union: tuple[str, ...] = ()

    def __call__(self, part: Part) -> None:
        """Check a value of the type."""
        given = [
            field.name for field in self.fields if field.name in self.union and field.value(part.value) is not None
        ]
        members = ", ".join(f"`{name}`" for name in self.union)
        if self.union and not given:
            part.invalid(f"must specify one of: {members}", "")
        elif len(given) > 1:
            part.invalid(f"must specify exactly one of: {members}", f"{{{', '.join(given)}}}")
        for field in self.fields:
            inner = part.child(field.name, field.value(part.value))
            if inner.given:
                field.check(inner)
            elif field.required:
                inner.required()

    def drop_disabled(self, tree: Tree, context: ValidationContext) -> None:
        """Remove the fields whose feature gates are off, as an API server does before validation."""
        for field in self.fields:
            if field.gate and not context.on(field.gate):
                tree.pop(field.name, None)
            elif field.name in tree and isinstance(field.check, Struct | Items):
                field.check.drop_disabled(tree[field.name], context)

    def printed(self, tree: Tree, *, is_internal: bool = False) -> Tree:
        """Return a value as messages print it.

        Args:
            is_internal: True for the API server's internal type: with Go's names and with all fields.
        """
        out = {}
        for field in self.fields:
            value = field.value(tree)
            if value is None and not (is_internal or field.required or field.printed):
                continue
            if value is None:
                value = tree.get(field.name, field.zero)
            elif isinstance(field.check, Struct | Items):
                value = field.check.printed(value, is_internal=is_internal)
            out[field.name[:1].upper() + field.name[1:] if is_internal else field.name] = value
        return out


class Items(msgspec.Struct, frozen=True):
    """A list of structs."""

    #: Returns the type of the items; a function, because a type may contain itself.
    of: Callable[[], Struct]
    #: The maximum number of items; with more, they are not validated.
    most: int
    #: The field that must differ between items; empty if none.
    key: str = ""

    def __call__(self, items: Part) -> None:
        """Check a list."""
        if len(items.value) > self.most:
            items.too_many(self.most)
            return
        struct = self.of()
        names = [item.get(self.key) for item in items] if self.key else []
        for i, item in enumerate(items):
            if names and names[i] in names[:i]:
                item.duplicate(struct.printed(item.value))
        for item in items:
            struct(item)

    def drop_disabled(self, items: list[Tree], context: ValidationContext) -> None:
        """Remove the fields of the items whose feature gates are off."""
        for item in items:
            self.of().drop_disabled(item, context)

    def printed(self, items: list[Tree], *, is_internal: bool = False) -> list[Tree]:
        """Return the items as messages print them."""
        return [self.of().printed(item, is_internal=is_internal) for item in items]


def at_least(least: int) -> Check:
    """Return a check that a number is not below `least`."""
    problem = f"must be greater than or equal to {least}"
    return lambda part: part.check(lambda value: (problem,) if value < least else ())


def at_most(most: int) -> Check:
    """Return a check that a number is not above `most`."""
    problem = f"must be less than or equal to {most}"
    return lambda part: part.check(lambda value: (problem,) if value > most else ())


def any_of(*supported: str) -> Check:
    """Return a check that a text is one of the supported ones."""
    return lambda part: part.one_of(*supported)


def anything(part: Part) -> None:
    """Accept any value."""


def short_name(part: Part) -> None:
    """Check a name that must be a DNS label (no dots)."""
    part.check(label_problems, _UNIT)


def long_name(part: Part) -> None:
    """Check a name that must be a DNS subdomain."""
    part.check(subdomain_problems, _UNIT)


def path_segment(part: Part) -> None:
    """Check a name that must be a segment of an API path."""
    part.check(path_segment_problems)


def label_key(part: Part) -> None:
    """Check a label key."""
    part.check(qualified_name_problems)


_ALPHA_2: Final = "v1alpha2"
_HIGHEST: Final = 1_000_000_000
_MOST_TEMPLATES: Final = 8
_MOST_CLAIMS: Final = 4
_MOST_CONSTRAINTS: Final = 1
#: The number of levels of composite groups that is too much.
_TOO_DEEP: Final = 4
#: The feature gates that API servers drop fields without.
_TOPOLOGY: Final = "TopologyAwareWorkloadScheduling"
_CLAIMS: Final = "DRAWorkloadResourceClaims"
_POLICY: Final = "PodGroupPreemptionPolicy"
_COMPOSITE: Final = "CompositePodGroup"
_PREEMPTION: Final = "WorkloadAwarePreemption"

GIVEN_GROUP_PRIORITY: Final = (
    "priority set in the {} ({}) must match the priority computed ({}) based on the priority class set in the spec"
)
GIVEN_GROUP_POLICY: Final = (
    "the string value of PreemptionPolicy ({}) must not be provided in {} spec; "
    "priority admission controller computed {} from the given PriorityClass name"
)

_CHOSEN: Final = Struct()


def _policy(minimum: str) -> Field:
    gang = Struct((Field(minimum, at_least(1), zero=0, required=True),))
    members = Field("basic", _CHOSEN), Field("gang", gang)
    return Field("schedulingPolicy", Struct(members, union=("basic", "gang")), zero=IN_PLACE)


_CONSTRAINT: Final = Struct((Field("key", label_key, zero="", required=True),))
_CONSTRAINTS: Final = Field(
    "schedulingConstraints", Struct((Field("topology", Items(lambda: _CONSTRAINT, _MOST_CONSTRAINTS)),))
)
_CLAIM: Final = Struct(
    (
        Field("name", short_name, zero="", required=True),
        Field("resourceClaimName", long_name),
        Field("resourceClaimTemplateName", long_name),
    ),
    union=("resourceClaimName", "resourceClaimTemplateName"),
)
_RESOURCE_CLAIMS: Final = Field("resourceClaims", Items(lambda: _CLAIM, _MOST_CLAIMS, key="name"), gate=_CLAIMS)
_MODE: Final = Field(
    "disruptionMode", Struct((Field("single", _CHOSEN), Field("all", _CHOSEN)), union=("single", "all"))
)
_OLD_MODE: Final = Field("disruptionMode", any_of("Pod", "PodGroup"), gate=_PREEMPTION)
_CLASS: Final = Field("priorityClassName", long_name, zero="")
_PRIORITY: Final = Field("priority", at_most(_HIGHEST))
#: As of 1.38, the priority is only that of the class.
_UNLIMITED_PRIORITY: Final = Field("priority", anything)
_PREEMPTION_POLICY: Final = Field("preemptionPolicy", any_of("Never", "PreemptLowerPriority"), gate=_POLICY)
_NAME: Final = Field("name", short_name, zero="", required=True)
_PARENT: Final = Field("parentCompositePodGroupName", long_name)
_WORKLOAD_REF: Final = Field(
    "workloadRef",
    Struct(
        (
            Field("workloadName", long_name, zero="", required=True),
            Field("templateName", short_name, zero="", required=True),
        )
    ),
)
_TEMPLATE_REF: Final = Field(
    "podGroupTemplateRef",
    Struct(
        (
            Field(
                "workload",
                Struct(
                    (
                        Field("workloadName", long_name, zero="", required=True),
                        Field("podGroupTemplateName", short_name, zero="", required=True),
                    )
                ),
            ),
        ),
        union=("workload",),
    ),
)
_CONTROLLER: Final = Field(
    "controllerRef",
    Struct(
        (
            Field("apiGroup", long_name, zero=""),
            Field("kind", path_segment, zero="", required=True),
            Field("name", path_segment, zero="", required=True),
        )
    ),
)
#: The fields that groups and templates share.
_OLD_COMMON: Final = (
    _policy("minCount"),
    replace(_CONSTRAINTS, gate=_TOPOLOGY),
    _RESOURCE_CLAIMS,
    _OLD_MODE,
    replace(_CLASS, gate=_PREEMPTION),
    replace(_PRIORITY, gate=_PREEMPTION),
)
_TEMPLATES: Final = "podGroupTemplates"
_COMPOSITES: Final = "compositePodGroupTemplates"


def _template(common: Iterable[Field]) -> Struct:
    return Struct((_NAME, *(replace(field, printed=field.gate == _TOPOLOGY) for field in common)))


def _templates(template: Struct, *, required: bool = False) -> Field:
    return Field(_TEMPLATES, Items(lambda: template, _MOST_TEMPLATES, key="name"), required=required)


class _Api(msgspec.Struct, frozen=True):
    """The structs of a version of the API."""

    group: Struct
    workload: Struct
    composite_group: Struct = Struct()
    composite_template: Struct = Struct()


def _api(priority: Field) -> _Api:
    """Return the structs of the versions later than v1alpha2, with a field for the priority."""
    common = (
        _policy("minCount"),
        replace(_CONSTRAINTS, gate=_TOPOLOGY),
        _RESOURCE_CLAIMS,
        _MODE,
        _CLASS,
        priority,
        _PREEMPTION_POLICY,
    )
    of_composites = (_policy("minGroupCount"), _CONSTRAINTS, _MODE, _CLASS, priority, _PREEMPTION_POLICY)
    templates = _templates(_template(common))
    composites = Field(_COMPOSITES, Items(lambda: composite, _MOST_TEMPLATES, key="name"), gate=_COMPOSITE)
    composite = Struct((_NAME, *of_composites, templates, composites))
    return _Api(
        group=Struct((replace(_PARENT, gate=_COMPOSITE), _WORKLOAD_REF, *common)),
        workload=Struct((_CONTROLLER, templates, composites), union=(_TEMPLATES, _COMPOSITES)),
        composite_group=Struct((_PARENT, replace(_WORKLOAD_REF, required=True), *of_composites)),
        composite_template=composite,
    )


_OLD_API: Final = _Api(
    group=Struct((_TEMPLATE_REF, *_OLD_COMMON)),
    workload=Struct((_CONTROLLER, _templates(_template(_OLD_COMMON), required=True))),
)
_LIMITED_API: Final = _api(_PRIORITY)
_UNLIMITED_API: Final = _api(_UNLIMITED_PRIORITY)
_NOT_OF_GANG: Final = 'cannot have "all" disruption mode when scheduling policy is other than "gang"'


def _checked_spec(
    tree: Part, context: ValidationContext, version: str, struct: Callable[[_Api], Struct]
) -> tuple[Part, _Api]:
    """Check an object's metadata, and return its spec without the fields whose gates are off, with the API."""
    later = _LIMITED_API if context.rules.priority_of_groups_has_maximum else _UNLIMITED_API
    api = _OLD_API if version == _ALPHA_2 else later
    spec = tree.at("spec", {})
    struct(api).drop_disabled(spec.value, context)
    object_metadata(tree["metadata"], subdomain_problems, namespaced=True)
    return spec, api


def _pod_group(tree: Part, context: ValidationContext, *, version: str) -> None:
    """Check a PodGroup; in a release that does not serve the version, it has no problems."""
    if version not in context.rules.pod_group_versions:
        return
    spec, api = _checked_spec(tree, context, version, lambda api: api.group)
    if version != _ALPHA_2 and _PARENT.name in spec and _WORKLOAD_REF.name not in spec:
        spec[_WORKLOAD_REF.name].required(f"must be set when {_PARENT.name} is set")
    _check_mode(spec, context.rules)
    api.group(spec)


def _composite_pod_group(tree: Part, context: ValidationContext, *, version: str) -> None:
    """Check a CompositePodGroup; in a release that does not serve the version, it has no problems."""
    if version not in context.rules.composite_pod_group_versions:
        return
    spec, api = _checked_spec(tree, context, version, lambda api: api.composite_group)
    _check_mode(spec, context.rules)
    api.composite_group(spec)


def _workload(tree: Part, context: ValidationContext, *, version: str) -> None:
    """Check a Workload; in a release that does not serve the version, it has no problems."""
    rules = context.rules
    if version not in rules.pod_group_versions:
        return
    spec, api = _checked_spec(tree, context, version, lambda api: api.workload)
    if version != _ALPHA_2:
        templates, composites = spec[_TEMPLATES], spec[_COMPOSITES]
        _check_unique_names(composites, {each.get("name") for each in templates})
        for each in composites:
            if _is_too_deep(each.value, 1):
                inside = api.composite_template.printed(each.value, is_internal=True)["CompositePodGroupTemplates"]
                each.invalid(f"maximum template hierarchy depth is {_TOO_DEEP}", inside)
        _check_priorities(spec, rules)
        for each in templates:
            _check_mode(each, rules)
        for each in composites:
            _check_children(each, rules)
    api.workload(spec)


def _check_priorities(spec: Part, rules: ValidationRules) -> None:
    """Check that all templates of a Workload have the same priority, and since 1.38 the same preemption policy."""
    shared: dict[str, str | None] = {"priorityClassName": "", "priority": None}
    problem = "all priority and priorityClassName values must be identical, detected multiple values"
    if rules.templates_share_preemption_policy:
        shared["preemptionPolicy"] = None
        problem = (
            "all priority, priorityClassName, and preemptionPolicy values must be identical, detected multiple values"
        )
    templates = [each.value for each in spec[_TEMPLATES]]
    below = [each for top in spec[_COMPOSITES] for each in _templates_below(top.value)]

    def are_alike(given: Iterable[Tree]) -> bool:
        return len({tuple(each.get(name, absent) for name, absent in shared.items()) for each in given}) <= 1

    if not rules.templates_share_preemption_policy and not are_alike(templates):
        spec.invalid("detected multiple priority configurations", None)
    elif not are_alike([*templates, *below]):
        spec.invalid(problem, None)


def _check_mode(group: Part, rules: ValidationRules) -> None:
    """Check that a group or template without the policy ``gang`` does not have the disruption mode ``all``."""
    if rules.disruption_of_all_needs_gang and _disrupts_all(group) and not _is_gang(group):
        group["disruptionMode"].invalid(_NOT_OF_GANG, OMITTED)


def _is_gang(group: Part) -> bool:
    return "gang" in group["schedulingPolicy"]


def _disrupts_all(group: Part) -> bool:
    return "all" in group["disruptionMode"]


old_pod_group: Final = partial(_pod_group, version=_ALPHA_2)
old_workload: Final = partial(_workload, version=_ALPHA_2)


def pod_group(version: str) -> Any:
    """Return the rule of PodGroups of a version later than v1alpha2."""
    return partial(_pod_group, version=version)


def workload(version: str) -> Any:
    """Return the rule of Workloads of a version later than v1alpha2."""
    return partial(_workload, version=version)


def composite_pod_group(version: str) -> Any:
    """Return the rule of CompositePodGroups of a version."""
    return partial(_composite_pod_group, version=version)


def group_refusals(tree: Tree, kind: str, context: ValidationContext) -> Iterator[Finding]:
    """Yield the rejections of a group by admission, as far as they do not depend on a cluster.

    Args:
        tree: The object. The priority that admission sets is filled in, because it is validated as well.
        kind: The object's kind; kinds without a priority of their own have no rejections.
    """
    noun, gate = priority_words(kind, context.rules)
    if not gate or not context.on(gate):
        return
    spec = tree.setdefault("spec", {})
    value = computed_priority(spec)
    if value is None:
        return
    priority, policy = spec.setdefault("priority", value), spec.get("preemptionPolicy")
    if priority != value:
        yield Finding(GIVEN_GROUP_PRIORITY.format(noun, priority, value), "spec.priority", rule=FORBIDDEN)
    elif policy is not None and policy != PREEMPT and context.on(_POLICY):
        yield Finding(GIVEN_GROUP_POLICY.format(policy, noun, PREEMPT), "spec.preemptionPolicy", rule=FORBIDDEN)


def priority_words(kind: str, rules: ValidationRules) -> tuple[str, str]:
    """Return the noun for a kind of groups in messages, and the gate with which admission sets its priority."""
    match kind:
        case "PodGroup":
            return "pod group", rules.pod_group_priority_gate
        case "CompositePodGroup":
            return "composite pod group", _COMPOSITE
        case _:
            return "", ""


def scheduling_group(group: Part) -> None:
    """Check ``schedulingGroup`` of a pod."""
    name = group["podGroupName"]
    if not name.given:
        name.invalid("must specify one of: `podGroupName`")
    name.check(subdomain_problems)


def _composites(tree: Tree) -> list[Tree]:
    return tree.get(_COMPOSITES) or []


def _check_unique_names(composites: Part, taken: set[str]) -> None:
    """Check that no template elsewhere has the name; equal names in one list are found by the declared rules."""
    _check_not_taken(composites, taken)
    for each in composites:
        _check_not_taken(each[_TEMPLATES], taken)
        _check_unique_names(each[_COMPOSITES], taken)


def _check_not_taken(templates: Part, taken: set[str]) -> None:
    names = [each.at("name", "") for each in templates]
    for name in names:
        if name.value in taken:
            name.duplicate()
    taken |= {name.value for name in names}


def _is_too_deep(composite: Tree, depth: int) -> bool:
    return depth == _TOO_DEEP or any(_is_too_deep(child, depth + 1) for child in _composites(composite))


def _templates_below(composite: Tree) -> Iterator[Tree]:
    """Yield a composite template and all templates below it."""
    yield composite
    yield from composite.get(_TEMPLATES, ())
    for child in _composites(composite):
        yield from _templates_below(child)


def _check_children(composite: Part, rules: ValidationRules) -> None:
    """Check that a composite template has children, and since 1.38 that they do not undo its gang and its mode."""
    composites, templates = composite[_COMPOSITES], composite[_TEMPLATES]
    if not composites and not templates:
        problem = "must have at least one child PodGroupTemplate or CompositePodGroupTemplate"
        composite.invalid(problem, composite.get("name"))
    _check_mode(composite, rules)
    for child in composites:
        _check_child(composite, child, rules)
        _check_children(child, rules)
    for child in templates:
        _check_child(composite, child, rules)
        _check_mode(child, rules)


def _check_child(parent: Part, child: Part, rules: ValidationRules) -> None:
    if not rules.disruption_of_all_needs_gang:
        return
    for name, field, holds in (("gang", "schedulingPolicy", _is_gang), ("all", "disruptionMode", _disrupts_all)):
        if holds(parent) and not holds(child):
            what = f'"{name}" {"scheduling policy" if name == "gang" else "disruption mode"}'
            child[field].invalid(f"must have {what} when parent compositePodGroupTemplate has {what}", OMITTED)
