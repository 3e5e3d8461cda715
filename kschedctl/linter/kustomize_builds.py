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
from kschedctl.linter.values import TEMPLATES, at, group_of, items, mapping, text, why_partial
from kschedctl.objects.defaults import NAMESPACED
from kschedctl.objects.kinds import KINDS
from kschedctl.objects.pod import Pod
from kschedctl.objects.selectors import matches, parse_label_query

#: A value that a kustomization sets and that is not known.
UNKNOWN: Final = "$(SET_BY_KUSTOMIZATION)"
#: The fields in which builds of an object may differ without being different to rules: those that relate objects to
#: each other alike, and those that no rule reads.
_ALIKE: Final = frozenset("metadata labels matchLabels annotations selector image args command env data".split())
#: The most sets of builds that are linted: each costs as much as a run.
_MOST_SETS: Final = 8
_COMPONENT: Final = "Component"
#: The fields of a kustomization that lists other ones and changes nothing.
_LISTING: Final = frozenset(("apiVersion", "kind", "metadata", *RESOURCE_FIELDS[::2]))
#: Kinds without a namespace, besides those that begin with Cluster; other kinds are not related by namespaces.
_CLUSTER_SCOPED: Final = frozenset(
    kind for (_, kind), type_ in KINDS.items() if type_ is not Pod and type_ not in NAMESPACED
) | frozenset(
    "Namespace RuntimeClass IngressClass CSIDriver APIService CustomResourceDefinition MutatingWebhookConfiguration "
    "ValidatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding".split()
)
#: The most objects of a build: bases that are listed by several ways multiply.
_MOST: Final = 10_000
#: The transformers of files that are modelled, with the field that has the labels or annotations.
_TRANSFORMERS: Final = {"LabelTransformer": "labels", "AnnotationsTransformer": "annotations"}
_REPLICATED: Final = ("Deployment", "ReplicationController", "ReplicaSet", "StatefulSet")
_PART: Final = re.compile(r"\[[^\]]*\]|(?:\\.|[^.\[\\])+")


def is_cluster_scoped(kind: str) -> bool:
    """Report whether objects of a kind have no namespace."""
    return kind in _CLUSTER_SCOPED or (kind.startswith("Cluster") and kind != "Cluster")


class Change(NamedTuple):
    """The change of an object by a kustomization."""

    #: The file of the kustomization.
    file: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]


class Resource(NamedTuple):
    """An object during a build."""

    #: The number of the object of the manifest set.
    source: int
    raw: dict[str, Any]
    #: The names, namespaces and kinds by which patches select the object: as written, and as changed since, the present
    #: one last.
    names: tuple[str, ...]
    namespaces: tuple[str, ...]
    kinds: frozenset[str]
    #: The object before the changes of the kustomization that is being built.
    start: dict[str, Any]
    #: The paths of the patches that were applied; empty for those without a file, and for replacements.
    patches: tuple[str, ...] = ()
    #: The changes by kustomizations, in their order.
    changes: tuple[Change, ...] = ()


@dataclass(eq=False, slots=True)
class Built:
    """An object as some kustomizations build it."""

    raw: dict[str, Any]
    #: True if something is missing.
    partial: bool = False
    #: True if the builds are known completely, and no patch was applied: what is missing stays missing.
    final: bool = False
    changes: tuple[Change, ...] = ()
    #: The paths of the patches.
    patches: tuple[str, ...] = ()


@dataclass(slots=True)
class BuildSet:
    """At most one build of each object, by its number: all builds of a kustomization are in one set."""

    builds: dict[int, Built] = field(default_factory=dict)
    #: The files of the kustomizations with these builds.
    by: dict[int, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))

    def fits(self, builds: Mapping[int, Built]) -> bool:
        """Report whether the set has no other builds of some objects."""
        return all(self.builds.get(source, built) is built for source, built in builds.items())


@dataclass(slots=True)
class BuildSets:
    """All builds that are linted, in sets."""

    sets: list[BuildSet] = field(default_factory=list)
    #: The objects that all kustomizations delete.
    deleted: frozenset[int] = frozenset()
    #: The files of the kustomizations that build an object as no set has it.
    left_out: dict[int, dict[str, None]] = field(default_factory=dict)


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
    #: The path of the file; empty if there is none.
    path: str = ""


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

    def objects(self) -> BuildSets:
        """Return the objects that kustomizations list, as those build them that no other one lists."""
        listed = {path for folder in self.kustomizations for path in self._entries(folder) if path != folder}
        roots = self._roots([folder for folder in self.kustomizations if folder not in listed])
        builds = sorted(((self._build(folder), folder) for folder in roots), key=_by_size)
        variants: dict[int, list[Built]] = defaultdict(list)
        open_ended: set[int] = set()
        out = BuildSets()
        for build, folder in builds:
            file = self.kustomizations[folder]
            # A Component is made to be completed by the kustomizations that list it.
            opaque = build.opaque or any(at(each.value, "kind") == _COMPONENT for each in file.documents)
            open_ended.update(each.source for each in build.resources if opaque or each.patches)
            for layer in _layers(build.resources):
                chosen = {each.source: _variant(variants[each.source], each) for each in layer}
                _put(out, chosen, file.name)
        for source, found in variants.items():
            # If one build completes an object, another one is left to a tool that is not known.
            final = source not in open_ended and all(each.partial for each in found)
            for each in found:
                each.final = final
        out.deleted = frozenset(self._listed - variants.keys())
        return out

    def _roots(self, waiting: list[str]) -> Iterator[str]:
        """Yield kustomizations; in place of one that lists several and does nothing else, those that it lists."""
        seen: set[str] = set()
        while waiting:
            folder = waiting.pop()
            if folder in seen:
                continue
            seen.add(folder)
            entries = list(self._entries(folder))
            documents = (mapping(document.value) for document in self.kustomizations[folder].documents)
            changes = any(document.keys() - _LISTING for document in documents)
            if changes or len(entries) < 2 or not all(path in self.kustomizations for path in entries):
                yield folder
            else:
                waiting += entries

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
        out.resources = [each._replace(start=each.raw) for each in out.resources]
        for document in file.documents:
            self._transform(out, mapping(document.value), folder)
        out.resources = [
            each._replace(changes=(*each.changes, Change(file.name, each.start, each.raw)))
            if each.raw is not each.start
            else each
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
                _apply_replacement(out, mapping(each))
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
            patch = _Patch(
                value, mapping(at(entry, "target")), renames, normal_path(os.path.join(folder, path)) if path else ""
            )
            out.resources = list(_patched(out, patch))

    def _values(self, name: str) -> Sequence[Any] | None:
        """Return the values of a file's documents, of the run or from disk; ``None`` if it cannot be read."""
        path = normal_path(name)
        if path not in self._read:
            file = self.files.get(path) or read_from_disk(path)
            broken = file is None or any(document.broken is not None for document in file.documents)
            self._read[path] = None if file is None or broken else [document.value for document in file.documents]
        return self._read[path]


def _layers(resources: Sequence[Resource]) -> Iterator[list[Resource]]:
    """Yield the objects of a build in parts, each with one copy of an object: a build may list a base several times."""
    copies: dict[int, list[Resource]] = defaultdict(list)
    for resource in resources:
        copies[resource.source].append(resource)
    for n in range(max(map(len, copies.values()), default=0)):
        yield [found[n] for found in copies.values() if n < len(found)]


def _variant(found: list[Built], resource: Resource) -> Built:
    """Return the build to which an object is equal as far as rules are concerned; a new one is added to those found."""
    raw = resource.raw
    known = next((each for each in found if each.raw is raw), None)
    if known is None:
        partial, is_read = bool(_why_partial(raw)), _is_read(raw)
        alike = (each for each in found if each.partial == partial and (not is_read or _are_alike(each.raw, raw)))
        known = next(alike, None)
    if known is None:
        known = Built(raw, partial, changes=resource.changes, patches=resource.patches)
        found.append(known)
    return known


def _is_read(raw: Mapping[str, Any]) -> bool:
    """Report whether rules read more of an object than its names."""
    group, kind = _group(raw), text(raw.get("kind"))
    return (group, kind) in KINDS or f"{group}/{kind}" in TEMPLATES


def _are_alike(value: Any, other: Any) -> bool:
    if isinstance(value, dict) and isinstance(other, dict):
        keys = {**value, **other}.keys() - _ALIKE
        return value is other or all(_are_alike(value.get(key), other.get(key)) for key in keys)
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(_are_alike, value, other))
    return bool(value == other)


def _put(out: BuildSets, chosen: Mapping[int, Built], file: str) -> None:
    """Put the builds of a kustomization into the first set without other builds of these objects, or a new one."""
    found = next((each for each in out.sets if each.fits(chosen)), None)
    if found is None and len(out.sets) < _MOST_SETS:
        found = BuildSet()
        out.sets.append(found)
    for source, built in chosen.items():
        if found is not None:
            found.builds[source] = built
            found.by[source][file] = None
        elif not any(each.builds.get(source) is built for each in out.sets):
            out.left_out.setdefault(source, {})[file] = None


def _by_size(build: tuple[_Build, str]) -> tuple[int, str]:
    return -len(build[0].resources), build[1]


def _resource(number: int, raw: dict[str, Any]) -> Resource:
    metadata, kind = mapping(raw.get("metadata")), text(raw.get("kind"))
    name, namespace = text(metadata.get("name")), text(metadata.get("namespace"))
    return Resource(number, raw, (name,), (namespace,), frozenset((kind,)), raw)


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
    if namespace and not is_cluster_scoped(kind):
        resource = _with_value(resource, ("metadata", "namespace"), namespace)
        resource = resource._replace(namespaces=(*resource.namespaces, namespace))
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
            yield _after_patch(resource, raw, patch.path)
        elif not isinstance(patch.value, dict):
            yield resource
        elif patch.value.get("$patch") != "delete":
            kept = () if patch.renames else ("apiVersion", "kind")
            change = {key: value for key, value in patch.value.items() if key not in kept}
            if not patch.renames:
                own = mapping(change.get("metadata"))
                change["metadata"] = {key: value for key, value in own.items() if key not in ("name", "namespace")}
            merges_lists = is_built_in(text(resource.raw.get("apiVersion")))
            yield _after_patch(resource, merged(resource.raw, change, merges_lists=merges_lists), patch.path)


def _after_patch(resource: Resource, raw: dict[str, Any], path: str) -> Resource:
    name = text(at(raw, "metadata", "name"))
    names = resource.names if name in resource.names else (*resource.names, name)
    namespace = text(at(raw, "metadata", "namespace"))
    namespaces = resource.namespaces if namespace in resource.namespaces else (*resource.namespaces, namespace)
    kinds = resource.kinds | {text(raw.get("kind"))}
    return resource._replace(
        raw=raw, names=names, namespaces=namespaces, kinds=kinds, patches=(*resource.patches, path)
    )


def _is_selected(resource: Resource, patch: _Patch) -> bool:
    raw, target = resource.raw, patch.target
    if not target:
        value = mapping(patch.value)
        namespace = text(at(value, "metadata", "namespace"))
        return (
            text(value.get("kind")) in resource.kinds
            and _group(value) == _group(raw)
            and text(at(value, "metadata", "name")) in resource.names
            and namespace in ("", *resource.namespaces)
        )
    group, version = text(target.get("group")), text(target.get("version"))
    api_version = text(raw.get("apiVersion"))
    return (
        (not group or _fits(group, (_group(raw),)))
        and (not version or _fits(version, (api_version.rpartition("/")[2],)))
        and _fits(text(target.get("kind")), (text(raw.get("kind")),))
        and _fits(text(target.get("name")), resource.names)
        and _fits(text(target.get("namespace")), [each or "default" for each in resource.namespaces])
        and _fits_query(text(target.get("labelSelector")), at(raw, "metadata", "labels"))
        and _fits_query(text(target.get("annotationSelector")), at(raw, "metadata", "annotations"))
    )


def _group(raw: Mapping[str, Any]) -> str:
    return group_of(text(raw.get("apiVersion")))


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


def _apply_replacement(out: _Build, replacement: Mapping[str, Any]) -> None:
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
                out.resources[i] = resource = resource._replace(raw=raw, patches=(*resource.patches, ""))


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


def _why_partial(raw: Mapping[str, Any]) -> str:
    return why_partial(raw, _group(raw), text(raw.get("apiVersion")), text(raw.get("kind")), may_patch=False)
