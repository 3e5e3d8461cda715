"""What differs between releases in what their API servers refuse of a new object, as data; gates are not among it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class ValidationRules:
    """How a release's validation deviates from others.

    Attributes
    ----------
    tolerations_compare : bool
        Whether the operators Lt and Gt of tolerations are known, if perhaps gated; else they are like any wrong one.
    restart_rules_need_policy : bool
        Whether an init container with restart rules must have a restart policy.
    restart_rules_are_counted : bool
        Whether too many restart rules are told as a number of items; else as a length.
    resize_restarts_only_sidecars : bool
        Whether an init container that runs to its end may not be restarted for a resize.
    resize_message_names_pod : bool
        Whether the message about resize policies says that the restart policy is the pod's.
    driver_name_checked_when_empty : bool
        Whether the form of an empty name of a CSI driver is told besides that it is missing.
    templates_need_image_reference : bool
        Whether the image of an image volume must be given in templates too.
    grace_period_not_negative : bool
        Whether a Pod's own grace period must not be below zero.
    restart_actions_listed : bool
        Whether a wrong action of a restart rule is answered with all that the gates allow; else with Restart alone.
    """

    tolerations_compare: bool
    restart_rules_need_policy: bool
    restart_rules_are_counted: bool
    resize_restarts_only_sidecars: bool
    resize_message_names_pod: bool
    driver_name_checked_when_empty: bool
    templates_need_image_reference: bool
    grace_period_not_negative: bool
    restart_actions_listed: bool


VALIDATION_1_34: Final = ValidationRules(
    tolerations_compare=False,
    restart_rules_need_policy=False,
    restart_rules_are_counted=False,
    resize_restarts_only_sidecars=False,
    resize_message_names_pod=False,
    driver_name_checked_when_empty=True,
    templates_need_image_reference=False,
    grace_period_not_negative=False,
    restart_actions_listed=False,
)
VALIDATION_1_35: Final = replace(
    VALIDATION_1_34,
    tolerations_compare=True,
    restart_rules_need_policy=True,
    driver_name_checked_when_empty=False,
)
VALIDATION_1_36: Final = replace(
    VALIDATION_1_35,
    restart_rules_are_counted=True,
    resize_restarts_only_sidecars=True,
    resize_message_names_pod=True,
    restart_actions_listed=True,
)
VALIDATION_1_37: Final = replace(VALIDATION_1_36, templates_need_image_reference=True, grace_period_not_negative=True)
