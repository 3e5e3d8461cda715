"""Fields are replaced wherever they are, and what is not touched stays the same object."""

from kschedctl.objects.pod import Container, Pod, PodSpec
from kschedctl.sources.snapshot.rewriting import Rewriter, structs_in
from tests.builders import make_container, make_node, make_pod


def upper_images() -> Rewriter:
    return Rewriter(lambda type_, name: str.upper if (type_, name) == (Container, "image") else None)


def test_field_is_replaced_deep_inside() -> None:
    pod = make_pod(containers=[make_container(image="a"), make_container(image="b")], initContainers=[{"image": "c"}])
    found = upper_images().rewrite(pod)
    assert [container.image for container in found.spec.containers] == ["A", "B"]
    assert found.spec.init_containers[0].image == "C"
    assert pod.spec.containers[0].image == "a"


def test_what_is_not_touched_is_the_same_object() -> None:
    node, pod = make_node(), make_pod(containers=[make_container(image="A")])
    rewriter = upper_images()
    assert rewriter.rewrite(node) is node
    assert rewriter.rewrite(pod) is pod


def test_whole_structs_are_replaced_first() -> None:
    rewriter = Rewriter(lambda type_, name: None, {Container: lambda container: Container(name="other")})
    assert rewriter.rewrite(make_pod()).spec.containers == (Container(name="other"),)


def test_structs_in_a_type() -> None:
    assert structs_in(tuple[Container, ...] | None) == (Container,)
    assert structs_in(dict[str, str]) == ()
    assert structs_in(Pod) == (Pod,)
    assert structs_in(PodSpec | None) == (PodSpec,)
