import pytest

from kschedctl.common.errors import ManifestError
from kschedctl.objects.releases.release import LATEST, RELEASES
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.config.load import load_configuration
from kschedctl.scheduler.plugins.registry import in_tree_registry
from tests.builders import decide, make_cluster, make_node, make_pod, make_profile

CLUSTER = make_cluster([make_node("a", taints=["x:NoSchedule"])])


def test_by_default_the_newest_release_and_the_default_profile() -> None:
    scheduler = Scheduler(CLUSTER)
    assert scheduler.release is LATEST
    assert list(scheduler.configuration.profiles) == ["default-scheduler"]


def test_the_profile_is_the_one_that_the_pod_names() -> None:
    config = make_profile()
    lenient = {"schedulerName": "lenient", "plugins": {"filter": {"disabled": [{"name": "TaintToleration"}]}}}
    config["profiles"].append(lenient)
    config["profiles"][0]["schedulerName"] = "default-scheduler"
    assert decide(make_pod(), CLUSTER, config=config).best == ()
    assert decide(make_pod(schedulerName="lenient"), CLUSTER, config=config).best == ("a",)


def test_a_profile_that_is_not_there() -> None:
    with pytest.raises(ManifestError) as caught:
        decide(make_pod(schedulerName="batch"), CLUSTER)
    assert str(caught.value) == (
        'spec.schedulerName: no profile is named "batch"\n'
        "  the configuration has default-scheduler; give another with --config"
    )


def test_nominated_pods_of_all_profiles_count() -> None:
    config = make_profile(schedulerName="one")
    config["profiles"].append({"schedulerName": "two"})
    waiting = make_pod("waiting", schedulerName="two", nominated="a", requests={"cpu": "3"})
    cluster = make_cluster([make_node("a")], [waiting])
    assert decide(make_pod(schedulerName="one", requests={"cpu": "2"}), cluster, config=config).best == ()


def test_a_framework_is_made_once_per_profile() -> None:
    scheduler = Scheduler(CLUSTER)
    assert scheduler.framework("default-scheduler") is scheduler.framework("default-scheduler")


@pytest.mark.parametrize("version", RELEASES)
def test_a_configuration_can_be_given(version: str) -> None:
    release = RELEASES[version]
    points = in_tree_registry().extension_points(release)
    configuration = load_configuration(make_profile(schedulerName="mine"), release=release, implements=points)
    scheduler = Scheduler(CLUSTER, release, configuration)
    assert scheduler.decide(make_pod(schedulerName="mine")).release is release


def test_an_extender_is_not_called_and_the_answer_says_so() -> None:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [{"urlPrefix": "http://extender.example", "filterVerb": "filter"}],
    }
    decision = decide(make_pod(), make_cluster([make_node("a")]), config=config)
    assert [str(notice) for notice in decision.not_modelled] == [
        "not modelled: the extender http://extender.example; "
        "the answer assumes that it rejects no node and gives no scores"
    ]
