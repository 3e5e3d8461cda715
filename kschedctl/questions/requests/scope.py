"""The namespaces that a request is about, with kubectl's meaning of names, ``-n`` and ``-A``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from kschedctl.common.errors import InputError
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.selectors import matches, parse_label_query
from kschedctl.questions.requests.cluster import ClusterRequest, ClusterSource
from kschedctl.sources.snapshot.decoding import Validation

T = TypeVar("T", bound=ApiObject)


class NamespaceScope(msgspec.Struct, frozen=True):
    """The namespaces that a request is about.

    Attributes
    ----------
    given : str
        The value of ``-n``; empty if ``-n`` is not given or ``-A`` overrides it.
    everywhere : bool
        True for all namespaces.
    source : ClusterSource
        The cluster, whose context may name a namespace.
    """

    given: str
    everywhere: bool
    source: ClusterSource

    @classmethod
    def of(cls, namespace: str, source: ClusterSource, *, everywhere: bool = False) -> NamespaceScope:
        """Return the scope of ``-n`` and ``-A``; ``-A`` overrides ``-n``."""
        return cls("" if everywhere else namespace, everywhere, source)

    @property
    def namespace(self) -> str | None:
        """The only namespace of names without one; ``None`` for all."""
        return None if self.everywhere else self.given or self.source.namespace

    @property
    def selected(self) -> str | None:
        """The only namespace of a selection; ``None`` for all, as a snapshot has no current namespace."""
        return None if self.source.paths and not self.given else self.namespace

    def select(self, objects: Iterable[T], selector: str) -> list[T]:
        """Return the objects in scope that match a label selector; an empty one matches all."""
        query, namespace = parse_label_query(selector) if selector else None, self.selected
        return [
            obj
            for obj in objects
            if namespace in (None, obj.metadata.namespace) and (query is None or matches(query, obj.metadata.labels))
        ]

    def split(self, text: str, what: str, forms: str, prefixes: Sequence[str] = ()) -> tuple[str, str | None]:
        """Split an argument into name and namespace.

        Parameters
        ----------
        text : str
            ``NAME``, ``NAMESPACE/NAME``, or a kind's prefix and ``NAME``.
        what, forms : str
            The kind of object that the argument should name, and the accepted forms, for errors.
        prefixes : sequence of str
            The spellings of the kind before the name.

        Returns
        -------
        name : str
        namespace : str or None
            ``None`` for any namespace.

        Raises
        ------
        InputError
            If the argument is no name, or its namespace differs from the value of ``-n``.
        """
        prefix = next((prefix for prefix in prefixes if text.startswith(prefix)), "")
        own, slash, name = text.removeprefix(prefix).rpartition("/")
        if not name or "/" in own or (prefix and slash):
            raise InputError(f'"{text}" is not the name of a {what}', hint=f"give {forms}")
        if self.given and own and own != self.given:
            raise InputError(f'"{text}" has another namespace than -n {self.given}')
        return name, own or self.namespace

    def __str__(self) -> str:
        namespace = self.selected
        return "any namespace" if namespace is None else f"namespace {namespace}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectRequest:
    """The objects that a request is about: named, in manifests, or selected.

    Attributes
    ----------
    cluster : ClusterRequest
        The cluster that has the objects, or in which they are created.
    names : tuple of str
        Names of objects, and paths of manifests.
    filenames : tuple of str
        Paths of manifests.
    namespace : str
        The namespace of names without one, and of the selection; empty for the default.
    all_namespaces : bool
        True for the objects of all namespaces.
    selector : str
        A label selector; empty for the default selection if nothing is named.
    validation : Validation
        The handling of unknown and duplicate fields of manifests, as with kubectl's ``--validate``.
    """

    cluster: ClusterRequest = field(default_factory=ClusterRequest)
    names: tuple[str, ...] = ()
    filenames: tuple[str, ...] = ()
    namespace: str = ""
    all_namespaces: bool = False
    selector: str = ""
    validation: Validation = Validation.STRICT

    @property
    def named(self) -> bool:
        """True if objects are named, not selected."""
        return bool(self.names or self.filenames)

    @property
    def scope(self) -> NamespaceScope:
        """The namespaces in scope."""
        return NamespaceScope.of(self.namespace, self.cluster.source, everywhere=self.all_namespaces)
