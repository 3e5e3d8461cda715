"""ImageLocality: nodes that already have the pod's images score higher.

Score: the sum of the sizes of the images on the node, each scaled by the share of nodes that have it, mapped from 23
MiB (score 0) to 1000 MiB per container (score 100). From 1.36 on images mounted as volumes count too, and from 1.37 on
each of them raises the upper threshold by 1000 MiB. The scaling is done in float64 and truncated, as upstream.
"""

from collections.abc import Hashable, Iterator
from typing import Final

import msgspec
import numpy as np

from kschedctl.common.arrays import Int64Array
from kschedctl.common.wording import counted
from kschedctl.objects.pod import Pod
from kschedctl.objects.resources import MEMORY, format_amount
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import Dependencies, Reach
from kschedctl.scheduler.framework.explanation import Arithmetic, Step, sum_expression
from kschedctl.scheduler.framework.interface import MAX_NODE_SCORE, ScorePlugin

_MIB: Final = 1024 * 1024
_MIN_THRESHOLD: Final = 23 * _MIB
_MAX_THRESHOLD_PER_IMAGE: Final = 1000 * _MIB
_NO_ROWS: Final = np.zeros(0, dtype=np.int64)


def normalized_image_name(name: str) -> str:
    """Return the image name with a tag: ``:latest`` is appended if there is none."""
    return f"{name}:latest" if name.rfind(":") <= name.rfind("/") else name


def scaled_size(size_bytes: int, n_holders: int, n_nodes: int) -> int:
    """Return an image's size in bytes times the share of nodes that have the image, truncated.

    >>> scaled_size(1000, 1, 3)
    333
    """
    return int(float(size_bytes) * (float(n_holders) / float(n_nodes)))


class ScaledImage(msgspec.Struct, frozen=True, rename="camel"):
    """An image of the pod."""

    #: The image name in the pod's spec.
    name: str
    #: The image's size on the node in bytes; 0 if the node does not have the image.
    size: int
    #: The number of nodes that have the image.
    holders: int
    nodes: int


class ImagesScore(Arithmetic, frozen=True):
    """The score of ImageLocality."""

    #: The pod's images that are scored.
    images: tuple[ScaledImage, ...]
    #: The upper threshold in bytes.
    most: int
    score: int

    def formula(self) -> str:
        return "100 * (present - 23Mi) // (1000Mi per image - 23Mi), present: sizes times the share of nodes with them"

    def steps(self) -> Iterator[Step]:
        scaled = []
        for image in self.images:
            if not image.size:
                yield Step(image.name, "0", 0, "the node does not have it")
                continue
            scaled.append(scaled_size(image.size, image.holders, image.nodes))
            note = f"{format_amount(MEMORY, image.size)}, on {image.holders} of {counted(image.nodes, 'node')}"
            yield Step(image.name, f"trunc({image.size} * ({image.holders} / {image.nodes}))", scaled[-1], note)
        total = sum(scaled)
        if total < _MIN_THRESHOLD:
            present = _MIN_THRESHOLD
            yield Step("present", str(present), present, "bytes, at least 23Mi")
        else:
            present = min(total, self.most)
            yield Step("present", f"min({sum_expression(map(str, scaled))}, {self.most})", present, "bytes")
        expression = f"100 * ({present} - {_MIN_THRESHOLD}) // ({self.most} - {_MIN_THRESHOLD})"
        yield Step("score", expression, self.score)


class ImageLocality(ScorePlugin):
    """Upstream: plugins/imagelocality."""

    name = "ImageLocality"
    reads = Dependencies(nodes=Reach.CLUSTER)

    def sign_pod(self, pod: Pod) -> Hashable:
        containers = (*pod.spec.containers, *pod.spec.init_containers)
        return tuple(sorted({normalized_image_name(container.image) for container in containers}))

    def score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Int64Array:
        nodes = self.handle.cluster.nodes
        wanted, n_counted = self._wanted(pod)
        present = np.zeros(len(nodes), dtype=np.int64)
        for image in wanted:
            found = nodes.images.get(normalized_image_name(image))
            if found is not None:
                holders, size = found
                present[holders] += scaled_size(size, len(holders), len(nodes))
        most = _MAX_THRESHOLD_PER_IMAGE * n_counted
        # Not np.clip: without containers the upper bound is below the lower one. Upstream tests the lower one first.
        bounded = np.where(present < _MIN_THRESHOLD, _MIN_THRESHOLD, np.minimum(present, most))
        return (MAX_NODE_SCORE * (bounded - _MIN_THRESHOLD) // (most - _MIN_THRESHOLD))[rows]

    def _wanted(self, pod: Pod) -> tuple[list[str], int]:
        """Return the images that the pod needs, and the number of those that raise the upper threshold."""
        release = self.handle.release
        wanted = [container.image for container in (*pod.spec.init_containers, *pod.spec.containers)]
        n_counted = len(wanted)
        if release.image_volumes_have_locality:
            wanted += [volume.image.reference for volume in pod.spec.volumes if volume.image is not None]
        if release.image_volumes_raise_threshold:
            n_counted = len(wanted)
        return wanted, n_counted

    def explain_score(self, state: CycleState, pod: Pod, row: int) -> Arithmetic:
        nodes = self.handle.cluster.nodes
        wanted, n_counted = self._wanted(pod)
        images = []
        for image in wanted:
            holders, size = nodes.images.get(normalized_image_name(image)) or (_NO_ROWS, 0)
            here = bool(np.isin(row, holders))
            images.append(ScaledImage(image, size if here else 0, len(holders), len(nodes)))
        score = int(self.score(state, pod, np.array([row], dtype=np.int64))[0])
        return ImagesScore(tuple(images), _MAX_THRESHOLD_PER_IMAGE * n_counted, score)
