"""Which claims and classes ``devices`` is about."""

from __future__ import annotations

from typing import Final

from kschedctl.api.device import DeviceClass, ResourceClaim
from kschedctl.api.wording import similar
from kschedctl.cli.selection import Scope
from kschedctl.errors import InputError
from kschedctl.face import SchedulingCluster
from kschedctl.scheduler.missing import require_listed

_CLAIM_PREFIXES: Final = ("claim/", "resourceclaim/", "resourceclaims/")
_CLASS_PREFIXES: Final = ("class/", "deviceclass/", "deviceclasses/")
_FORMS: Final = "NAMESPACE/NAME, claim/NAME, class/NAME or NAME"


def named_subject(cluster: SchedulingCluster, text: str, scope: Scope) -> ResourceClaim | DeviceClass:
    """The claim or class that an argument names; where there are both, the claim.

    Parameters
    ----------
    text : str
        The argument.
    scope : Scope
        The namespace of claims.

    Raises
    ------
    InputError
        Where there is none of the name.
    """
    loaded = cluster.cluster
    if not text.startswith(_CLASS_PREFIXES):
        name, namespace = scope.split(text, "claim", _FORMS, _CLAIM_PREFIXES)
        claim = loaded.get(ResourceClaim, name, namespace or "")
        if claim is not None:
            return claim
    of_class = "" if text.startswith(_CLAIM_PREFIXES) else text.rpartition("/")[2]
    if text.startswith(_CLASS_PREFIXES) or "/" not in text:
        found = loaded.get(DeviceClass, of_class)
        if found is not None:
            return found
    # What may not be listed may be there all the same.
    if not text.startswith(_CLASS_PREFIXES):
        require_listed(loaded, "ResourceClaim")
    if not text.startswith(_CLAIM_PREFIXES):
        require_listed(loaded, "DeviceClass")
    raise _no_such_subject(cluster, text)


def _no_such_subject(cluster: SchedulingCluster, text: str) -> InputError:
    claims = [claim.key for claim in cluster.cluster.list(ResourceClaim)]
    classes = [f"class/{one.name}" for one in cluster.cluster.list(DeviceClass)]
    name = text.rpartition("/")[2]
    by_name = {key.rpartition("/")[2]: key for key in [*classes, *claims]}
    close = [by_name[known] for known in ([name] if name in by_name else similar(name, by_name))]
    there = close or [*claims, *classes]
    hint = f"there is {', '.join(there[:5])}" if there else "the snapshot has no claims for devices and no classes"
    return InputError(f"the snapshot has no claim for devices and no class {text}", hint=hint)
