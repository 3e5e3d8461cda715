"""A scheduler over one cluster: a release, a configuration, and a framework per profile."""

from __future__ import annotations

from collections.abc import Sequence

from kschedctl.api.pod import Pod
from kschedctl.cluster.cluster import Cluster
from kschedctl.errors import ManifestError
from kschedctl.framework.config.load import SchedulerConfiguration, default_configuration
from kschedctl.framework.cycle_state import NotModelled
from kschedctl.framework.extender import Extender, is_interested
from kschedctl.framework.registry import Registry
from kschedctl.framework.runtime import Framework
from kschedctl.framework.waiting_pods import WaitingPods
from kschedctl.plugins.registry import in_tree_registry
from kschedctl.releases.release import LATEST, Release
from kschedctl.scheduler.cycle import schedule_pod
from kschedctl.scheduler.decision import Decision


class Scheduler:
    """Decides for pods as kube-scheduler would.

    Parameters
    ----------
    cluster : Cluster
        The cluster to place pods in. It is never changed.
    release : Release, optional
        Whose rules apply; by default the newest that is modelled.
    configuration : SchedulerConfiguration, optional
        Profiles and their plugins; by default kube-scheduler's own.
    registry : Registry, optional
        The plugins that there are; by default the in-tree ones.
    waiting_pods : WaitingPods, optional
        Where pods wait at Permit; a scheduler over a cluster that moved on takes over those of the one before.
    preempting : set of str, optional
        The pods, by ``uid_of``, whose victims are being evicted; likewise.
    extenders : sequence of Extender
        Who is asked besides, in this order: those of the configuration, or none.
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

    def moved(self, cluster: Cluster) -> Scheduler:
        """The same scheduler over a cluster that was derived from its own; pods that wait at Permit go on waiting.

        What its plugins found out goes along.

        Parameters
        ----------
        cluster : Cluster
            Derived by ``with_pods``, ``with_nodes``, ``with_objects``, ``with_added`` or ``without``, in any number of
            steps.
        """
        new = Scheduler(
            cluster,
            self.release,
            self.configuration,
            self.registry,
            self.waiting_pods,
            self.preempting,
            self.extenders,
        )
        new._frameworks = {name: framework.moved(cluster) for name, framework in self._frameworks.items()}
        return new

    def knows(self, pod: Pod) -> bool:
        """Whether one of the profiles is responsible for a pod."""
        return pod.spec.scheduler_name in self.configuration.profiles

    def framework(self, scheduler_name: str) -> Framework:
        """The framework of the profile that a pod's ``schedulerName`` names.

        Raises
        ------
        ManifestError
            Where the configuration has no such profile.
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

    def decide(self, pod: Pod) -> Decision:
        """Decide where a pod goes, or why it cannot.

        Parameters
        ----------
        pod : Pod
            The pod, defaulted.
        """
        decision = schedule_pod(self.framework(pod.spec.scheduler_name), pod)
        if not self.extenders:
            for extender in self.configuration.extenders:
                if is_interested(extender, pod):
                    effect = "the answer is as if it had no objection and no preference"
                    decision.state.not_modelled.append(NotModelled(f"the extender {extender.url_prefix}", effect))
        if pod.spec.resource_claims and not self.release.devices.allocates:
            feature = f"the gate DynamicResourceAllocation, which is off by default in {self.release.version}"
            decision.state.not_modelled.append(NotModelled(feature, "the pod's claims for devices play no part"))
        return decision
