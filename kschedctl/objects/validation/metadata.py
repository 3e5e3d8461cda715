"""Validation of the metadata of objects and templates (apimachinery ``objectmeta``)."""

from collections.abc import Callable, Iterable
from typing import Final

from kschedctl.objects.names import label_problems, path_segment_problems, qualified_name_problems
from kschedctl.objects.validation.part import Part
from kschedctl.objects.validation.values import Tree, labels

#: A function that returns the problems of a name.
NameRule = Callable[[str], Iterable[str]]


def no_problems(name: str) -> tuple[str, ...]:
    """Return no problems: the rule of a name that is checked elsewhere."""
    return ()


_MOST_ANNOTATION_BYTES: Final = 256 * 1024
_LONGEST_PREFIX: Final = 58
#: A stand-in for the random suffix that is appended to ``generateName``.
_SUFFIX: Final = "xxxxx"
_ORPHAN: Final = "orphan"
_FOREGROUND: Final = "foregroundDeletion"
_STANDARD_FINALIZERS: Final = frozenset({"kubernetes", _ORPHAN, _FOREGROUND})
_GO_NAMES: Final = {"uid": "uID"}


def object_metadata(
    metadata: Part, name_rule: NameRule, *, namespaced: bool, known_finalizers: bool = True, prefix_checked: bool = True
) -> None:
    """Check a new object's metadata; without a name, the name is generated from ``generateName``.

    Args:
        name_rule: A function that returns the problems of a name of the kind.
        namespaced: True if the kind is namespaced; an object without a namespace is created in that of the request.
        prefix_checked: True if ``generateName`` is validated in addition to the name generated from it.
        known_finalizers: True if a finalizer without a domain must be one of Kubernetes' own.
    """
    prefix = metadata.get("generateName")
    if prefix and prefix_checked:
        if name_rule is path_segment_problems:
            # The names "." and ".." are invalid only as whole names, not as prefixes.
            masked = f"{prefix}a"
        else:
            masked = f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix
        for problem in name_rule(masked):
            metadata["generateName"].invalid(problem)
    object_name(metadata).require("name or generateName is required", name_rule)
    if namespaced:
        metadata["namespace"].nonempty.check(label_problems)
    metadata["generation"].not_negative()
    labels(metadata["labels"])
    annotations_given(metadata["annotations"])
    _check_owners(metadata["ownerReferences"])
    finalizers = metadata["finalizers"]
    for finalizer in finalizers.value or ():
        finalizers.with_value(finalizer).check(qualified_name_problems)
    if {_ORPHAN, _FOREGROUND} <= {*(finalizers.value or ())}:
        finalizers.invalid(f"finalizer {_ORPHAN} and {_FOREGROUND} cannot be both set")
    for each in finalizers if known_finalizers else ():
        if "/" not in each.value and each.value not in _STANDARD_FINALIZERS:
            each.invalid("name is neither a standard finalizer name nor is it fully qualified")


def object_name(metadata: Part) -> Part:
    """Return the name of an object, also if it is generated from ``generateName``."""
    prefix, name = metadata.get("generateName"), metadata["name"].nonempty
    # The random suffix never causes a problem.
    return name.with_value(f"{prefix[:_LONGEST_PREFIX]}{_SUFFIX}") if prefix and not name else name


def annotations_given(values: Part) -> None:
    """Check the annotations' keys, and their total size, which must not exceed 256 KiB."""
    for key in values.value or ():
        for problem in qualified_name_problems(key.lower()):
            values.invalid(problem, key)
    check_size(values)


def check_size(values: Part) -> None:
    """Check the total size of annotations, which must not exceed 256 KiB."""
    texts = (text for pair in (values.value or {}).items() for text in pair)
    if sum(len(text.encode(errors="replace")) for text in texts) > _MOST_ANNOTATION_BYTES:
        values.too_long(_MOST_ANNOTATION_BYTES)


def claim_template_metadata(metadata: Part) -> None:
    """Check the metadata of a claim template, which can contain only labels and annotations."""
    annotations_given(metadata["annotations"])
    labels(metadata["labels"])
    for key in _IN_GO:
        if metadata[key]:
            metadata[_GO_NAMES.get(key, key)].forbidden("cannot be set")


#: The other fields of metadata, in the order of the Go struct.
_IN_GO: Final = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "ownerReferences",
    "finalizers",
    "managedFields",
)


def _check_owners(owners: Part) -> None:
    controller = ""
    # The messages do not contain the owner's index.
    for owner in map(owners.with_value, owners.value or ()):
        version, kind = owner.at("apiVersion", ""), owner.get("kind")
        if not version.value.rpartition("/")[2] or version.value.count("/") > 1:
            version.invalid("version must not be empty")
        for name in ("kind", "name", "uid"):
            if not owner[name]:
                owner[name].invalid("must not be empty", "")
        current = f"{kind}/{owner.get('name')}"
        if controller and owner["controller"]:
            problem = 'Only one reference can have Controller set to true. Found "true" in references for'
            owners.invalid(f"{problem} {controller} and {current}", [_printed_owner(each) for each in owners.value])
        elif owner["controller"]:
            controller = current


def _printed_owner(owner: Tree) -> Tree:
    """Return an owner reference with the fields that messages print."""
    names = ("apiVersion", "kind", "name", "uid")
    given = {name: owner[name] for name in ("controller", "blockOwnerDeletion") if name in owner}
    return {name: owner.get(name, "") for name in names} | given


def with_labels(metadata: Tree, labels_of_template: dict[str, str] | None) -> Tree:
    """Return the metadata of an object, with its template's labels if it has none itself."""
    if not labels_of_template or metadata.get("labels"):
        return metadata
    return {**metadata, "labels": labels_of_template}
