"""The manifest set: the objects of all files of one run, and how they are seen from one another.

An object is known by group, kind, namespace and name. A relation looks first at objects of the same file, then at those
of the same folder, then at all others; and from one file only: a key in several files means variants of one object, of
which nobody knows which is applied. Namespaces that are not given meet only one another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

from kschedctl.api.defaults import NAMESPACED
from kschedctl.api.kinds import KINDS
from kschedctl.api.meta import ApiObject
from kschedctl.api.pod import Pod
from kschedctl.findings.finding import ObjectRef
from kschedctl.findings.location import Location
from kschedctl.linter.partial import is_live, why_partial
from kschedctl.linter.reading import LintDocument, LintFile
from kschedctl.linter.regions import Region
from kschedctl.linter.values import Steps, at, converted, items, mapping, text

#: Groups that kinds had before the one that they are in.
_FORMER_GROUPS: Final = {"extensions": "apps"}
_CLUSTER_SCOPED: Final = frozenset(
    kind for (_, kind), type_ in KINDS.items() if type_ is not Pod and type_ not in NAMESPACED
)
#: In a list of these there may be any objects.
_LISTS: Final = "List"


class Key(NamedTuple):
    """What an object is known by."""

    group: str
    kind: str
    namespace: str
    name: str


@dataclass(eq=False)
class ManifestObject:
    """An object of the manifest set."""

    #: Where it was read.
    document: LintDocument
    #: The way to it from the document.
    inside: Steps
    #: Plain data.
    raw: dict[str, Any] = field(repr=False)
    #: As written.
    api_version: str
    kind: str
    #: As written, or that of ``-n``; empty for none.
    namespace: str = ""
    #: Whether a kustomization lists its file as a patch.
    patched: bool = False

    @cached_property
    def group(self) -> str:
        """Its API group; the present one of kinds that had another."""
        group = self.api_version.rpartition("/")[0]
        return _FORMER_GROUPS.get(group, group)

    @cached_property
    def type(self) -> str:
        """Group and kind, as ``apps/Deployment``; of the core group ``Pod``."""
        return f"{self.group}/{self.kind}" if self.group else self.kind

    @cached_property
    def name(self) -> str:
        """Its name, or what it is made of."""
        metadata = mapping(self.raw.get("metadata"))
        return text(metadata.get("name")) or text(metadata.get("generateName"))

    @property
    def written_namespace(self) -> str:
        """The namespace that it names itself."""
        return text(at(self.raw, "metadata", "namespace"))

    @cached_property
    def key(self) -> Key:
        """What it is known by."""
        return Key(self.group, self.kind, "" if self.kind in _CLUSTER_SCOPED else self.namespace, self.name)

    @property
    def ref(self) -> ObjectRef:
        """Which object it is, for findings."""
        return ObjectRef(self.kind, self.name, self.written_namespace, self.api_version)

    @property
    def shown(self) -> str:
        """``Kind/[NAMESPACE/]NAME``."""
        return "/".join(part for part in (self.kind, self.written_namespace, self.name) if part)

    @cached_property
    def file(self) -> LintFile:
        """Its file."""
        return self.document.file

    @property
    def location(self) -> Location:
        """Where it was read."""
        item = self.inside[-1] if self.inside else None
        return Location(self.file.name, self.document.number, item + 1 if isinstance(item, int) else None)

    @cached_property
    def partial(self) -> str:
        """Why it is not an object of its own; empty where it is."""
        if self.patched:
            return "a kustomization lists the file as a patch"
        may_patch = b"$patch" in self.document.text or b"$retainKeys" in self.document.text
        return why_partial(self.raw, self.group, self.api_version, self.kind, may_patch=may_patch)

    @cached_property
    def live(self) -> bool:
        """Whether it is a dump of what a cluster has."""
        return is_live(self.raw)

    @property
    def foreign(self) -> bool:
        """Whether another API group has a kind of that name."""
        return (self.group, self.kind) not in KINDS and any(kind == self.kind for _, kind in KINDS)

    @cached_property
    def typed(self) -> ApiObject | None:
        """The object as scheduling reads it; ``None`` where it is of no such kind, broken, or not filled in."""
        kind = KINDS.get((self.group, self.kind))
        return None if kind is None else converted(self.raw, kind)

    def region(self, steps: Steps, *, key: bool = False) -> Region:
        """Where a field stands."""
        return self.document.region((*self.inside, *steps), key=key)

    @property
    def annotations(self) -> dict[str, Any]:
        """Its annotations."""
        return dict(mapping(at(self.raw, "metadata", "annotations")))


@dataclass(eq=False)
class ManifestSet:
    """The objects of one run."""

    #: What was read.
    files: Sequence[LintFile]
    #: That of ``-n``; empty for none.
    namespace: str = ""
    #: The files that kustomizations list as patches.
    patches: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.objects: list[ManifestObject] = []
        for file in self.files:
            patched = file.name in self.patches
            for document in file.documents:
                self.objects += objects_of(document, self.namespace, patched=patched)
        self._seen: dict[tuple[str, str], list[ManifestObject]] = {}

    @cached_property
    def whole(self) -> list[ManifestObject]:
        """The objects that are not partial."""
        return [obj for obj in self.objects if not obj.partial]

    @cached_property
    def by_type(self) -> dict[str, list[ManifestObject]]:
        """The objects that are not partial, by group and kind."""
        found: dict[str, list[ManifestObject]] = defaultdict(list)
        for obj in self.whole:
            found[obj.type].append(obj)
        return found

    @cached_property
    def _by_key(self) -> dict[Key, list[ManifestObject]]:
        found: dict[Key, list[ManifestObject]] = defaultdict(list)
        for obj in self.whole:
            found[obj.key].append(obj)
        return found

    def seen_from(self, obj: ManifestObject, type_: str) -> list[ManifestObject]:
        """The objects of a kind that a relation of an object looks at, of all namespaces."""
        known = self._seen.get((obj.file.name, type_))
        if known is None:
            keys = dict.fromkeys(other.key for other in self.by_type.get(type_, ()))
            known = [found for key in keys if (found := self._seen_one(obj.file, key)) is not None]
            self._seen[obj.file.name, type_] = known
        return known

    def beside(self, obj: ManifestObject, type_: str) -> Iterator[ManifestObject]:
        """Those of them that are in the object's namespace."""
        return (other for other in self.seen_from(obj, type_) if other.namespace == obj.namespace)

    def named(self, obj: ManifestObject, type_: str, name: str) -> ManifestObject | None:
        """The one of that name in the object's namespace, or of a kind that is in none."""
        kind = type_.rpartition("/")[2]
        namespace = "" if kind in _CLUSTER_SCOPED else obj.namespace
        return self._seen_one(obj.file, Key(type_.rpartition("/")[0], kind, namespace, name))

    def has(self, type_: str, name: str) -> bool:
        """Whether any object of a kind has the name, in whatever namespace and however often."""
        return any(other.name == name for other in self.by_type.get(type_, ()))

    def is_variant(self, obj: ManifestObject) -> bool:
        """Whether other files have an object of that key, too."""
        return any(other.file is not obj.file for other in self._by_key.get(obj.key, ()))

    def _seen_one(self, file: LintFile, key: Key) -> ManifestObject | None:
        same = self._by_key.get(key, ())
        own = [other for other in same if other.file is file]
        if own:
            # Of those that are given twice the last one is what is applied.
            return own[-1]
        near = [other for other in same if other.file.folder == file.folder] or same
        return near[-1] if near and all(other.file is near[-1].file for other in near) else None

    def unreadable_near(self, obj: ManifestObject) -> LintDocument | None:
        """A document in the object's folder that could not be read, so that what is not found may be there."""
        return next(iter(self._broken_in.get(obj.file.folder, ())), None)

    @cached_property
    def _broken_in(self) -> dict[str, list[LintDocument]]:
        found: dict[str, list[LintDocument]] = defaultdict(list)
        for file in self.files:
            found[file.folder] += [document for document in file.documents if document.broken is not None]
        return found


def objects_of(document: LintDocument, namespace: str = "", *, patched: bool = False) -> Iterator[ManifestObject]:
    """The objects of a document: itself, or the items of a list."""
    waiting: list[tuple[Steps, Any]] = [((), document.value)]
    while waiting:
        inside, raw = waiting.pop()
        api_version, kind = text(at(raw, "apiVersion")), text(at(raw, "kind"))
        if not api_version or not kind:
            continue
        if kind.endswith(_LISTS) and isinstance(raw.get("items"), list):
            waiting += reversed([((*inside, "items", index), item) for index, item in enumerate(items(raw["items"]))])
            continue
        own = text(at(raw, "metadata", "namespace"))
        yield ManifestObject(document, inside, raw, api_version, kind, own or namespace, patched)
