"""A scheduler over one cluster: a release, a configuration, and one framework per profile."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import ManifestError
from kschedctl.common.wording import similar
from kschedctl.objects.defaults import DEFAULT_SCHEDULER_NAME
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import LATEST, Release
from kschedctl.scheduler.cycle.cycle import schedule_pod
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.framework.config.load import SchedulerConfiguration, default_configuration
from kschedctl.scheduler.framework.cycle_state import NotModelled
from kschedctl.scheduler.framework.extender import Extender, is_interested
from kschedctl.scheduler.framework.pod_groups import PodGroupInfo, not_modelled_in
from kschedctl.scheduler.framework.registry import Registry
from kschedctl.scheduler.framework.runtime import Framework
from kschedctl.scheduler.framework.waiting_pods import WaitingPods
from kschedctl.scheduler.plugins.registry import in_tree_registry

_SUFFIX: Final = "-scheduler"
#: The name of the program, which people write instead of the name of its default profile.
_PROGRAM: Final = "kube-scheduler"


class Scheduler:
    """A scheduler that decides for pods as kube-scheduler would.

    Parameters
    ----------
    cluster : Cluster
        The cluster to schedule pods in. It is never changed.
    release : Release, optional
        The release whose rules apply; by default the newest published one.
    configuration : SchedulerConfiguration, optional
        The profiles and their plugins; by default kube-scheduler's own.
    registry : Registry, optional
        The available plugins; by default the in-tree ones.
    waiting_pods : WaitingPods, optional
        The pods that wait at Permit; by default none. A scheduler over a later cluster state shares those of the
        earlier one.
    preempting : set of str, optional
        The pods, by ``uid_of``, whose victims are being evicted; by default none. Shared in the same way.
    extenders : sequence of Extender
        The extenders to call, in this order: those of the configuration, or none.
    """

    def __init__(
        self,
        cluster: Cluster,
        release: Release = LATEST,
        configuration: SchedulerConfiguration | None = None,
        registry: Registry | None = None,
        waiting_pods: WaitingPods | None = None,
        preempting: set[str] | None = None,
        extenders: Sequence[Extender] = (),
    ) -> None:
        self.cluster = cluster
        self.release = release
        self.registry = registry if registry is not None else in_tree_registry()
        self.configuration = configuration or default_configuration(release, self.registry.extension_points(release))
        self.waiting_pods = waiting_pods if waiting_pods is not None else WaitingPods()
        self.preempting = preempting if preempting is not None else set()
        self.extenders = tuple(extenders)
        self._frameworks: dict[str, Framework] = {}

    @classmethod
    def of(cls, framework: Framework) -> "Scheduler":
        """Return a scheduler with the profile of a framework alone; no pod waits at Permit, or for its victims."""
        new = cls(framework.cluster, framework.release, extenders=framework.handle.extenders)
        name = framework.profile.scheduler_name
        new.configuration = replace(new.configuration, profiles={name: framework.profile})
        own = framework.moved(framework.cluster)
        own.handle = replace(own.handle, waiting_pods=new.waiting_pods, preempting=new.preempting)
        new._frameworks = {name: own}
        return new

    def moved(self, cluster: Cluster) -> "Scheduler":
        """Return the same scheduler over a cluster that was derived from its own.

        The cached results of its plugins are reused, and pods that wait at Permit keep waiting.

        Parameters
        ----------
        cluster : Cluster
            Derived by ``with_pods``, ``with_nodes``, ``with_objects``, ``with_added`` or ``without``, in any number of
            steps.
        """
        new = Scheduler(
            cluster, self.release, self.configuration, self.registry, self.waiting_pods, self.preempting, self.extenders
        )
        # Frameworks that were never asked are made here, so that all schedulers that are derived from this one share
        # their plugins' results.
        new._frameworks = {name: self.framework(name).moved(cluster) for name in self.configuration.profiles}
        return new

    def knows(self, pod: Pod) -> bool:
        """Report whether one of the profiles has the pod's ``schedulerName``."""
        return pod.spec.scheduler_name in self.configuration.profiles

    def framework(self, scheduler_name: str) -> Framework:
        """Return the framework of the profile with a given ``schedulerName``; it is created on first use.

        Raises
        ------
        ManifestError
            If the configuration has no such profile.
        """
        framework = self._frameworks.get(scheduler_name)
        if framework is None:
            profiles = self.configuration.profiles
            profile = profiles.get(scheduler_name)
            if profile is None:
                raise ManifestError(
                    f'no profile is named "{scheduler_name}"',
                    path="spec.schedulerName",
                    hint=f"the configuration has {', '.join(profiles)}; give another with --config",
                )
            framework = Framework(
                profile,
                self.registry,
                self.cluster,
                self.release,
                frozenset(profiles),
                self.waiting_pods,
                self.preempting,
                self.extenders,
            )
            self._frameworks[scheduler_name] = framework
        return framework

    def percentage_of_nodes_to_score(self, scheduler_name: str) -> int:
        """Return the percentage that applies to a profile: its own, or that of the whole configuration; 0 if adaptive.

        Raises
        ------
        ManifestError
            If the configuration has no such profile.
        """
        own = self.framework(scheduler_name).profile.percentage_of_nodes_to_score
        return self.configuration.percentage_of_nodes_to_score if own is None else own

    def decide(self, pod: Pod) -> Decision:
        """Run the scheduling cycle of a pod, and record features that are not modelled.

        Parameters
        ----------
        pod : Pod
            The pod, defaulted.
        """
        decision = schedule_pod(self.framework(pod.spec.scheduler_name), pod)
        if not self.extenders:
            for extender in self.configuration.extenders:
                if is_interested(extender, pod):
                    effect = "the answer assumes that it rejects no node and gives no scores"
                    decision.state.not_modelled.append(NotModelled(f"the extender {extender.url_prefix}", effect))
        if pod.spec.resource_claims and not self.release.devices.allocates:
            feature = f"the feature gate DynamicResourceAllocation, which is off by default in {self.release.version}"
            decision.state.not_modelled.append(NotModelled(feature, "the pod's device claims are ignored"))
        return decision

    def decide_as_scheduled(self, pod: Pod) -> Decision:
        """Decide for a pod as kube-scheduler tries it: by itself, or together with the other members of its group.

        Parameters
        ----------
        pod : Pod
            The pod, defaulted.
        """
        if not self.release.pod_groups or not pod.spec.pod_group_name:
            return self.decide(pod)
        # Few pods are members of groups.
        from kschedctl.scheduler.cycle.group_decisions import decide_in_group

        decision = decide_in_group(self.framework(pod.spec.scheduler_name), pod)
        group = PodGroupInfo.of(self.cluster, pod.namespace, pod.spec.pod_group_name)
        # A member that is not tried has a state of its own.
        notes = decision.state.not_modelled
        notes += [note for note in not_modelled_in(group, self.release) if note not in notes]
        return decision

    def decide_for_other_scheduler(self, pod: Pod) -> Decision:
        """Return the decision for a pod that no profile is responsible for.

        Its statuses are those of the profile with a similar name, or else of the first profile. It has no best
        nodes and no message, because kube-scheduler does not try the pod.

        Parameters
        ----------
        pod : Pod
            The pod, defaulted.
        """
        profiles = self.configuration.profiles
        name = meant_profile(pod.spec.scheduler_name, profiles) or next(iter(profiles))
        decision = schedule_pod(self.framework(name), pod)
        return replace(decision, other_scheduler=True, scores=None, best=(), message="", post_filter=None)


def meant_profile(scheduler_name: str, profiles: Iterable[str]) -> str:
    """Return the profile that an unknown ``schedulerName`` was probably meant for; empty if none is similar.

    The suffix that most names of schedulers share does not make them similar.

    >>> known = ["default-scheduler", "packing"]
    >>> [meant_profile(name, known) for name in ("defualt-scheduler", "pakcing", "kube-scheduler", "my-scheduler")]
    ['default-scheduler', 'packing', 'default-scheduler', '']
    """
    by_stem = {name.removesuffix(_SUFFIX): name for name in sorted(profiles)}
    if scheduler_name == _PROGRAM:
        return by_stem.get(DEFAULT_SCHEDULER_NAME.removesuffix(_SUFFIX), "")
    stem = scheduler_name.lower().removesuffix(_SUFFIX)
    close = [stem] if stem in by_stem else similar(stem, by_stem)
    return by_stem[close[0]] if close else ""
