"""A question as it was asked: its parameters, the changes to try and the manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final, Generic, TypeVar

import msgspec
from msgspec import Meta

from kschedctl.common.errors import InputError
from kschedctl.common.findings import Location
from kschedctl.objects.meta import ApiObject
from kschedctl.questions.face import SchedulingCluster
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.loading import ClusterRequest, ClusterSource
from kschedctl.questions.manifests import ManifestRequest, Manifests, read_manifests
from kschedctl.sources.snapshot.files import STDIN
from kschedctl.trials.whatif.edit import Edit, FileEdit
from kschedctl.trials.whatif.edits import EDITS, Apply, WhatIfs

#: The what-ifs that a request can have: those that read no file.
OFFERED: Final[tuple[type[Edit], ...]] = tuple(edit for edit in EDITS if not issubclass(edit, FileEdit))
#: The largest manifest after unpacking, in bytes.
MOST_UNPACKED: Final = 16 * 2**20


class Query(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """Base of the parameters of questions, named as the options of the command line."""


class NoParameters(Query, frozen=True, kw_only=True):
    """No parameters."""


#: The parameters that name an object.
Namespace = Annotated[str, Meta(description="The namespace of the object.")]
Name = Annotated[str, Meta(description="The name of the object.")]
#: The seed of random choices.
Seed = Annotated[
    Annotated[int, Meta(ge=0, le=2**63 - 1)] | None,
    Meta(description="Seed of the random choice among equal nodes; by default all of them, or the first by name."),
]


class ObjectQuery(Query, frozen=True, kw_only=True):
    """The name of an object in a namespace."""

    namespace: Namespace
    name: Name


Q = TypeVar("Q", bound=Query, covariant=True)


@dataclass(frozen=True, slots=True)
class Asked(Generic[Q]):
    """A question as it was asked.

    Attributes
    ----------
    query : Query
        The parameters.
    what_ifs : mapping of str to tuple of str
        The values of the what-if options, by the names of the options.
    body : bytes
        The manifests; empty if there are none.
    compare : tuple of ClusterRequest
        The snapshots that the cluster may be compared with, each with the rules of the cluster.
    """

    query: Q
    what_ifs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    body: bytes = b""
    compare: tuple[ClusterRequest, ...] = ()

    def over(
        self,
        cluster: SchedulingCluster,
        handle: AnalysisHandle,
        manifests: Sequence[tuple[ApiObject, Location]] = (),
    ) -> SchedulingCluster:
        """Return the cluster with the manifests' objects applied first, and then the changes to try.

        Raises
        ------
        InputError
            If a change cannot be made.
        """
        edits: list[Edit] = [Apply(tuple(manifests), source="manifests")] if manifests else []
        edits += WhatIfs(texts=self.what_ifs).edits(handle.warn_of)
        return cluster.what_if(*edits) if edits else cluster

    def content(self) -> bytes:
        """Return the text of the manifests.

        Raises
        ------
        InputError
            If there is none.
        """
        if not self.body.strip():
            raise InputError("the request has no manifest", hint="send it as the body, as YAML or JSON")
        return self.body

    def manifests(self, handle: AnalysisHandle, namespace: str = "") -> Manifests:
        """Read the manifests.

        Parameters
        ----------
        namespace : str
            The namespace of objects that name none; empty for ``default``.

        Raises
        ------
        InputError
            If something is wrong with the manifests, or there are none.
        """
        request = ManifestRequest(paths=(STDIN,), namespace=namespace, content=self.content())
        return read_manifests(request, ClusterRequest(source=ClusterSource(max_bytes=MOST_UNPACKED)), handle)
