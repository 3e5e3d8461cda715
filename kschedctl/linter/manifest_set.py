"""The manifest set: the objects of all files of one run, and the lookup of related objects.

The key of an object is group, kind, namespace and name. A lookup first searches the file of the object that refers to
another one, then its folder, then all other files. A key that occurs in several files there means variants of one
object; the lookup then finds none, because the variant that will be applied is not known. Objects without a namespace
are related only to objects without a namespace.
"""

import re
from collections import ChainMap, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from kschedctl.common.errors import InputError
from kschedctl.common.findings import Location, ObjectRef, field_path
from kschedctl.linter.file_text import Region
from kschedctl.linter.kustomization import Kustomizations, normal_path, value_in_build
from kschedctl.linter.kustomize_builds import UNKNOWN, Builds, BuildSets, Built, is_cluster_scoped
from kschedctl.linter.lint_files import FoundObject, LintDocument, LintFile, found_in
from kschedctl.linter.unreadable_files import Unreadable, UnreadableFiles
from kschedctl.linter.values import (
    DIRECTIVE,
    NOT_FILLED_IN,
    Steps,
    at,
    group_of,
    is_live,
    is_rendered,
    items,
    mapping,
    steps_of,
    text,
    unfilled,
    why_partial,
)
from kschedctl.objects.kinds import KINDS
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.workload import cron_job_of, deployment_of
from kschedctl.sources.snapshot.decoding import decode

K = TypeVar("K", bound=Hashable)

#: Former API groups of kinds, with the present group.
_FORMER_GROUPS: Final = {"extensions": "apps"}
#: The label of the pods of an Argo Rollout with the suffix of the name of their ReplicaSet.
_ROLLOUT_HASH: Final = "rollouts-pod-template-hash"
#: The part of names of files and folders that contain patches.
_PATCH: Final = "patch"
#: The part of names of files and folders with a Pod that a tool completes, and the containers that tools complete:
#: those of Spark's driver and executors, and of Jenkins' agents.
_TEMPLATE: Final = "template"
_COMPLETED: Final = frozenset(("spark-kubernetes-driver", "spark-kubernetes-executor", "jnlp"))


#: A word of a text that can be the name of an object.
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")


class Key(NamedTuple):
    """The key of an object."""

    group: str
    kind: str
    namespace: str
    name: str


@dataclass(eq=False)
class LintObject:
    """An object of the manifest set."""

    #: The document that contains the object.
    document: LintDocument
    #: The path of the object in its document; empty if it is the document.
    inside: Steps
    #: The object as plain data, with what kustomizations change.
    raw: dict[str, Any] = field(repr=False)
    #: API version and kind, as written.
    api_version: str
    kind: str
    #: The namespace as written, else the one of ``-n``; empty if there is neither.
    namespace: str = ""
    #: True if a kustomization lists the object's file as a patch.
    patched: bool = False
    #: True if the kustomizations that list the object as a resource are known to add nothing that it lacks.
    final: bool = False
    #: True if all kustomizations that list the object delete it.
    deleted: bool = False
    #: The build by kustomizations; ``None`` if none builds the object.
    built: Built | None = None
    #: The object from which this one was built; ``None`` if it is the one of the first set of builds, if it was not
    #: built, or if that is not known.
    origin: "LintObject | None" = None

    def __post_init__(self) -> None:
        #: The object as its file has it.
        self.written = self.raw
        if self.file.origins:
            namespace = text(at(self.raw, "metadata", "namespace"))
            keys = ((self.kind, namespace, self.name), (self.kind, self.name))
            built = next((self.file.origins[key] for key in keys if key in self.file.origins), None)
            self.origin = built.source if built is not None else None
            self.built = built.built if built is not None else None
        if self.origin is not None:
            self.written = self.origin.written

    @property
    def source(self) -> "LintObject":
        """The object in the files of the user."""
        return self if self.origin is None else self.origin

    @cached_property
    def group(self) -> str:
        """The API group; the present group for the former API group of a kind."""
        group = group_of(self.api_version)
        return _FORMER_GROUPS.get(group, group)

    @cached_property
    def type(self) -> str:
        """Group and kind, such as ``apps/Deployment``; for the core group the kind alone, such as ``Pod``."""
        return f"{self.group}/{self.kind}" if self.group else self.kind

    @cached_property
    def name(self) -> str:
        """The object's name, else its ``generateName``."""
        metadata = mapping(self.raw.get("metadata"))
        return text(metadata.get("name")) or text(metadata.get("generateName"))

    @property
    def written_namespace(self) -> str:
        """The namespace written in the object; empty if there is none."""
        return text(at(self.written, "metadata", "namespace"))

    @cached_property
    def key(self) -> Key:
        return Key(self.group, self.kind, "" if is_cluster_scoped(self.kind) else self.namespace, self.name)

    @property
    def ref(self) -> ObjectRef:
        """A reference to the object, for findings."""
        return ObjectRef(self.kind, self.source.name, self.written_namespace, self.api_version)

    @property
    def shown(self) -> str:
        """The object as ``Kind/[NAMESPACE/]NAME``."""
        return "/".join(part for part in (self.kind, self.written_namespace, self.source.name) if part)

    @cached_property
    def file(self) -> LintFile:
        """The file that contains the object."""
        return self.document.file

    @property
    def location(self) -> Location:
        """The location of the object in the input."""
        source = self.source
        item = source.inside[-1] if source.inside else None
        return Location(source.file.name, source.document.number, item + 1 if isinstance(item, int) else None)

    @cached_property
    def partial(self) -> str:
        """The reason why the object is partial; empty if it is complete."""
        if self.patched:
            return "a kustomization lists the file as a patch"
        if self.deleted:
            return "every kustomization that lists it deletes it"
        if self.file.rendered:
            return ""
        why = why_partial(self.raw, self.group, self.api_version, self.kind, may_patch=self.document.may_patch)
        return why if not self.final or why == DIRECTIVE else ""

    @cached_property
    def live(self) -> bool:
        """True if the object was read from a cluster."""
        return is_live(self.raw)

    @property
    def foreign(self) -> bool:
        """True if the kind is unknown in its API group, but another group has a known kind of that name."""
        return (self.group, self.kind) not in KINDS and any(kind == self.kind for _, kind in KINDS)

    @property
    def typed(self) -> ApiObject | None:
        """The object as an API type; ``None`` if its kind is unknown, or for the reason `why_untyped`."""
        return self._decoded[0]

    @property
    def why_untyped(self) -> str:
        """The field that is malformed or has a placeholder, if a verdict depends on it; empty if there is none."""
        return self._decoded[1]

    @cached_property
    def _decoded(self) -> tuple[ApiObject | None, str]:
        kind = KINDS.get((self.group, self.kind))
        if kind is None:
            return None, ""
        try:
            typed = decode(self.raw, kind)
        except InputError as error:
            field = error.findings[0].field
            return None, f"{field} {self._why_unknown(steps_of(self.raw, field))}"
        # Fields that scheduling does not depend on, such as a command, are not decoded.
        found = None if is_rendered(self.raw) else unfilled(msgspec.to_builtins(typed))
        return (typed, "") if found is None else (None, f"{field_path(found)} {self._why_unknown(found)}")

    def _why_unknown(self, steps: Steps) -> str:
        value = at(self.raw, *steps)
        if value == UNKNOWN:
            return "is set by a kustomization, to a value that is not known"
        return "cannot be read" if is_rendered(value) else NOT_FILLED_IN

    def change(self, built: Built) -> None:
        """Replace the object by what kustomizations build; its name stays, as they change all references alike."""
        self.built, self.final = built, built.final
        if built.raw is self.written:
            return
        name = at(self.written, "metadata", "name")
        metadata = {**mapping(built.raw.get("metadata")), **({} if name is None else {"name": name})}
        self.raw = {**built.raw, "metadata": metadata}
        self.api_version, self.kind = text(self.raw.get("apiVersion")), text(self.raw.get("kind"))
        self.namespace = text(metadata.get("namespace")) or self.namespace

    def as_built(self, built: Built, namespace: str) -> "LintObject":
        """Return the object as other kustomizations build it.

        Args:
            namespace: The namespace of ``-n``.
        """
        origin, written = self.source, self.written
        own = text(at(written, "metadata", "namespace")) or namespace
        api_version, kind = text(written.get("apiVersion")), text(written.get("kind"))
        found = LintObject(self.document, self.inside, written, api_version, kind, own, self.patched, origin=origin)
        found.change(built)
        return found

    def written_steps(self, steps: Steps) -> Steps:
        """Return the path of a field in the file, up to the list item that the file lacks, if it lacks one."""
        return _steps_in(self.written, self.raw, steps)

    def changed_by(self, steps: Steps) -> Sequence[str]:
        """Return the files of the kustomizations that change a field."""
        changes = self.built.changes if self.built is not None else ()
        places = ((change, _steps_in(change.after, self.raw, steps)) for change in changes)
        found = [
            change.file
            for change, place in places
            if at(change.after, *place) != at(change.before, *_steps_in(change.before, change.after, place))
        ]
        return list(dict.fromkeys(found or (change.file for change in changes))) or [self.file.name]

    def is_written(self, steps: Steps) -> bool:
        """Report whether a field has the value that the file has, or is absent in both, at the same place."""
        value = at(self.raw, *steps)
        return self.written_steps(steps) == steps and at(self.written, *steps) in (value, self._in_source(value))

    def words_of_source(self, text: str) -> str:
        """Return a text with the names of objects in their files, in place of those that Kustomize gave them."""
        names = self.file.source_names
        return _NAME.sub(lambda found: names.get(found[0], found[0]), text) if names else text

    def _in_source(self, value: Any) -> Any:
        names = self.file.source_names
        if isinstance(value, dict) and names:
            return {key: self._in_source(each) for key, each in value.items()}
        if isinstance(value, list) and names:
            return [self._in_source(each) for each in value]
        return names.get(value, value) if isinstance(value, str) else value

    def region(self, steps: Steps, *, key: bool = False) -> Region:
        """Return the region of a field in the file; if the file lacks the field, that of its nearest parent."""
        return self.source.document.region((*self.source.inside, *self.written_steps(steps)), key=key)

    @property
    def annotations(self) -> dict[str, Any]:
        """The object's annotations."""
        return dict(mapping(at(self.raw, "metadata", "annotations")))


@dataclass(eq=False)
class LintManifests:
    """The objects of one run."""

    #: The files that were read.
    files: Sequence[LintFile]
    #: The namespace of ``-n``; empty if there is none.
    namespace: str = ""
    #: The relation of the files to kustomizations.
    kustomizations: Kustomizations = field(default_factory=Kustomizations)

    def __post_init__(self) -> None:
        self.objects: list[LintObject] = []
        resources: dict[str, list[tuple[int, dict[str, Any]]]] = {}
        for file in self.files:
            patched = file.name in self.kustomizations.patches
            built = file.name in self.kustomizations.read
            first = len(self.objects)
            for document in file.documents:
                value = value_in_build(document) if built else document.value
                self.objects += objects_of(document, self.namespace, value, patched=patched)
            if built and not patched:
                resources[normal_path(file.name)] = [(i, self.objects[i].raw) for i in range(first, len(self.objects))]
        self.builds: Builds | None = None
        self.build_sets = BuildSets()
        #: The number of the set of builds that the objects are of.
        self.number = 0
        if resources:
            files = {normal_path(file.name): file for file in self.files}
            self.builds = Builds(self.kustomizations.by_folder, files, resources)
            self.build_sets = self.builds.objects()
        # The first set that has an object counts.
        for i, result in ChainMap(*(each.builds for each in self.build_sets.sets)).items():
            self.objects[i].change(result)
        for i in self.build_sets.deleted:
            self.objects[i].deleted = True
        self._seen: dict[tuple[str, str], list[LintObject]] = {}

    def of_set(self, number: int) -> "LintManifests":
        """Return the manifests with the builds of another set, counted from 0, in place of those of the first."""
        if not number:
            return self
        other = LintManifests((), self.namespace, self.kustomizations)
        other.files, other.objects, other.build_sets = self.files, list(self.objects), self.build_sets
        other.number = number
        for i, built in self.build_sets.sets[number].builds.items():
            if built is not self.objects[i].built:
                other.objects[i] = self.objects[i].as_built(built, self.namespace)
        return other

    @property
    def n_sets(self) -> int:
        """The number of sets of builds, at least 1."""
        return max(1, len(self.build_sets.sets))

    def builders(self, obj: LintObject | None) -> Sequence[str] | None:
        """Return the files of the kustomizations that build an object as this set has it, if they differ, else none.

        The value is ``None`` for an object that only other sets have.
        """
        own = self._builders.get(obj.source if obj is not None else None)
        if own is None:
            return None if self.number else ()
        return own.get(self.number)

    @cached_property
    def _builders(self) -> dict[LintObject | None, dict[int, Sequence[str]]]:
        found: dict[LintObject | None, dict[int, Sequence[str]]] = defaultdict(dict)
        sets = self.build_sets.sets if self.n_sets > 1 else ()
        for number, each in enumerate(sets):
            for i, names in each.by.items():
                found[self.objects[i].source][number] = tuple(names)
        return found

    def has_all_builders(self, obj: LintObject, names: Iterable[str]) -> bool:
        """Report whether kustomizations are all those that build an object."""
        every = {name for own in self._builders.get(obj.source, {}).values() for name in own}
        return every <= set(names)

    def unchecked_builds(self) -> Iterator[tuple[LintObject, Sequence[str]]]:
        """Yield the objects with builds that no set has, with the files of the kustomizations that build them so."""
        yield from ((self.objects[i], tuple(names)) for i, names in self.build_sets.left_out.items())

    @cached_property
    def whole(self) -> list[LintObject]:
        """The objects that are not partial."""
        return [obj for obj in self.objects if not obj.partial]

    @cached_property
    def by_type(self) -> dict[str, list[LintObject]]:
        """The objects that are not partial, by group and kind."""
        return _grouped(self.whole, lambda obj: obj.type)

    @cached_property
    def by_version(self) -> dict[tuple[str, str], list[LintObject]]:
        """The objects by API version and kind as written, including partial objects."""
        return _grouped(self.objects, lambda obj: (obj.api_version, obj.kind))

    def built_kinds(self, obj: LintObject) -> Sequence[tuple[str, str]]:
        """Return API version and kind of an object; of a patch, also those that kustomizations change its target to."""
        changed = self._changed_kinds.get((obj.kind, obj.name), ()) if obj.partial else ()
        return ((obj.api_version, obj.kind), *changed)

    @cached_property
    def _changed_kinds(self) -> dict[tuple[str, str], list[tuple[str, str]]]:
        found: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
        for obj in self.objects:
            if obj.raw is not obj.written and obj.kind != obj.written.get("kind"):
                found[text(obj.written.get("kind")), obj.name].append((obj.api_version, obj.kind))
        return found

    @cached_property
    def _by_key(self) -> dict[Key, list[LintObject]]:
        return _grouped(self.whole, lambda obj: obj.key)

    def seen_from(self, obj: LintObject, type_: str) -> list[LintObject]:
        """Return the objects of a kind that `obj` may refer to, of all namespaces; ambiguous variants are left out."""
        known = self._seen.get((obj.file.name, type_))
        if known is None:
            keys = dict.fromkeys(other.key for other in self.by_type.get(type_, ()))
            known = [found for key in keys if (found := self._seen_one(obj.file, key)) is not None]
            self._seen[obj.file.name, type_] = known
        return known

    def beside(self, obj: LintObject, type_: str) -> Iterator[LintObject]:
        """Yield the objects of `seen_from` that are in the namespace of `obj`."""
        return (other for other in self.seen_from(obj, type_) if other.namespace == obj.namespace)

    def named(self, obj: LintObject, type_: str, name: str) -> LintObject | None:
        """Return the object of a kind and name, in the namespace of `obj` or cluster-scoped; ``None`` if not found."""
        kind = type_.rpartition("/")[2]
        namespace = "" if is_cluster_scoped(kind) else obj.namespace
        return self._seen_one(obj.file, Key(type_.rpartition("/")[0], kind, namespace, name))

    def owners(self, obj: LintObject) -> list[Key]:
        """Return the keys of the controllers that created an object, the nearest first, in the manifest set or not.

        The owner of a ReplicaSet or Job that the set lacks is derived from the name. Objects that own each other have
        no owners, so that one of them counts.
        """
        found: list[Key] = []
        owner = _controller(obj)
        while owner is not None and owner not in found:
            found.append(owner)
            known = self._by_key.get(owner, ())
            owner = _controller(known[-1]) if known else _maker(owner, mapping(at(obj.raw, "metadata", "labels")))
        return [] if obj.key in found else found

    def owner(self, obj: LintObject) -> LintObject | None:
        """Return the nearest object of the manifest set that created an object; ``None`` if there is none."""
        return next((self._by_key[key][-1] for key in self.owners(obj) if key in self._by_key), None)

    def has(self, type_: str, name: str) -> bool:
        """Report whether any object of a kind has the name, in any namespace and any number of times."""
        return any(other.name == name for other in self.by_type.get(type_, ()))

    def is_incomplete(self, obj: LintObject) -> bool:
        """Report whether an object is partial, and nothing tells that another tool completes it.

        A kustomization is near, its path says that it is a patch, or it is a pod template of a tool such as Spark.
        """
        if not obj.partial or obj.partial == DIRECTIVE or obj.file.name in self.kustomizations.below:
            return False
        words = (_PATCH, _TEMPLATE) if obj.type == "Pod" else (_PATCH,)
        if any(word in part.lower() for part in Path(obj.file.name).parts[-2:] for word in words):
            return False
        containers = items(at(obj.raw, "spec", "containers"))
        return obj.type != "Pod" or not any(text(at(each, "name")) in _COMPLETED for each in containers)

    def is_variant(self, obj: LintObject) -> bool:
        """Report whether another file has an object with the same key."""
        return any(other.file is not obj.file for other in self._by_key.get(obj.key, ()))

    def _seen_one(self, file: LintFile, key: Key) -> LintObject | None:
        same = self._by_key.get(key, ())
        own = [other for other in same if other.file is file]
        if own:
            # If a file contains a key twice, the last object is the one that stays applied.
            return own[-1]
        near = [other for other in same if other.file.folder == file.folder] or same
        return near[-1] if near and all(other.file is near[-1].file for other in near) else None

    @cached_property
    def source_files(self) -> Sequence[LintFile]:
        """The files of the user: those of the set, and those from which Kustomize built some of them."""
        origins = (obj.source.file for obj in self.objects if obj.origin is not None)
        return list(dict.fromkeys((*self.files, *origins)))

    def unreadable_near(self, obj: LintObject) -> LintDocument | None:
        """Return an unreadable document in the folder of `obj`, if any: objects that are not found may be in it."""
        return next(iter(self._broken_in.get(obj.file.folder, ())), None)

    @cached_property
    def unreadable(self) -> UnreadableFiles:
        """The files that cannot be read, with the reasons."""
        return UnreadableFiles(self.files)

    @cached_property
    def _broken_in(self) -> dict[str, list[LintDocument]]:
        found: dict[str, list[LintDocument]] = defaultdict(list)
        manifests = (
            file for file in self.files if self.unreadable.of.get(file.name, Unreadable.OTHER) is not Unreadable.OTHER
        )
        for file in manifests:
            found[file.folder] += [document for document in file.documents if document.broken is not None]
        return found


def _grouped(objects: Iterable[LintObject], key: Callable[[LintObject], K]) -> dict[K, list[LintObject]]:
    found: dict[K, list[LintObject]] = defaultdict(list)
    for obj in objects:
        found[key(obj)].append(obj)
    return found


#: The fields that identify the items of a list.
_ITEM_KEYS: Final = ("name", "key", "topologyKey", "mountPath", "containerPort")


def _steps_in(other: Mapping[str, Any], value: Mapping[str, Any], steps: Steps) -> Steps:
    """Return the path in another state of a value, up to the list item that the other state lacks, if it lacks one."""
    if value is other:
        return steps
    found: Steps = ()
    for index, step in enumerate(steps):
        if isinstance(step, int):
            item, others = at(value, *steps[: index + 1]), items(at(other, *found))
            near = (step, *range(len(others)))
            step = next((i for i in near if i < len(others) and _is_same_item(item, others[i])), -1)
            if step < 0:
                break
        found = (*found, step)
    return found


def _is_same_item(item: Any, other: Any) -> bool:
    key = next((key for key in _ITEM_KEYS if at(item, key) is not None), "")
    return item == other or (bool(key) and at(item, key) == at(other, key))


def _controller(obj: LintObject) -> Key | None:
    """Return the key of the controller that an object names as its owner."""
    owners = items(at(obj.raw, "metadata", "ownerReferences"))
    owner = next((mapping(each) for each in owners if at(each, "controller") is True), {})
    kind, name = text(owner.get("kind")), text(owner.get("name"))
    group = group_of(text(owner.get("apiVersion")))
    namespace = "" if is_cluster_scoped(kind) else obj.namespace
    return Key(_FORMER_GROUPS.get(group, group), kind, namespace, name) if kind and name else None


def _maker(owner: Key, labels: Mapping[str, Any]) -> Key | None:
    """Return the key of the workload of a ReplicaSet or Job, from its name and the labels of its pods."""
    makers: tuple[tuple[str, str, str], ...] = ()
    if owner.kind == "ReplicaSet":
        rollout = deployment_of(owner.name, labels, _ROLLOUT_HASH)
        makers = ("apps", "Deployment", deployment_of(owner.name, labels)), ("argoproj.io", "Rollout", rollout)
    elif owner.kind == "Job":
        makers = (("batch", "CronJob", cron_job_of(owner.name)),)
    return next((Key(group, kind, owner.namespace, name) for group, kind, name in makers if name), None)


def objects_of(
    document: LintDocument, namespace: str = "", value: Any = None, *, patched: bool = False
) -> Iterator[LintObject]:
    """Yield the objects of a document: the document itself, or the items of a list, nested lists included.

    Args:
        value: The document as another tool reads it; ``None`` for the document as it is.
    """
    for found in found_in(document.value if value is None else value):
        if isinstance(found, FoundObject):
            own = text(at(found.raw, "metadata", "namespace"))
            inside, raw, api_version, kind = found
            yield LintObject(document, inside, raw, api_version, kind, own or namespace, patched)
