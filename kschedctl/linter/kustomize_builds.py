"""Builds of kustomizations: the objects that they list, with what they change, as far as that is known.

A build applies patches, labels, annotations, namespaces, replicas and replacements. It does not change names: a prefix
is added to an object's name and to all references alike. Objects of generators and of remote bases are not known.
"""

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from kschedctl.common.errors import InputError
from kschedctl.linter.kustomization import RESOURCE_FIELDS, listed_paths, normal_path, read_from_disk
from kschedctl.linter.lint_files import LintFile, read_text
from kschedctl.linter.patches import (
    ANNOTATIONS,
    OBJECT_LABELS,
    SELECTOR_LABELS,
    TEMPLATE_LABELS,
    FieldSpec,
    PatchError,
    is_built_in,
    json_patched,
    merged,
    with_field,
    with_pairs,
)
from kschedctl.linter.values import at, items, mapping, text, why_partial
from kschedctl.objects.selectors import matches, parse_label_query

#: The value of a field for which kustomizations set different values, or a value that is not known.
UNKNOWN: Final = "$(SET_BY_KUSTOMIZATION)"
#: The fields of which the value of the first build counts if builds differ: they relate objects to each other alike.
_IDENTITY: Final = frozenset(
    ("apiVersion", "kind", "metadata", "labels", "matchLabels", "annotations", "selector", "image", "args", "env")
)
#: The fields, and the lists whose items, an object has if one build has them: none excludes what is beside it.
_ADDITIONS: Final = frozenset(
    "nodeSelector affinity tolerations topologySpreadConstraints resources requests limits containers initContainers "
    "volumes".split()
)
#: Kinds without a namespace, besides those that begin with Cluster; other kinds are not related by namespaces.
_CLUSTER_SCOPED: Final = frozenset(
    "Namespace Node PersistentVolume StorageClass PriorityClass RuntimeClass IngressClass CSIDriver CSINode APIService "
    "CustomResourceDefinition MutatingWebhookConfiguration ValidatingWebhookConfiguration VolumeAttachment "
    "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding NodePool DeviceClass ResourceSlice".split()
)
#: The most objects of a build: bases that are listed by several ways multiply.
_MOST: Final = 10_000
#: The transformers of files that are modelled, with the field that has the labels or annotations.
_TRANSFORMERS: Final = {"LabelTransformer": "labels", "AnnotationsTransformer": "annotations"}
_REPLICATED: Final = ("Deployment", "ReplicationController", "ReplicaSet", "StatefulSet")
_PART: Final = re.compile(r"\[[^\]]*\]|(?:\\.|[^.\[\\])+")


class Resource(NamedTuple):
    """An object during a build."""

    #: The number of the object of the manifest set.
    source: int
    raw: dict[str, Any]
    #: The names and kinds by which patches select the object: as written, and as changed since, the present one last.
    names: tuple[str, ...]
    kinds: frozenset[str]
    #: True if a patch was applied.
    patched: bool = False
    #: The files of the kustomizations that changed the object.
    changed_by: tuple[str, ...] = ()


class Built(NamedTuple):
    """An object as kustomizations build it; a field for which they differ is `UNKNOWN`."""

    raw: dict[str, Any]
    #: True if the builds are known completely, and no patch was applied: what is missing stays missing.
    final: bool
    #: The files of the kustomizations that change the object.
    changed_by: tuple[str, ...] = ()


@dataclass(slots=True)
class _Build:
    resources: list[Resource]
    #: True if the kustomization has parts that are not modelled or not read.
    opaque: bool = False


class _Patch(NamedTuple):
    """A patch: a mapping, or the operations of a JSON patch."""

    value: Any
    target: Mapping[str, Any]
    #: True if the patch may change the kind and the name.
    renames: bool = False


@dataclass(eq=False)
class Builds:
    """The builds of all kustomizations.

    Args:
        kustomizations: The kustomizations, by their folders.
        files: The files of the run, by their paths.
        sources: The numbers and values of the objects of each file, by the path of the file.
    """

    kustomizations: Mapping[str, LintFile]
    files: Mapping[str, LintFile]
    sources: Mapping[str, Sequence[tuple[int, dict[str, Any]]]]
    #: The folders of the kustomizations and components that are being built.
    _open: list[str] = field(default_factory=list)
    _listed: set[int] = field(default_factory=set)
    _built: dict[str, _Build] = field(default_factory=dict)
    _read: dict[str, Sequence[Any] | None] = field(default_factory=dict)

    def objects(self) -> dict[int, Built | None]:
        """Return the objects that kustomizations list, by number, as those build them that no other one lists.

        The value of an object that all of them delete is ``None``.
        """
        listed = {path for folder in self.kustomizations for path in self._entries(folder) if path != folder}
        roots = [folder for folder in self.kustomizations if folder not in listed]
        builds = sorted(((self._build(folder), folder) for folder in roots), key=_by_size)
        variants: dict[int, list[tuple[Resource, bool]]] = defaultdict(list)
        for build, _ in builds:
            for resource in build.resources:
                variants[resource.source].append((resource, build.opaque))
        return {source: _common(variants[source]) if source in variants else None for source in self._listed}

    def resources(self, folder: str) -> Sequence[Resource]:
        """Return the objects that the kustomization of a folder builds."""
        return self._build(folder).resources

    def _entries(self, folder: str) -> Iterator[str]:
        return listed_paths(self.kustomizations[folder], RESOURCE_FIELDS)

    def _build(self, folder: str) -> _Build:
        if folder not in self._built:
            # A kustomization that lists itself builds nothing there.
            self._built[folder] = _Build([])
            self._built[folder] = self._changed(folder, _Build([]))
        return self._built[folder]

    def _changed(self, folder: str, build: _Build) -> _Build:
        """Return a build with the objects and the changes of a kustomization or component."""
        file = self.kustomizations[folder]
        self._open.append(folder)
        # A run of a few files, as before a commit, does not see the overlays.
        out = _Build(list(build.resources), build.opaque or normal_path(file.name) not in self.files)
        for path in listed_paths(file, ("resources", "bases")):
            if path in self.kustomizations:
                inner = self._build(path)
                out.resources += inner.resources
                out.opaque |= inner.opaque
            else:
                own = self.sources.get(path, ())
                out.resources += (_resource(number, raw) for number, raw in own)
                self._listed.update(number for number, _ in own)
        for path in listed_paths(file, ("components",)):
            if path in self.kustomizations and path not in self._open:
                out = self._changed(path, out)
            else:
                out.opaque = True
        before = {id(resource.raw) for resource in out.resources}
        for document in file.documents:
            self._transform(out, mapping(document.value), folder)
        out.resources = [
            each if id(each.raw) in before else each._replace(changed_by=(*each.changed_by, file.name))
            for each in out.resources
        ]
        if len(out.resources) > _MOST:
            del out.resources[_MOST:]
            out.opaque = True
        self._open.pop()
        return out

    def _transform(self, out: _Build, fields: Mapping[str, Any], folder: str) -> None:
        """Apply the changes of a kustomization in the order of Kustomize (kusttarget_configplugin.go)."""
        for entry in items(fields.get("patchesStrategicMerge")):
            self._patch(out, {"path" if "\n" not in text(entry) else "patch": entry}, folder)
        for entry in items(fields.get("patches")):
            self._patch(out, entry, folder)
        for i, resource in enumerate(out.resources):
            out.resources[i] = _with_names(resource, fields)
        for label in items(fields.get("labels")):
            _add_pairs(out, at(label, "pairs"), [*_label_specs(label), *map(_field_spec, items(at(label, "fields")))])
        _add_pairs(out, fields.get("commonLabels"), SELECTOR_LABELS)
        _add_pairs(out, fields.get("commonAnnotations"), ANNOTATIONS)
        for entry in items(fields.get("patchesJson6902")):
            self._patch(out, entry, folder)
        for entry in items(fields.get("replicas")):
            for i, resource in enumerate(out.resources):
                if text(at(entry, "name")) in resource.names and resource.raw.get("kind") in _REPLICATED:
                    out.resources[i] = _with_value(resource, ("spec", "replicas"), at(entry, "count"))
        for entry in items(fields.get("replacements")):
            path = text(at(entry, "path"))
            values = self._values(os.path.join(folder, path)) if path else [entry]
            out.opaque |= values is None
            for each in (each for value in values or () for each in (value if isinstance(value, list) else [value])):
                _replace(out, mapping(each))
        for name in items(fields.get("transformers")):
            self._transform_by(out, self._values(os.path.join(folder, text(name))))

    def _transform_by(self, out: _Build, transformers: Sequence[Any] | None) -> None:
        """Apply the transformers of a file: those of labels and annotations."""
        for each in transformers if transformers is not None else (None,):
            pairs = mapping(each).get(_TRANSFORMERS.get(text(at(each, "kind")), ""))
            _add_pairs(out, pairs, [_field_spec(spec) for spec in items(at(each, "fieldSpecs"))])
            out.opaque |= pairs is None

    def _patch(self, out: _Build, entry: Any, folder: str) -> None:
        path, inline = text(at(entry, "path")), text(at(entry, "patch"))
        values = self._values(os.path.join(folder, path)) if path else _texts_as_values(inline)
        if values is None:
            out.opaque = True
            return
        options = mapping(at(entry, "options"))
        renames = bool(options.get("allowNameChange") or options.get("allowKindChange"))
        for value in values:
            out.resources = list(_patched(out, _Patch(value, mapping(at(entry, "target")), renames)))

    def _values(self, name: str) -> Sequence[Any] | None:
        """Return the values of a file's documents, of the run or from disk; ``None`` if it cannot be read."""
        path = normal_path(name)
        if path not in self._read:
            file = self.files.get(path) or read_from_disk(path)
            broken = file is None or any(document.broken is not None for document in file.documents)
            self._read[path] = None if file is None or broken else [document.value for document in file.documents]
        return self._read[path]


def _by_size(build: tuple[_Build, str]) -> tuple[int, str]:
    return -len(build[0].resources), build[1]


def _resource(number: int, raw: dict[str, Any]) -> Resource:
    name, kind = text(at(raw, "metadata", "name")), text(raw.get("kind"))
    return Resource(number, raw, (name,), frozenset((kind,)))


def _texts_as_values(inline: str) -> Sequence[Any] | None:
    documents = read_text(inline.encode(errors="replace"), "patch").documents
    return None if any(each.broken is not None for each in documents) else [each.value for each in documents]


def _with_value(resource: Resource, path: Sequence[str], value: Any) -> Resource:
    return resource._replace(raw=with_field(resource.raw, path, lambda _: value, create=True))


def _with_names(resource: Resource, fields: Mapping[str, Any]) -> Resource:
    """Return an object in the namespace of a kustomization; its names with prefix and suffix select it from now on."""
    prefix, suffix, namespace = (text(fields.get(key)) for key in ("namePrefix", "nameSuffix", "namespace"))
    if prefix or suffix:
        resource = resource._replace(names=(*resource.names, f"{prefix}{resource.names[-1]}{suffix}"))
    kind = text(resource.raw.get("kind"))
    if namespace and kind not in _CLUSTER_SCOPED and not kind.startswith("Cluster"):
        resource = _with_value(resource, ("metadata", "namespace"), namespace)
    return resource


def _label_specs(label: Any) -> Sequence[FieldSpec]:
    if at(label, "includeSelectors") is True:
        return SELECTOR_LABELS
    return TEMPLATE_LABELS if at(label, "includeTemplates") is True else OBJECT_LABELS


def _field_spec(value: Any) -> FieldSpec:
    group = at(value, "group")
    path = tuple(part.removesuffix("[]") for part in text(at(value, "path")).split("/"))
    return FieldSpec(path, text(at(value, "kind")), text(group) or None, at(value, "create") is True)


def _add_pairs(out: _Build, pairs: Any, specs: Sequence[FieldSpec]) -> None:
    if isinstance(pairs, dict) and pairs:
        out.resources = [each._replace(raw=with_pairs(each.raw, pairs, specs)) for each in out.resources]


def _patched(out: _Build, patch: _Patch) -> Iterator[Resource]:
    """Yield the objects of a build with a patch applied to those that it selects, without those that it deletes."""
    for resource in out.resources:
        if not _is_selected(resource, patch):
            yield resource
        elif isinstance(patch.value, list):
            try:
                raw = json_patched(resource.raw, patch.value)
            except PatchError:
                # Kustomize refuses the patch, or an earlier change is not known.
                out.opaque = True
                raw = resource.raw
            yield _after_patch(resource, raw)
        elif not isinstance(patch.value, dict):
            yield resource
        elif patch.value.get("$patch") != "delete":
            kept = () if patch.renames else ("apiVersion", "kind")
            change = {key: value for key, value in patch.value.items() if key not in kept}
            if not patch.renames:
                own = mapping(change.get("metadata"))
                change["metadata"] = {key: value for key, value in own.items() if key not in ("name", "namespace")}
            merges_lists = is_built_in(text(resource.raw.get("apiVersion")))
            yield _after_patch(resource, merged(resource.raw, change, merges_lists=merges_lists))


def _after_patch(resource: Resource, raw: dict[str, Any]) -> Resource:
    name = text(at(raw, "metadata", "name"))
    names = resource.names if name in resource.names else (*resource.names, name)
    kinds = resource.kinds | {text(raw.get("kind"))}
    return resource._replace(raw=raw, names=names, kinds=kinds, patched=True)


def _is_selected(resource: Resource, patch: _Patch) -> bool:
    raw, target = resource.raw, patch.target
    if not target:
        value = mapping(patch.value)
        namespace = text(at(value, "metadata", "namespace"))
        return (
            text(value.get("kind")) in resource.kinds
            and _group(value) == _group(raw)
            and text(at(value, "metadata", "name")) in resource.names
            and namespace in ("", text(at(raw, "metadata", "namespace")))
        )
    group, version = text(target.get("group")), text(target.get("version"))
    api_version = text(raw.get("apiVersion"))
    return (
        (not group or _fits(group, (_group(raw),)))
        and (not version or _fits(version, (api_version.rpartition("/")[2],)))
        and _fits(text(target.get("kind")), (text(raw.get("kind")),))
        and _fits(text(target.get("name")), resource.names)
        and _fits(text(target.get("namespace")), (text(at(raw, "metadata", "namespace")) or "default",))
        and _fits_query(text(target.get("labelSelector")), at(raw, "metadata", "labels"))
        and _fits_query(text(target.get("annotationSelector")), at(raw, "metadata", "annotations"))
    )


def _group(raw: Mapping[str, Any]) -> str:
    return text(raw.get("apiVersion")).rpartition("/")[0]


def _fits(pattern: str, values: Iterable[str]) -> bool:
    """Report whether an anchored regular expression matches one of some values; an empty one matches all."""
    try:
        return not pattern or any(re.fullmatch(pattern, value) for value in values)
    except re.error:
        return False


def _fits_query(query: str, labels: Any) -> bool:
    try:
        known = {key: value for key, value in mapping(labels).items() if isinstance(value, str)}
        return not query or matches(parse_label_query(query), known)
    except InputError:
        return False


def _replace(out: _Build, replacement: Mapping[str, Any]) -> None:
    """Set the fields of a replacement to the value of its source, or to an unknown value."""
    source = mapping(replacement.get("source"))
    values = [_at_path(each.raw, text(source.get("fieldPath"))) for each in out.resources if _is_chosen(each, source)]
    value = values[0] if len(values) == 1 and values[0] is not None and not source.get("options") else UNKNOWN
    for target in items(replacement.get("targets")):
        select, options = mapping(at(target, "select")), mapping(at(target, "options"))
        rejected = [mapping(each) for each in items(at(target, "reject"))]
        new = UNKNOWN if options.get("delimiter") else value
        for i, resource in enumerate(out.resources):
            if not _is_chosen(resource, select) or any(_is_chosen(resource, each) for each in rejected):
                continue
            paths = (_parts(text(path)) for path in items(at(target, "fieldPaths")) or ("metadata.name",))
            for parts in filter(None, paths):
                raw = _with_path(resource.raw, parts, new, create=options.get("create") is True)
                out.resources[i] = resource = resource._replace(raw=raw, patched=True)


def _is_chosen(resource: Resource, select: Mapping[str, Any]) -> bool:
    return bool(select) and _is_selected(resource, _Patch(None, select))


def _parts(path: str) -> list[str]:
    return [part.replace("\\.", ".") for part in _PART.findall(path)]


def _at_path(raw: Any, path: str) -> Any:
    for part in _parts(path or "metadata.name"):
        if isinstance(raw, list):
            raw = next((each for i, each in enumerate(raw) if _is_item(each, i, part)), None)
        else:
            raw = mapping(raw).get(part.strip("[]"))
    return raw


def _is_item(item: Any, index: int, part: str) -> bool:
    """Report whether a part of a path selects an item of a list: by ``*``, its number, or ``[KEY=VALUE]``."""
    key, equals, value = part.strip("[]").partition("=")
    return str(at(item, key)) == value if equals else key in ("*", str(index))


def _with_path(value: Any, parts: Sequence[str], new: Any, *, create: bool) -> Any:
    if not parts:
        return new
    part, rest = parts[0], parts[1:]
    if isinstance(value, list):
        chosen = [_is_item(each, i, part) for i, each in enumerate(value)]
        pairs = zip(value, chosen, strict=True)
        return [_with_path(each, rest, new, create=create) if of_path else each for each, of_path in pairs]
    key, inner = part.strip("[]"), mapping(value)
    if key not in inner and not create:
        return value
    return {**inner, key: _with_path(inner.get(key), rest, new, create=create)}


def _common(found: Sequence[tuple[Resource, bool]]) -> Built:
    """Return one object for all its builds."""
    complete = [resource.raw for resource, _ in found if not _why_partial(resource.raw)]
    raws = complete or [resource.raw for resource, _ in found]
    final = not any(opaque or resource.patched for resource, opaque in found)
    raw = raws[0]
    for other in raws[1:]:
        raw = _with_differences(raw, other)
    files = dict.fromkeys(file for resource, _ in found for file in resource.changed_by)
    return Built(raw, final, tuple(files))


def _why_partial(raw: Mapping[str, Any]) -> str:
    return why_partial(raw, _group(raw), text(raw.get("apiVersion")), text(raw.get("kind")), may_patch=False)


def _with_differences(value: Any, other: Any, field: str = "") -> Any:
    """Return a value in which scalars that differ from another build are unknown, with what only the other one has."""
    if value is other or value == other:
        return value
    if isinstance(value, dict) and isinstance(other, dict):
        out = dict(value)
        for key in (key for key in {**value, **other} if key not in _IDENTITY):
            one, two = value.get(key), other.get(key)
            if one is None and isinstance(two, dict | list):
                out |= {key: two} if key in _ADDITIONS else {}
            elif not isinstance(one, dict | list):
                out |= {key: UNKNOWN} if one != two else {}
            elif two is not None:
                out[key] = _with_differences(one, two, key)
        return out
    if isinstance(value, list) and isinstance(other, list):
        by_name = {text(name): each for each in other if (name := at(each, "name"))}
        own = {at(each, "name") for each in value}
        same = [_with_differences(each, by_name.get(at(each, "name"), each)) for each in value]
        added = by_name if field in _ADDITIONS else {}
        return [*same, *(each for name, each in added.items() if name not in own)]
    return UNKNOWN
