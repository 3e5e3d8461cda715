"""What every what-if has: an option, a parser, an effect, and what it is about. A module per edit is in ``edits``.

The command line makes its options of the edits, for ``--help`` too, which must not pay for the engine: the modules of
edits import what an effect needs when it is made (``tests/cli/test_startup.py``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from kschedctl.snapshot.validation import Validation

if TYPE_CHECKING:
    from kschedctl.api.pod import Pod
    from kschedctl.cluster.cluster import Cluster
    from kschedctl.findings.finding import Finding
    from kschedctl.releases.release import Release

    #: A cluster after a change, and what was changed in words, a line each.
    Changed = tuple[Cluster, tuple[str, ...]]

#: What an edit changes, from the wider to the narrower: ``("label", "disk", "of", "node-1")``.
Thing = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Option:
    """The option of an edit on the command line.

    Attributes
    ----------
    flag : str
        Such as ``--fail-zone``.
    metavar : str
        What its value looks like.
    help : str
        What it asks, in a sentence.
    """

    flag: str
    metavar: str
    help: str

    @property
    def name(self) -> str:
        """The flag as the name of a parameter, and of the edit's module."""
        return self.flag.removeprefix("--").replace("-", "_")


class Edit(ABC):
    """A change that can be tried. Edits are data: two that mean the same are equal, and ``str`` writes one down."""

    __slots__ = ()

    option: ClassVar[Option]

    @classmethod
    @abstractmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Read the value of the option.

        Parameters
        ----------
        text : str
            The value.
        namespace : str
            The namespace where the text names none; empty for the default one.

        Raises
        ------
        InputError
            Where it cannot be read, with what is expected.
        """

    @classmethod
    def sources(cls, text: str) -> tuple[str, ...]:
        """The files that ``parse`` reads; ``-`` is standard input."""
        return ()

    @abstractmethod
    def apply(self, cluster: Cluster, *, release: Release) -> Changed:
        """Make the change.

        Parameters
        ----------
        cluster : Cluster
            The cluster. It stays as it is.
        release : Release
            The release whose API server takes new pods.

        Returns
        -------
        cluster : Cluster
            The cluster after the change.
        changes : tuple of str
            What was changed, in words.

        Raises
        ------
        InputError
            Where it is about something that is not there.
        """

    @abstractmethod
    def things(self) -> Iterator[Thing]:
        """What it changes. Two edits of the same thing, or of one within the other, cannot both be meant."""

    def things_in(self, cluster: Cluster) -> Iterator[Thing]:
        """What it changes in a cluster, where that tells more.

        Raises
        ------
        InputError
            As ``apply``.
        """
        yield from self.things()


class FileEdit(Edit):
    """A change that manifests say."""

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
        """Read the value of the option, and the manifests.

        Parameters
        ----------
        text, namespace
            As for ``Edit.parse``.
        validation : Validation
            What becomes of fields that an API server would not take.
        max_unpacked : int, optional
            The most bytes that are unpacked.

        Raises
        ------
        InputError
            Where it cannot be read, with what is expected.
        """

    @property
    @abstractmethod
    def warnings(self) -> tuple[Finding, ...]:
        """What is wrong with the manifests and not refused."""


class PodEdit(Edit):
    """A change of the pods that are asked about, not of the cluster.

    It means what editing the pod's manifest would mean. Pods that do not have what it drops stay as they are, so that
    one edit can be tried on many pods; made a second time it changes nothing.
    """

    __slots__ = ()

    @property
    def after_admission(self) -> bool:
        """Whether it takes effect on the admitted pod, because no manifest could say so."""
        return False

    @abstractmethod
    def apply_to_pod(self, pod: Pod, cluster: Cluster) -> Pod:
        """Make the change to a pod.

        Parameters
        ----------
        pod : Pod
            The pod, as written or as stored. It stays as it is.
        cluster : Cluster
            The cluster that it is decided for in.

        Raises
        ------
        InputError
            Where the pod does not have what is to be changed.
        """

    @abstractmethod
    def told(self, cluster: Cluster) -> str:
        """What pods have afterwards, in words.

        Raises
        ------
        InputError
            Where it names something that the cluster does not have.
        """

    def apply(self, cluster: Cluster, *, release: Release) -> Changed:
        """Leave the cluster as it is, and say what the pods have."""
        return cluster, (self.told(cluster),)
