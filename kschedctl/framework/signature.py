"""Signatures: what plugins' answers depend on of a pod, in a form that can be compared (upstream ``SignPod``)."""

from __future__ import annotations

from collections.abc import Hashable

import msgspec

from kschedctl.api.pod import Pod
from kschedctl.framework.extension_point import ExtensionPoint
from kschedctl.framework.runtime import Framework

#: Where plugins must be able to sign, or nothing is signed.
_POINTS = (ExtensionPoint.PRE_FILTER, ExtensionPoint.FILTER, ExtensionPoint.PRE_SCORE, ExtensionPoint.SCORE)

_encode = msgspec.json.Encoder(order="deterministic").encode


def sign_pod(framework: Framework, pod: Pod) -> Hashable | None:
    """The signature of a pod under a profile; ``None`` where some plugin cannot give one."""
    names = dict.fromkeys(name for point in _POINTS for name in framework.profile.plugins.get(point, ()))
    fragments = []
    for name in names:
        fragment = framework.plugin(name).sign_pod(pod)
        if fragment is None:
            return None
        fragments.append(fragment)
    return pod.spec.scheduler_name, *fragments


def encoded(part: object) -> bytes:
    """A part of a pod in a form that can be compared."""
    return _encode(part)


def signed_volumes(pod: Pod) -> bytes:
    """What the plugins of volumes depend on: all volumes but those of config maps and secrets."""
    volumes = (msgspec.structs.replace(volume, name="") for volume in pod.spec.volumes)
    return b"\n".join(sorted(encoded(volume) for volume in volumes))


def signed_tolerations(pod: Pod) -> bytes:
    """What the plugins of taints depend on."""
    return encoded(sorted(pod.spec.tolerations, key=lambda toleration: (toleration.key, toleration.value)))
