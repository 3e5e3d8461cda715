"""What ``rollout`` does once its options are read: load, find the workload, roll it out, answer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cached_property

from kschedctl.api.wording import listed
from kschedctl.cli.manifests import Given, Manifests, read_manifests
from kschedctl.cli.options.cluster import ChosenCluster
from kschedctl.cli.options.workload import WorkloadOptions
from kschedctl.cli.provenance import provenance
from kschedctl.cli.selection import Scope
from kschedctl.cli.shell import command_line
from kschedctl.cli.workload_names import named_workload, workload_kind
from kschedctl.errors import InputError, ManifestError
from kschedctl.face import SchedulingCluster
from kschedctl.report.document import Document
from kschedctl.report.envelope import Compound
from kschedctl.report.frame import AnswerView
from kschedctl.report.render.form import Outcome, Reply
from kschedctl.report.rollout.answer import rollout_answer
from kschedctl.report.rollout.data import RolledOut
from kschedctl.report.rollout.text import document
from kschedctl.scheduler.missing import require_listed
from kschedctl.simulate.rollout import ROLLED, restarted
from kschedctl.snapshot.pod_choice import is_manifest


class RolloutReply(Reply):
    """One run of ``rollout``.

    Parameters
    ----------
    which : WorkloadOptions
        What is rolled out.
    chosen : ChosenCluster
        The cluster.
    """

    def __init__(self, which: WorkloadOptions, chosen: ChosenCluster) -> None:
        self._which = which
        self._chosen = chosen
        is_path = is_manifest(which.workload)
        self._name = "" if is_path else which.workload
        self._paths = (which.workload,) if is_path else ()

    def value(self) -> RolledOut | Compound:
        """What becomes of the rollout."""
        return self._answer

    def document(self, *, wide: bool) -> Document:
        """The same for people."""
        questions = () if wide else tuple(self._questions())
        return document(self._answer, AnswerView(now=datetime.now(UTC), every=wide, questions=questions))

    def outcome(self) -> Outcome:
        """Whether it finishes."""
        answer = self._answer
        return Outcome(yes=answer.finished, complete=answer.complete)

    @cached_property
    def _loaded(self) -> tuple[SchedulingCluster, Given]:
        which, chosen = self._which, self._chosen
        manifests = read_manifests(
            self._paths,
            which.filename or (),
            chosen.inputs,
            which.namespace,
            validation=which.validation,
            max_unpacked=chosen.source.max_bytes,
        )
        cluster = chosen.load(manifests.others, manifests.written)
        require_listed(cluster.cluster, "Pod")
        cluster = chosen.needing_nodes(cluster)
        return cluster, self._given(manifests, cluster)

    def _given(self, manifests: Manifests, cluster: SchedulingCluster) -> Given:
        """The workload with its new template.

        Raises
        ------
        InputError
            Where none is meant, or several.
        """
        name, scope = self._name, Scope(self._which.namespace, False, self._chosen.source)
        if name and not workload_kind(name):
            raise InputError(f'"{name}" names no workload', hint="give deploy/NAME or sts/NAME")
        if not manifests.given:
            found = named_workload(cluster.cluster, name, scope)
            return Given(restarted(found.obj), found.arguments)
        rolled = [given for given in manifests.given if isinstance(given.obj, ROLLED)]
        if name:
            kind, own = workload_kind(name), name.partition("/")[2]
            rolled = [given for given in rolled if type(given.obj) is kind and given.obj.name == own]
        if len(rolled) == 1:
            return rolled[0]
        if not rolled and len(manifests.given) == 1 and not name:
            # What its kind is lacking is said where it is rolled out.
            return manifests.given[0]
        what = listed([given.shown for given in rolled or manifests.given])
        if rolled:
            raise ManifestError(f"the manifests hold {what}", hint="name the one that is meant, such as deploy/web")
        raise ManifestError(f"the manifests hold no {name or 'Deployment or StatefulSet'}", hint=f"they hold {what}")

    @cached_property
    def _answer(self) -> RolledOut:
        cluster, given = self._loaded
        found = cluster.rollout(given.obj, where=given.where)
        made = cluster.pods_of(found.workload, where=given.where)
        pod = made[0].pod
        rests_on = provenance(cluster, cluster.with_made(made).missing(pod), pod=pod, many=True)
        return rollout_answer(cluster.cluster, found, rests_on)

    def _questions(self) -> Iterator[tuple[str, str]]:
        which = self._which
        words = [which.workload] if which.workload else []
        words += [word for path in which.filename or () for word in ("-f", path)]
        words += ["-n", which.namespace] if which.namespace else []
        words += self._chosen.arguments()
        if self._answer.steps:
            yield "Every step", command_line("rollout", *words, "-o", "wide")
