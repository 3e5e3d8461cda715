"""What ``devices`` does once its options are read: load, look."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property

from kschedctl.api.device import DeviceClass, ResourceClaim
from kschedctl.cli.devices.subjects import named_subject
from kschedctl.cli.options.cluster import ChosenCluster
from kschedctl.cli.provenance import provenance
from kschedctl.cli.selection import Scope
from kschedctl.cli.shell import command_line
from kschedctl.devices.inventory import KINDS, Inventory
from kschedctl.devices.places import claim_of_class
from kschedctl.face import SchedulingCluster
from kschedctl.report.devices.answer import claim_answer, class_answer, overview_answer
from kschedctl.report.devices.data import DevicesList, DevicesOverview, DeviceSupply
from kschedctl.report.devices.text import overview_document, supply_document
from kschedctl.report.document import GAP, Document
from kschedctl.report.envelope import Answer, Compound
from kschedctl.report.frame import AnswerView
from kschedctl.report.render.form import Outcome, Reply
from kschedctl.scheduler.missing import missing_for_devices, require_listed


class DevicesReply(Reply):
    """One run of ``devices``.

    Parameters
    ----------
    names : tuple of str
        The claims and classes; without any the devices are listed.
    namespace : str
        Where claims are; empty for the default.
    """

    def __init__(self, names: tuple[str, ...], namespace: str, cluster: ChosenCluster) -> None:
        self._names = names
        self._scope = Scope(namespace, everywhere=False, source=cluster.source)
        self._chosen = cluster

    def value(self) -> Answer | Compound:
        """The answer, or a list where several are asked about."""
        answers = self._answers
        return answers[0] if len(answers) == 1 else DevicesList(items=tuple(answers))

    def document(self, *, wide: bool) -> Document:
        """One answer after the other."""
        now = datetime.now(UTC)
        for i, answer in enumerate(self._answers):
            if i:
                yield from (GAP, GAP)
            if isinstance(answer, DevicesOverview):
                questions = (("Every device", self._command((), "-o", "wide")),)
                shown = AnswerView(now=now, questions=questions if answer.pools and not wide else (), every=wide)
                yield from overview_document(answer, shown)
            else:
                questions = (("Every node", self._command((answer.argument,), "-o", "wide")),)
                shown = AnswerView(now=now, questions=questions if answer.places and not wide else (), every=wide)
                yield from supply_document(answer, shown)

    def outcome(self) -> Outcome:
        """Whether every pool is used, and everything that is asked about can be allocated somewhere."""
        return Outcome(
            yes=all(answer.usable for answer in self._answers),
            complete=all(answer.complete for answer in self._answers),
        )

    @cached_property
    def _answers(self) -> list[DevicesOverview | DeviceSupply]:
        cluster = self._chosen.load(())
        rules = cluster.release_choice.release.devices
        inventory = cluster.cluster.derived(Inventory, rules, lambda: Inventory(cluster.cluster, rules), of=KINDS)
        if not self._names:
            require_listed(cluster.cluster, "ResourceSlice")
            return [overview_answer(inventory, provenance(cluster, missing_for_devices(cluster.cluster, ())))]
        subjects = [named_subject(cluster, name, self._scope) for name in self._names]
        return [_answer(cluster, inventory, subject) for subject in subjects]

    def _command(self, arguments: Sequence[str], *words: str) -> str:
        return command_line("devices", *arguments, *self._chosen.arguments(), *words)


def _answer(cluster: SchedulingCluster, inventory: Inventory, subject: ResourceClaim | DeviceClass) -> DeviceSupply:
    if isinstance(subject, DeviceClass):
        claim = claim_of_class(subject.name)
        return class_answer(subject, inventory, provenance(cluster, missing_for_devices(cluster.cluster, [claim])))
    return claim_answer(subject, inventory, provenance(cluster, missing_for_devices(cluster.cluster, [subject])))
