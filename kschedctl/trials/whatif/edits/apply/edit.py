"""``--apply FILE``: overlays objects on the cluster, or adds copies of them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final, Self

from kschedctl.common.errors import InputError
from kschedctl.sources.snapshot.decoding import Validation
from kschedctl.trials.whatif.edit import FileEdit, Option, Thing

if TYPE_CHECKING:
    from kschedctl.cluster.cluster import Cluster
    from kschedctl.common.findings import Finding, Place
    from kschedctl.objects.meta import ApiObject
    from kschedctl.objects.releases.release import Release
    from kschedctl.sources.snapshot.manifest import ManifestObject
    from kschedctl.trials.whatif.edit import Changed

_COPIES: Final = re.compile(r"(.+)\*([0-9]+)", re.ASCII)
_MOST_COPIES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Apply(FileEdit):
    """An edit that overlays objects on the cluster: it replaces the object of the same kind and name, or adds one.

    Attributes
    ----------
    objects : tuple of (object, place)
        The objects, each with its position in the input, which errors report.
    copies : int or None
        The number of copies to add under new names (``NAME-1``, ``NAME-2``, ...) instead, from 1 to 10,000. Nodes are
        copied with their CSINodes and ResourceSlices, pods are copied as pending pods. ``None`` to apply the objects
        themselves.
    source : str
        The name of the file, or ``standard input``.
    warnings : tuple of Finding
        Fields that an API server would reject, if the validation mode only warns of them.
    read : tuple of ManifestObject
        The objects as they were written.
    """

    option: ClassVar[Option] = Option(
        "--apply",
        "FILE",
        "Answer as if these objects existed, replacing those of the same name; FILE*3 adds 3 copies; - is stdin.",
    )

    objects: tuple[tuple[ApiObject, Place], ...]
    copies: int | None = None
    source: str = ""
    warnings: tuple[Finding, ...] = field(default=(), compare=False)
    read: tuple[ManifestObject, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        copies = "" if self.copies is None else f"*{self.copies}"
        return f"apply {self.source or 'objects'}{copies}"

    @classmethod
    def parse(
        cls,
        text: str,
        namespace: str = "",
        *,
        validation: Validation = Validation.STRICT,
        max_unpacked: int | None = None,
    ) -> Self:
        """Parse ``FILE`` or ``FILE*COPIES`` and read the file; ``-`` is standard input.

        Raises
        ------
        InputError
            If the file cannot be read, or the number of copies is not in 1 to 10,000.
        """
        from kschedctl.objects.kinds import with_namespace
        from kschedctl.sources.snapshot.load import read_manifest
        from kschedctl.sources.snapshot.pod_choice import STDIN

        path, copies = split_source(text)
        stdin = sys.stdin.buffer if path == STDIN and sys.stdin is not None else None
        manifest = read_manifest(path, stdin=stdin, max_unpacked=max_unpacked, validation=validation)
        objects = tuple((with_namespace(obj, namespace), place) for obj, place in manifest.objects)
        return cls(objects, copies, "standard input" if path == STDIN else path, manifest.warnings, manifest.read)

    @classmethod
    def sources(cls, text: str) -> tuple[str, ...]:
        """Return the path of the file."""
        return (split_source(text)[0],)

    def apply(self, cluster: Cluster, *, release: Release) -> Changed:
        """Overlay the objects on the cluster, or add copies of them.

        Raises
        ------
        InputError
            If an API server would reject an object, or an object to be copied is neither a node nor a pod, nor a
            CSINode or ResourceSlice of a copied node.
        """
        from kschedctl.trials.whatif.edits.apply.effect import apply

        return apply(cluster, self.objects, self.copies, read=self.read, release=release)

    def things(self) -> Iterator[Thing]:
        """Yield the objects; nothing for copies, whose names are new and cannot conflict with another edit."""
        from kschedctl.trials.whatif.targets import thing

        if self.copies is None:
            for obj, _ in self.objects:
                yield thing(type(obj), obj.namespace, obj.name)


def split_source(text: str) -> tuple[str, int | None]:
    """Parse ``FILE`` or ``FILE*COPIES``.

    Raises
    ------
    InputError
        If the number of copies is not in 1 to 10,000.

    Examples
    --------
    >>> split_source("node.yaml"), split_source("node.yaml*3")
    (('node.yaml', None), ('node.yaml', 3))
    """
    match = _COPIES.fullmatch(text)
    if match is None:
        return text, None
    copies = int(match[2])
    if not 1 <= copies <= _MOST_COPIES:
        raise InputError(f'"{text}": {copies} copies cannot be made', hint=f"give 1 to {_MOST_COPIES}")
    return match[1], copies
