"""Which claims and pods ``volumes`` is about: named, in manifests, or selected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

from kschedctl.api.pod import Pod
from kschedctl.api.volume import PersistentVolumeClaim
from kschedctl.api.wording import similar
from kschedctl.cli.manifests import Given, read_manifests
from kschedctl.cli.options.cluster import ChosenCluster
from kschedctl.cli.options.pods import ScopeOptions
from kschedctl.cli.selection import POD_PREFIXES, Scope, in_scope, named_pod
from kschedctl.cli.shell import command_line
from kschedctl.errors import InputError
from kschedctl.face import SchedulingCluster
from kschedctl.findings.finding import Where
from kschedctl.scheduler.missing import require_listed
from kschedctl.snapshot.pod_choice import is_manifest

_CLAIM_PREFIXES: Final = ("pvc/", "persistentvolumeclaim/", "persistentvolumeclaims/")
_FORMS: Final = "NAMESPACE/NAME, pvc/NAME, pod/NAME, NAME or the path of a manifest"


@dataclass(frozen=True, slots=True)
class Subject:
    """A claim or a pod, the arguments that ask for it, and where it was read."""

    subject: Pod | PersistentVolumeClaim
    arguments: tuple[str, ...] = ()
    where: Where = ""


@dataclass(frozen=True, slots=True)
class SubjectSelection:
    """The claims and pods that options mean.

    Attributes
    ----------
    names : tuple of str
        The arguments.
    options : ScopeOptions
        Where they are, and which are meant where none is named.
    """

    names: tuple[str, ...]
    options: ScopeOptions
    cluster: ChosenCluster

    @property
    def named(self) -> bool:
        """Whether they are named, not selected."""
        return bool(self.names or self.options.filename)

    @property
    def scope(self) -> Scope:
        """The namespaces that are meant."""
        return Scope.of(self.options, self.cluster.source)

    def load(self) -> tuple[SchedulingCluster, list[Subject]]:
        """Load the cluster and find the claims and pods.

        Raises
        ------
        KschedctlError
            Where the cluster or a manifest cannot be read, or there is no such claim or pod.
        """
        if self.named and self.options.selector:
            raise InputError("claims are named and a selector is given", hint="give one or the other")
        paths = [text for text in self.names if is_manifest(text)]
        manifests = read_manifests(
            paths,
            self.options.filename or (),
            self.cluster.inputs,
            self.scope.given,
            validation=self.options.validation,
            max_unpacked=self.cluster.source.max_bytes,
            otherwise=PersistentVolumeClaim,
        )
        cluster, asked = manifests.pods(self.cluster.load(manifests.others))
        subjects = [Subject(one.pod, one.arguments, one.where) for one in asked]
        subjects += [_stored(cluster, given) for given in manifests.otherwise]
        subjects += [_named(cluster, name, self.scope) for name in self.names if name not in paths]
        return cluster, subjects if self.named else self._selected(cluster)

    def _selected(self, cluster: SchedulingCluster) -> list[Subject]:
        require_listed(cluster.cluster, "PersistentVolumeClaim")
        scope, selector = self.scope, self.options.selector
        claims = in_scope(cluster.cluster.list(PersistentVolumeClaim), scope, selector)
        if not claims:
            with_labels = f" with the labels {selector}" if selector else ""
            where = "the snapshot" if scope.everywhere else str(scope)
            hint = "" if scope.everywhere else "-A looks in all namespaces"
            raise InputError(f"{where} has no claims{with_labels}", hint=hint)
        return [Subject(claim) for claim in claims]


def _stored(cluster: SchedulingCluster, given: Given) -> Subject:
    """A claim of a manifest as the cluster has it, with its defaults."""
    own = cast("PersistentVolumeClaim", given.obj)
    return Subject(cluster.cluster.get(PersistentVolumeClaim, own.name, own.namespace) or own, given.arguments)


def _named(cluster: SchedulingCluster, text: str, scope: Scope) -> Subject:
    """The claim or pod that an argument names; where there are both, the claim."""
    of_claims = text.startswith(_CLAIM_PREFIXES)
    if not text.startswith(POD_PREFIXES):
        require_listed(cluster.cluster, "PersistentVolumeClaim")
        name, namespace = scope.split(text, "claim", _FORMS, _CLAIM_PREFIXES)
        claims = [c for c in cluster.cluster.list(PersistentVolumeClaim) if c.name == name]
        claims = [claim for claim in claims if namespace in (None, claim.namespace)]
        if len(claims) == 1:
            return Subject(claims[0], (f"{claims[0].namespace}/{name}",))
        if claims:
            names = ", ".join(f"{claim.namespace}/{claim.name}" for claim in claims)
            raise InputError(f"the snapshot has {len(claims)} claims of the name {name}", hint=f"name one: {names}")
        pods = [key for key in cluster.pods.index if key[1] == name and namespace in (None, key[0])]
        if not of_claims and not pods:
            require_listed(cluster.cluster, "Pod")
        if of_claims or not pods:
            raise _no_such_claim(cluster, name, namespace or "")
    require_listed(cluster.cluster, "Pod")
    asked = named_pod(cluster.pods, text, scope)
    return Subject(asked.pod, asked.arguments)


def _no_such_claim(cluster: SchedulingCluster, name: str, namespace: str) -> InputError:
    claims = list(cluster.cluster.list(PersistentVolumeClaim))
    close = [name] if any(c.name == name for c in claims) else similar(name, (c.name for c in claims))
    keys = [f"{claim.namespace}/{claim.name}" for claim in claims if claim.name in close]
    where = f"{namespace}/{name}" if namespace else name
    hint = f"there is {', '.join(keys[:5])}" if keys else f"{command_line('volumes', '-A')} lists all claims"
    return InputError(f"the snapshot has no claim and no pod {where}", hint=hint)
