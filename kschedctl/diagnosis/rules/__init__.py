"""The rules: each looks at a situation and yields the causes that it finds. The table has the order of importance."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from types import ModuleType
from typing import Final, NamedTuple

from kschedctl.diagnosis.diagnosis import Diagnosis, Situation


class DiagnosisRule(NamedTuple):
    """A rule that is imported when it is first asked: most pods need few of them.

    Attributes
    ----------
    module : str
        The module of the rule, beside this file.
    function : str
        The function in it, which yields the causes.
    """

    module: str
    function: str = "check"

    def load(self) -> ModuleType:
        """Import the module; its docstring is the page of the rule."""
        return import_module(f"{__name__}.{self.module}")

    def check(self, situation: Situation) -> Iterable[Diagnosis]:
        """Return the causes that the rule finds."""
        found: Iterable[Diagnosis] = getattr(self.load(), self.function)(situation)
        return found


#: The rules for pods that are not scheduled. The first cause found is the one of the first line.
RULES: Final[tuple[DiagnosisRule, ...]] = (
    DiagnosisRule("nominated_waits"),
    DiagnosisRule("mistyped_label"),
    DiagnosisRule("missing_claim"),
    DiagnosisRule("unbound_claim"),
    DiagnosisRule("volume_place"),
    DiagnosisRule("waiting_claim"),
    DiagnosisRule("claim_in_use"),
    DiagnosisRule("csi_driver"),
    DiagnosisRule("mistyped_toleration"),
    DiagnosisRule("mistyped_resource"),
    DiagnosisRule("no_device_plugin"),
    DiagnosisRule("foreign_spread"),
    DiagnosisRule("blocked_domain"),
    DiagnosisRule("unhealthy_nodes"),
    DiagnosisRule("reserved_nodes"),
    DiagnosisRule("oversized_request"),
    DiagnosisRule("missing_topology"),
    DiagnosisRule("affinity_matches_no_pod"),
    DiagnosisRule("rolling_update"),
    DiagnosisRule("anti_affinity"),
    DiagnosisRule("host_port_taken"),
    DiagnosisRule("gang_members"),
    DiagnosisRule("devices_in_use"),
    DiagnosisRule("daemon_set_node"),
    DiagnosisRule("device_claims"),
)
#: The rule that always finds a cause; it is asked if no other finds one.
LAST: Final[DiagnosisRule] = DiagnosisRule("obstacles")
#: The rules for pods that a gate keeps out of the queue.
RULES_OF_GATED: Final[tuple[DiagnosisRule, ...]] = (DiagnosisRule("scheduling_gates"), DiagnosisRule("waiting_gang"))
#: The rules for pods that are scheduled, or run.
RULES_OF_PLACED: Final[tuple[DiagnosisRule, ...]] = (
    DiagnosisRule("claim_without_scheduler"),
    DiagnosisRule("attached_elsewhere"),
    DiagnosisRule("csi_driver", "check_placed"),
    DiagnosisRule("provisioning"),
    DiagnosisRule("idle_scheduler"),
)
#: The rule for pods that are bound to a node. It is asked last: a bound pod can fit on no node as well.
OF_BOUND: Final = DiagnosisRule("unstarted")
#: The rules for pods for which kube-scheduler returns an error.
RULES_OF_FAILED: Final[tuple[DiagnosisRule, ...]] = (DiagnosisRule("unscored_claims"),)
#: The only rule for pods that no profile of the configuration schedules.
OF_OTHER_SCHEDULERS: Final = DiagnosisRule("other_scheduler")
