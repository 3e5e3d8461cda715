import pytest

from kschedctl.common.errors import UnsupportedError
from kschedctl.objects.releases.choice import choose_release
from kschedctl.objects.releases.release import LATEST, RELEASES

NEWEST = LATEST.version


@pytest.mark.parametrize(
    ("requested", "server", "kubelets", "version", "why"),
    [
        pytest.param("1.34", "v1.36.3", ["v1.35.0"], "1.34", "as requested", id="an option counts most"),
        pytest.param("v1.35.2", "", [], "1.35", "as requested", id="a patch version means its minor"),
        pytest.param("", "v1.35.4", ["v1.36.0"], "1.35", "the control plane is v1.35.4", id="then the control plane"),
        pytest.param("", "v1.35.4-gke.100", [], "1.35", "the control plane is v1.35.4-gke.100", id="of any vendor"),
        pytest.param(
            "", "", ["v1.34.1", "v1.36.0", "v1.35.9"], "1.36", "the newest kubelet is v1.36.0", id="then the kubelets"
        ),
        pytest.param("", "", [], NEWEST, "the snapshot has no version", id="else the newest release"),
        pytest.param("", "unknown", ["", "dev"], NEWEST, "the snapshot has no version", id="no version at all"),
    ],
)
def test_choice(requested: str, server: str, kubelets: list[str], version: str, why: str) -> None:
    choice = choose_release(requested, server, kubelets)
    assert (choice.release.version, choice.why, choice.warning) == (version, why, "")


@pytest.mark.parametrize(("server", "version"), [("v1.29.1", "1.33"), ("v1.99.0", NEWEST), ("v2.0.0", NEWEST)])
def test_for_a_release_that_is_not_modelled_the_nearest_counts_with_a_warning(server: str, version: str) -> None:
    choice = choose_release("", server, [])
    assert choice.release.version == version
    text = f"not modelled: the cluster's version {server}; the rules of Kubernetes {version}"
    assert choice.warning.startswith(text)


@pytest.mark.parametrize("requested", ["1.29", "latest", "1"])
def test_what_is_asked_for_and_not_modelled_is_refused(requested: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        choose_release(requested, "", [])
    assert str(caught.value) == f"Kubernetes {requested} is not modelled\n  the versions are {', '.join(RELEASES)}"
