"""The choice of the release: the requested one, else the cluster's, else the newest published one."""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import msgspec
from msgspec.structs import replace

from kschedctl.common.errors import UnsupportedError
from kschedctl.common.text.patterns import pattern
from kschedctl.objects.releases.release import LATEST, PATCH_RELEASES, RELEASES, Release

_VERSION: Final = pattern(r"v?(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?(?:[.+-].*)?", re.ASCII)


class ChosenBy(StrEnum):
    """The source of the chosen version, by descending precedence."""

    OPTION = "option"
    CONTROL_PLANE = "controlPlane"
    KUBELET = "kubelet"
    DEFAULT = "default"


class ReleaseChoice(msgspec.Struct, frozen=True):
    """A release and the reason why it was chosen."""

    #: The release whose rules apply.
    release: Release
    #: The source of the version.
    chosen_by: ChosenBy
    #: The version of the control plane or kubelet, as the cluster reports it; empty for an option or the default.
    cluster_version: str = ""
    #: True if the cluster's own release is not modelled and this one is the nearest.
    nearest: bool = False
    #: Feature gates that are on because the cluster's objects show that they are, although they are off by
    #: default.
    shown_gates: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """The reason of the choice, in a few words."""
        if self.shown_gates:
            *first, last = self.shown_gates
            gates = f"{', '.join(first)} and {last} are" if first else f"{last} is"
            return f"{self._reason_words}; its pod groups show that {gates} on"
        return self._reason_words

    @property
    def _reason_words(self) -> str:
        match self.chosen_by:
            case ChosenBy.OPTION:
                return "as requested"
            case ChosenBy.CONTROL_PLANE:
                return f"the control plane is {self.cluster_version}"
            case ChosenBy.KUBELET:
                return f"the newest kubelet is {self.cluster_version}"
            case ChosenBy.DEFAULT:
                return "the snapshot has no version"

    @property
    def warning(self) -> str:
        """A warning if the cluster's release is not modelled; else empty."""
        if not self.nearest:
            return ""
        return (
            f"not modelled: the cluster's version {self.cluster_version}; the rules of Kubernetes "
            f"{self.release.version} are the nearest, and the answer may differ from the cluster's"
        )


def choose_release(requested: str, server_version: str, kubelet_versions: Iterable[str]) -> ReleaseChoice:
    """Choose the release whose rules apply.

    Args:
        requested: The requested version, such as ``1.36`` or ``v1.36.3``; empty for none.
        server_version: The control plane's version; empty if it is unknown.
        kubelet_versions: The kubelet versions of the nodes; the newest one counts.

    A version with a patch number, such as ``v1.37.2``, means the rules of that patch release.

    Raises UnsupportedError if the requested version is not modelled.

    >>> choose_release("", "v1.35.4", ["v1.34.1"]).release.version
    '1.35'
    >>> choose_release("", "", ["v1.34.1", "v1.29.0"]).why
    'the newest kubelet is v1.34.1'
    """
    if ".." in requested:
        raise UnsupportedError(
            f"Kubernetes {requested} is a range of releases", hint="give one release: only diff compares two"
        )
    if requested:
        minor = _minor(requested)
        release = RELEASES.get(f"{minor[0]}.{minor[1]}") if minor else None
        if release is None:
            known = ", ".join(RELEASES)
            raise UnsupportedError(f"Kubernetes {requested} is not modelled", hint=f"the versions are {known}")
        return ReleaseChoice(_patched(release, requested), ChosenBy.OPTION)
    if _minor(server_version):
        return _nearest(ReleaseChoice(LATEST, ChosenBy.CONTROL_PLANE, server_version))
    kubelets = [version for version in kubelet_versions if _minor(version)]
    if kubelets:
        return _nearest(ReleaseChoice(LATEST, ChosenBy.KUBELET, max(kubelets, key=_patch)))
    return ReleaseChoice(LATEST, ChosenBy.DEFAULT)


def _nearest(choice: ReleaseChoice) -> ReleaseChoice:
    minors = {minor: release for release in RELEASES.values() if (minor := _minor(release.version)) is not None}
    wanted = _minor(choice.cluster_version)
    assert wanted is not None
    bounded = min(max(wanted, min(minors)), max(minors))
    if bounded != wanted:
        return replace(choice, release=minors[bounded], nearest=True)
    return replace(choice, release=_patched(minors[wanted], choice.cluster_version))


def _patched(release: Release, version: str) -> Release:
    """Return the rules of the patch release that a version names, or those of the minor release."""
    match = _VERSION.fullmatch(version.strip())
    patch = int(match[3] or 0) if match else 0
    known = [rules for number, rules in PATCH_RELEASES.get(release.version, ()) if number <= patch]
    return known[-1] if known else release


def _minor(version: str) -> tuple[int, int] | None:
    match = _VERSION.fullmatch(version.strip())
    return (int(match[1]), int(match[2])) if match else None


def _patch(version: str) -> tuple[int, ...]:
    """Return a sort key for versions: major, minor, patch."""
    return tuple(int(number) for number in re.findall(r"\d{1,9}", version)[:3])
