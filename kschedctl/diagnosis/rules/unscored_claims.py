"""kube-scheduler 1.35 cannot score the nodes for a pod with several ResourceClaims of which one is allocated already.

Its plugin DynamicResources allocates only the new claims, then expects an allocation for each claim of the pod, and
returns an error. The pod is tried again and again, with the same error, unless only one node fits: then nodes are not
scored. kube-scheduler 1.36 scores such pods.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.common.wording import listed
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis
from kschedctl.diagnosis.situation import Situation
from kschedctl.scheduler.framework.remedy import Risk
from kschedctl.scheduler.plugins.dynamic_resources.filtering import State

_ERROR: Final = "is smaller than number of claims"


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the allocated claims, if the nodes cannot be scored because of them."""
    state = situation.decision.state.read(State)
    if state is None or not situation.decision.error.endswith(_ERROR):
        return
    allocated = [claim.name for claim in state.claims if claim.status.allocation is not None]
    new = [claim.name for claim in state.claims if claim.status.allocation is None]
    yield Diagnosis(
        rule="unscored-claims",
        cause=(
            "kube-scheduler 1.35 cannot score nodes for a pod with both allocated and new ResourceClaims: allocated "
            f"{listed(allocated)}, new {listed(new)}"
        ),
        advice=(
            Advice(
                summary="upgrade kube-scheduler to 1.36, which scores such pods",
                risk=Risk.SHARED,
                untried="another release decides differently elsewhere, too: diff --against-version 1.36",
            ),
            Advice(
                summary="disable the extension point score of DynamicResources in the profile of kube-scheduler",
                risk=Risk.SHARED,
                untried="the configuration is a file on the control plane",
                command="# plugins: {score: {disabled: [{name: DynamicResources}]}}",
            ),
            Advice(
                summary="request all devices in one ResourceClaim",
                risk=Risk.POD,
                untried="the claims of a pod cannot be changed, so a new claim and a new pod are needed",
            ),
        ),
    )
