from typing import Any

import pytest

from kschedctl.objects.releases.release import RELEASES
from tests.builders import MIB, decide, make_cluster, make_container, make_node, make_pod, raw_scores

PLUGIN = "ImageLocality"


def pod_of(*images: str, **spec: Any) -> Any:
    return make_pod(containers=[make_container(f"c{i}", image=image) for i, image in enumerate(images)], **spec)


@pytest.mark.parametrize(
    ("images", "present", "expected"),
    [
        # Two nodes, the image on one of them: half of its size counts.
        # 100 * (size / 2 - 23Mi) // (containers * 1000Mi - 23Mi)
        pytest.param(["a:1"], {"a:1": 500}, 23, id="half of 500Mi: 100 * 227 // 977"),
        pytest.param(["a:1"], {"a:1": 40}, 0, id="half of 40Mi is below the threshold of 23Mi"),
        pytest.param(["a:1"], {"a:1": 46}, 0, id="half of 46Mi is the threshold"),
        pytest.param(["a:1"], {"a:1": 4000}, 100, id="half of 4000Mi is above the limit of 1000Mi per container"),
        pytest.param(["a:1", "b:1"], {"a:1": 500}, 11, id="two containers: 100 * 227 // 1977"),
        pytest.param(["a:1", "b:1"], {"a:1": 500, "b:1": 500}, 24, id="both images: 100 * 477 // 1977"),
        pytest.param(["a:1", "a:1"], {"a:1": 500}, 24, id="one image twice counts twice"),
        pytest.param(["a"], {"a:latest": 500}, 23, id="no tag means latest"),
        pytest.param(["a"], {"a:1": 500}, 0, id="another tag is another image"),
        pytest.param(["host:5000/a"], {"host:5000/a:latest": 500}, 23, id="a port is no tag"),
        pytest.param(["a@sha256:0f"], {"a@sha256:0f": 500}, 23, id="a digest needs no tag"),
    ],
)
def test_present_images(images: list[str], present: dict[str, int], expected: int) -> None:
    sizes = {image: size * MIB for image, size in present.items()}
    decision = decide(pod_of(*images), make_cluster([make_node("has", images=sizes), make_node("has-not")]))
    assert raw_scores(decision, PLUGIN) == {"has": expected, "has-not": 0}


def test_an_image_on_every_node_counts_in_full() -> None:
    nodes = [make_node(name, images={"a:1": 500 * MIB}) for name in ("a", "b", "c")]
    # 100 * (500 - 23) // (1000 - 23)
    assert raw_scores(decide(pod_of("a:1"), make_cluster(nodes)), PLUGIN) == {"a": 48, "b": 48, "c": 48}


def test_init_containers_count() -> None:
    nodes = [make_node("has", images={"init:1": 1000 * MIB}), make_node("has-not")]
    decision = decide(pod_of("a:1", initContainers=[make_container("i", image="init:1")]), make_cluster(nodes))
    # 100 * (500 - 23) // (2000 - 23)
    assert raw_scores(decision, PLUGIN) == {"has": 24, "has-not": 0}


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        pytest.param("1.35", 0, id="1.35: not at all"),
        pytest.param("1.36", 23, id="1.36: 100 * (250 - 23) // (1000 - 23)"),
        pytest.param("1.37", 11, id="1.37: 100 * (250 - 23) // (2000 - 23), the volume counts as another image"),
    ],
)
def test_images_mounted_as_volumes_count_from_1_36_on(version: str, expected: int) -> None:
    nodes = [make_node("has", images={"data:1": 500 * MIB}), make_node("has-not")]
    pod = pod_of("a:1", volumes=[{"name": "data", "image": {"reference": "data:1"}}])
    found = raw_scores(decide(pod, make_cluster(nodes), release=RELEASES[version]), PLUGIN)
    assert found == {"has": expected, "has-not": 0}
