"""Validation of the metadata of objects and templates (apimachinery ``objectmeta``)."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from kschedctl.objects import field_errors
from kschedctl.objects.names import label_problems, path_segment_problems, qualified_name_problems
from kschedctl.objects.validation.values import Found, Tree, invalid_findings, labels, not_negative

#: A function that returns the problems of a name.
NameRule = Callable[[str], Iterable[str]]
_METADATA: Final = "metadata"
_MOST_ANNOTATION_BYTES: Final = 256 * 1024
_LONGEST_PREFIX: Final = 58
#: A stand-in for the random suffix that is appended to ``generateName``.
_SUFFIX: Final = "xxxxx"
_ORPHAN: Final = "orphan"
_FOREGROUND: Final = "foregroundDeletion"
_STANDARD_FINALIZERS: Final = frozenset({"kubernetes", _ORPHAN, _FOREGROUND})
_GO_NAMES: Final = {"uid": "uID"}


def object_metadata(
    metadata: Tree, name_rule: NameRule, *, namespaced: bool, known_finalizers: bool = True, prefix_checked: bool = True
) -> Found:
    """Yield the problems of a new object's metadata; without a name, the name is generated from ``generateName``.

    Args:
        name_rule: A function that returns the problems of a name of the kind.
        namespaced: True if the kind is namespaced; an object without a namespace is created in that of the request.
        prefix_checked: True if ``generateName`` is validated in addition to the name generated from it.
        known_finalizers: True if a finalizer without a domain must be one of Kubernetes' own.
    """
    prefix = metadata.get("generateName", "")
    if prefix and prefix_checked:
        if name_rule is path_segment_problems:
            # The names "." and ".." are invalid only as whole names, not as prefixes.
            masked = f"{prefix}a"
        else:
            masked = f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix
        yield from invalid_findings(name_rule(masked), prefix, f"{_METADATA}.generateName")
    name = metadata.get("name", "")
    if name:
        yield from invalid_findings(name_rule(name), name, f"{_METADATA}.name")
    elif prefix:
        # The random suffix never causes a problem.
        made = f"{prefix[:_LONGEST_PREFIX]}{_SUFFIX}"
        yield from invalid_findings(name_rule(made), made, f"{_METADATA}.name")
    else:
        yield field_errors.required(f"{_METADATA}.name", "name or generateName is required")
    namespace = metadata.get("namespace", "")
    if namespace and namespaced:
        yield from invalid_findings(label_problems(namespace), namespace, f"{_METADATA}.namespace")
    yield from not_negative(metadata.get("generation", 0), f"{_METADATA}.generation")
    if "labels" in metadata:
        yield from labels(metadata["labels"], f"{_METADATA}.labels")
    if "annotations" in metadata:
        yield from annotations_given(metadata["annotations"], f"{_METADATA}.annotations")
    if "ownerReferences" in metadata:
        yield from _owners(metadata["ownerReferences"], f"{_METADATA}.ownerReferences")
    finalizers = metadata.get("finalizers", ())
    path = f"{_METADATA}.finalizers"
    for finalizer in finalizers:
        yield from invalid_findings(qualified_name_problems(finalizer), finalizer, path)
    if _ORPHAN in finalizers and _FOREGROUND in finalizers:
        problem = f"finalizer {_ORPHAN} and {_FOREGROUND} cannot be both set"
        yield field_errors.invalid(path, finalizers, problem)
    for i, finalizer in enumerate(finalizers if known_finalizers else ()):
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            problem = "name is neither a standard finalizer name nor is it fully qualified"
            yield field_errors.invalid(f"{path}[{i}]", finalizer, problem)


def annotations_given(values: Mapping[str, str], path: str) -> Found:
    """Yield the problems of the annotations' keys, and of their total size if it exceeds 256 KiB."""
    for key in values:
        yield from invalid_findings(qualified_name_problems(key.lower()), key, path)
    size = sum(len(key.encode(errors="replace")) + len(value.encode(errors="replace")) for key, value in values.items())
    if size > _MOST_ANNOTATION_BYTES:
        yield field_errors.too_long(path, _MOST_ANNOTATION_BYTES)


def claim_template_metadata(metadata: Tree, path: str) -> Found:
    """Yield the problems of the metadata of a claim template, which can contain only labels and annotations."""
    yield from annotations_given(metadata.get("annotations", {}), f"{path}.annotations")
    yield from labels(metadata.get("labels", {}), f"{path}.labels")
    for key in _IN_GO:
        if metadata.get(key):
            yield field_errors.forbidden(f"{path}.{_GO_NAMES.get(key, key)}", "cannot be set")


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


def _owners(owners: list[Tree], path: str) -> Found:
    controller = ""
    for owner in owners:
        api_version, kind = owner.get("apiVersion", ""), owner.get("kind", "")
        if not api_version.rpartition("/")[2] or api_version.count("/") > 1:
            yield field_errors.invalid(f"{path}.apiVersion", api_version, "version must not be empty")
        for name in ("kind", "name", "uid"):
            if not owner.get(name):
                yield field_errors.invalid(f"{path}.{name}", "", "must not be empty")
        if owner.get("controller"):
            current = f"{kind}/{owner.get('name', '')}"
            if controller:
                problem = (
                    'Only one reference can have Controller set to true. Found "true" in references for '
                    f"{controller} and {current}"
                )
                yield field_errors.invalid(path, [_printed_owner(each) for each in owners], problem)
            else:
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
