"""Options of ``kubectl drain`` that are missing: why no pod of a node is evicted, and the drain with them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Final

from kschedctl.common.wording import listed
from kschedctl.questions.analyses.drain.blocked import blocked_cures
from kschedctl.questions.analyses.drain.trials import Trials, outcome
from kschedctl.questions.answers.cures import CureData
from kschedctl.trials.simulate.drain import DAEMON_SET, LOCAL_STORAGE, UNMANAGED, DrainOptions

#: The options by the refusals that they lift.
_OPTIONS: Final = {
    DAEMON_SET: "--ignore-daemonsets",
    LOCAL_STORAGE: "--delete-emptydir-data",
    UNMANAGED: "--force",
}
_FIELDS: Final = {
    DAEMON_SET: "ignore_daemon_sets",
    LOCAL_STORAGE: "delete_empty_dir_data",
    UNMANAGED: "force",
}


def refusal_cause(message: str, pods: Sequence[str]) -> str:
    """Return the reason why ``kubectl drain`` evicts no pod of a node, as one clause."""
    names = listed(list(pods), most=3)
    one = len(pods) == 1
    if message == DAEMON_SET:
        verb = "belongs to a DaemonSet" if one else "belong to DaemonSets"
        told = "stays on the node" if one else "stay on the node"
        return f"{names} {verb} and {told}, which kubectl drain accepts only with --ignore-daemonsets"
    if message == LOCAL_STORAGE:
        verb = "has an emptyDir" if one else "have emptyDir volumes"
        return f"{names} {verb}: the data would be lost, which kubectl drain accepts only with --delete-emptydir-data"
    if message == UNMANAGED:
        verb = "has no controller that would recreate it" if one else "have no controllers that would recreate them"
        return f"{names} {verb} on another node"
    return message


def option_cures(trials: Trials, options: DrainOptions) -> Iterator[CureData]:
    """Yield the drain with the missing options; if that is blocked, the changes with which it is not.

    ``--force`` comes last: its pods are lost.
    """
    drained = trials.run.drained
    missing = dict.fromkeys(message for each in drained for message in each.refusals)
    told = [message for message in _OPTIONS if message in missing]
    had = _flags(options)
    for message in told:
        options = _with_option(options, message)
    forced = UNMANAGED in told
    if forced:
        yield own_controller([pod for each in drained for pod in each.refusals.get(UNMANAGED, ())])
    flags = " ".join(_OPTIONS[message] for message in told)
    after = trials.drained_on(trials.end, options)
    if after is None:
        return
    command = f"kubectl drain {' '.join(trials.left)} {' '.join([*had, flags])}"
    if all(each.drained for each in after.drained):
        yield CureData(f"drain with {flags}", outcome(after), (command,))
    elif not forced:
        yield from blocked_cures(trials, after, options, (f"drain with {flags}", command))


def own_controller(pods: Sequence[str]) -> CureData:
    """Return the advice to put pods under a controller."""
    names = listed(list(pods), most=3)
    return CureData(
        f"put {names} under a controller, such as a Deployment, which recreates it on another node",
        "",
        (f"# create a workload with the spec of {names}",),
        "a bare pod is lost with its node; only its owner knows how to start it elsewhere",
    )


def _with_option(options: DrainOptions, message: str) -> DrainOptions:
    return dataclasses.replace(options, **{_FIELDS[message]: True})


def _flags(options: DrainOptions) -> list[str]:
    """Return the options that the drain has already, as kubectl's flags."""
    return [flag for message, flag in _OPTIONS.items() if getattr(options, _FIELDS[message])]
