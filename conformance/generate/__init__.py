"""Random cases: small clusters, each with a pod to schedule, one module per theme; the same seed gives the same bytes.

A case may use fields and objects that only newer releases have: an older release ignores the fields, or has no answer.
Rare states rotate with the number of the case, so that 150 cases of a theme include each of them.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final, NamedTuple

from conformance.generate.config import config
from conformance.generate.devices import devices
from conformance.generate.dra import dra
from conformance.generate.features import features
from conformance.generate.groups import groups
from conformance.generate.groups_parts import APIS, TREES
from conformance.generate.images import images
from conformance.generate.interpod import interpod
from conformance.generate.mixed import mixed
from conformance.generate.newest import newest
from conformance.generate.nodeaffinity import nodeaffinity
from conformance.generate.ports import ports
from conformance.generate.preemption import preemption
from conformance.generate.release138 import release138
from conformance.generate.resources import resources
from conformance.generate.scene import Object, Scene
from conformance.generate.sequence import sequence
from conformance.generate.spread import spread
from conformance.generate.start import start
from conformance.generate.taints import taints
from conformance.generate.trees import trees
from conformance.generate.volumes import volumes
from kschedctl.objects.releases.release import LATEST, RELEASES


class Theme(NamedTuple):
    """A theme: the generator of its cases and the size of their clusters.

    Attributes
    ----------
    make : callable
        Adds the theme's objects and fields to the start cluster.
    pods : int or None
        The maximum number of pods in the start cluster; None for up to three per node, at most 50.
    nodes : (int, int) or None
        The minimum and maximum number of nodes; None for one to fourteen.
    releases : collection of str or None
        The releases that can answer the cases; None for all.
    """

    make: Callable[[Scene], None]
    pods: int | None = None
    nodes: tuple[int, int] | None = None
    releases: Collection[str] | None = None


def _since(first: str) -> Collection[str]:
    """Return a release and all later ones."""
    known = [*RELEASES]
    return known[known.index(first) :]


THEMES: Final[Mapping[str, Theme]] = {
    "resources": Theme(resources, pods=0),
    "taints": Theme(taints),
    "nodeaffinity": Theme(nodeaffinity),
    "ports": Theme(ports, pods=6),
    "images": Theme(images, pods=10),
    "config": Theme(config, pods=12),
    "features": Theme(features, pods=8),
    "newest": Theme(newest, pods=6, nodes=(3, 9)),
    "release138": Theme(release138, pods=6, nodes=(3, 8), releases=_since("1.38")),
    "spread": Theme(spread, pods=8),
    "interpod": Theme(interpod, pods=8),
    "volumes": Theme(volumes, pods=5),
    "preemption": Theme(preemption, pods=10),
    "dra": Theme(dra, pods=6, nodes=(3, 8)),
    "devices": Theme(devices, pods=6, nodes=(3, 8)),
    "mixed": Theme(mixed, pods=12),
    "sequence": Theme(sequence, pods=8, nodes=(3, 8)),
    "groups": Theme(groups, pods=0, nodes=(3, 10), releases=APIS),
    "trees": Theme(trees, pods=0, nodes=(3, 10), releases=TREES),
}


def themes(release: str) -> list[str]:
    """Return the themes whose cases a release can answer."""
    return [name for name, theme in THEMES.items() if theme.releases is None or release in theme.releases]


def release_of(theme: str) -> str:
    """Return the release in whose API the cases of a theme are by default: the latest one, if it can answer them."""
    known = THEMES[theme].releases
    return LATEST.version if known is None or LATEST.version in known else [*known][-1]


def case(theme: str, seed: int, number: int, n_nodes: int = 0, release: str | None = None) -> Object:
    """Return case ``number`` of a theme and seed, in the API of a release where the theme's differs."""
    scene, how = Scene(theme, seed, number, n_nodes, release or release_of(theme)), THEMES[theme]
    n_pods = None if how.pods is None else scene.between(0, how.pods)
    start(scene, scene.between(*how.nodes) if how.nodes else None, n_pods)
    how.make(scene)
    if theme == "images" and scene.odds(0.25):
        taints(scene)
    return scene.case()


def cases(theme: str, seed: int, count: int, n_nodes: int = 0, release: str | None = None) -> Iterator[Object]:
    """Yield the first ``count`` cases of a theme and seed."""
    for number in range(1, count + 1):
        yield case(theme, seed, number, n_nodes, release)
