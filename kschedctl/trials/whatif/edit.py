"""Base classes of what-if edits: option, parser, effect and affected things. ``edits`` has one module per edit.

The command line builds its options from the edit classes, also for ``--help``, which must not import the engine:
modules of edits therefore import the engine only inside the methods that need it (``tests/cli/test_startup.py``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Self

from kschedctl.common.options import Option
from kschedctl.sources.snapshot.validation import Validation

if TYPE_CHECKING:
    from kschedctl.cluster.cluster import Cluster
    from kschedctl.common.findings import Finding
    from kschedctl.objects.pod import Pod
    from kschedctl.objects.releases.release import Release

    #: The changed cluster, and a description of the changes, one line per change.
    Changed = tuple[Cluster, tuple[str, ...]]

#: A thing that an edit changes, from the wider to the narrower part: ``("label", "disk", "of", "node-1")``.
Thing = tuple[object, ...]


class Edit(ABC):
    """A hypothetical change. Edits are data: edits with the same meaning are equal, ``str`` describes an edit."""

    __slots__ = ()

    option: ClassVar[Option]

    @classmethod
    @abstractmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Parse the value of the option.

        Parameters
        ----------
        text : str
            The value.
        namespace : str
            The namespace for a text that names none; empty for ``default``.

        Raises
        ------
        InputError
            If the value cannot be parsed; the hint gives the expected form.
        """

    @classmethod
    def sources(cls, text: str) -> tuple[str, ...]:
        """Return the paths of the files that ``parse`` reads; ``-`` is standard input."""
        return ()

    @abstractmethod
    def apply(self, cluster: Cluster, *, release: Release) -> Changed:
        """Apply the change to a cluster.

        Parameters
        ----------
        cluster : Cluster
            The cluster, which is not modified.
        release : Release
            The Kubernetes release whose API server admits new pods.

        Returns
        -------
        cluster : Cluster
            The cluster after the change.
        changes : tuple of str
            A description of the changes, one line per change.

        Raises
        ------
        InputError
            If the edit names an object that the cluster does not have.
        """

    @abstractmethod
    def things(self) -> Iterator[Thing]:
        """Yield the things that the edit changes.

        Two edits conflict if they change the same thing, or if one changes a part of what the other one changes.
        """

    def things_in(self, cluster: Cluster) -> Iterator[Thing]:
        """Yield the things that the edit changes in a given cluster; by default those of ``things``.

        Raises
        ------
        InputError
            As for ``apply``.
        """
        yield from self.things()


class FileEdit(Edit):
    """A change that is defined by manifests in a file."""

    __slots__ = ()

    @classmethod
    @abstractmethod
    def parse(
        cls,
        text: str,
        namespace: str = "",
        *,
        validation: Validation = Validation.STRICT,
        max_unpacked: int | None = None,
    ) -> Self:
        """Parse the value of the option and read the manifests.

        Args:
            validation: The treatment of fields that an API server would reject.
            max_unpacked: The maximum number of bytes that a compressed file may expand to.

        Raises InputError if the value or the file cannot be read; the hint gives the expected form.
        """

    @property
    @abstractmethod
    def warnings(self) -> tuple[Finding, ...]:
        """The findings about the manifests that are not errors."""


class PodEdit(Edit):
    """A change of the pods that the request is about, not of the cluster.

    The change has the effect of editing the pod's manifest. An edit that removes something leaves a pod without it
    unchanged, so one edit can be tried on many pods. Edits are idempotent.
    """

    __slots__ = ()

    @property
    def after_admission(self) -> bool:
        """True if the edit applies after admission, because an API server would reject a manifest with the change."""
        return False

    @abstractmethod
    def apply_to_pod(self, pod: Pod, cluster: Cluster) -> Pod:
        """Apply the change to a pod and return the changed pod.

        Parameters
        ----------
        pod : Pod
            The pod as written in its manifest or as stored by an API server; it is not modified.
        cluster : Cluster
            The cluster that the pod is to be scheduled in.

        Raises
        ------
        InputError
            If the pod does not have the part that the edit changes.
        """

    @abstractmethod
    def told(self, cluster: Cluster) -> str:
        """Describe the state of the pods after the change.

        Raises
        ------
        InputError
            If the edit names an object that the cluster does not have.
        """

    def apply(self, cluster: Cluster, *, release: Release) -> Changed:
        """Return the cluster unchanged, with the description of the pods after the change."""
        return cluster, (self.told(cluster),)
