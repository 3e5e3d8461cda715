"""Pod signatures: the parts of a pod that plugin results depend on, in a comparable form (upstream ``SignPod``)."""

from __future__ import annotations

from collections.abc import Hashable

import msgspec

from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.runtime import Framework

#: The extension points whose plugins must all sign a pod; otherwise the pod has no signature.
_POINTS = (ExtensionPoint.PRE_FILTER, ExtensionPoint.FILTER, ExtensionPoint.PRE_SCORE, ExtensionPoint.SCORE)

_encode = msgspec.json.Encoder(order="deterministic").encode


def sign_pod(framework: Framework, pod: Pod) -> Hashable | None:
    """Return the signature of a pod under a profile; ``None`` if a plugin cannot sign the pod."""
    names = dict.fromkeys(name for point in _POINTS for name in framework.profile.plugins.get(point, ()))
    fragments = []
    for name in names:
        fragment = framework.plugin(name).sign_pod(pod)
        if fragment is None:
            return None
        fragments.append(fragment)
    return pod.spec.scheduler_name, *fragments


def encoded(part: object) -> bytes:
    """Return a part of a pod in a comparable form."""
    return _encode(part)


def signed_volumes(pod: Pod) -> bytes:
    """Return the part of a pod that volume plugins depend on: its volumes without their names, sorted."""
    volumes = (msgspec.structs.replace(volume, name="") for volume in pod.spec.volumes)
    return b"\n".join(sorted(encoded(volume) for volume in volumes))


def signed_tolerations(pod: Pod) -> bytes:
    """Return the part of a pod that taint plugins depend on: its tolerations, sorted by key and value."""
    return encoded(sorted(pod.spec.tolerations, key=lambda toleration: (toleration.key, toleration.value)))
