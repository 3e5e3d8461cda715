"""ImageLocality: nodes that already have the pod's images score higher.

Score: the sizes of the present images, each scaled by the share of nodes that have it, between 23 MiB (0) and
1000 MiB per container (100), from 1.37 on per container and image volume. The scaling is done in float64 and truncated,
as upstream.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

import numpy as np

from kschedctl.api.pod import Pod
from kschedctl.arrays import Int64Array
from kschedctl.framework.cycle_state import CycleState
from kschedctl.framework.interface import MAX_NODE_SCORE, ScorePlugin
from kschedctl.framework.reads import Reach, Reads

_MIB: Final = 1024 * 1024
_MIN_THRESHOLD: Final = 23 * _MIB
_MAX_THRESHOLD_PER_IMAGE: Final = 1000 * _MIB


def normalized_image_name(name: str) -> str:
    """An image name with a tag: ``:latest`` where it has none."""
    return f"{name}:latest" if name.rfind(":") <= name.rfind("/") else name


def scaled_size(size_bytes: int, n_holders: int, n_nodes: int) -> int:
    """An image's size in bytes times the share of nodes that have it, truncated.

    Examples
    --------
    >>> scaled_size(1000, 1, 3)
    333
    """
    return int(float(size_bytes) * (float(n_holders) / float(n_nodes)))


class ImageLocality(ScorePlugin):
    """Upstream: plugins/imagelocality."""

    name = "ImageLocality"
    reads = Reads(nodes=Reach.CLUSTER)

    def sign_pod(self, pod: Pod) -> Hashable:
        """The images of its containers."""
        containers = (*pod.spec.containers, *pod.spec.init_containers)
        return tuple(sorted({normalized_image_name(container.image) for container in containers}))

    def score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Int64Array:
        """Scale the bytes that need not be pulled into 0..100."""
        nodes = self.handle.cluster.nodes
        release = self.handle.release
        wanted = [container.image for container in (*pod.spec.init_containers, *pod.spec.containers)]
        n_counted = len(wanted)
        if release.image_volumes_have_locality:
            wanted += [volume.image.reference for volume in pod.spec.volumes if volume.image is not None]
        if release.image_volumes_raise_threshold:
            n_counted = len(wanted)
        present = np.zeros(len(nodes), dtype=np.int64)
        for image in wanted:
            found = nodes.images.get(normalized_image_name(image))
            if found is not None:
                holders, size = found
                present[holders] += scaled_size(size, len(holders), len(nodes))
        most = _MAX_THRESHOLD_PER_IMAGE * n_counted
        # Not clip: with no containers the bounds are the wrong way round, and the lower one is looked at first.
        bounded = np.where(present < _MIN_THRESHOLD, _MIN_THRESHOLD, np.minimum(present, most))
        return (MAX_NODE_SCORE * (bounded - _MIN_THRESHOLD) // (most - _MIN_THRESHOLD))[rows]
