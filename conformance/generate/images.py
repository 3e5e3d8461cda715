"""Images: present on some nodes, referenced by tag and digest, small and large."""

from typing import NamedTuple

from conformance.generate.chance import MI
from conformance.generate.scene import Object, Scene


class _Image(NamedTuple):
    names: list[str]
    size: int
    stem: str
    digest: str
    tag: str | None


def _image(s: Scene, i: int) -> _Image:
    size = s.weighted(
        (1, s.between(1, 22) * MI), (3, s.between(23, 400) * MI), (3, s.between(400, 1200) * MI),
        (1, s.between(1200, 5000) * MI), (1, 23 * MI), (1, 1000 * MI),
    ) + s.pick(0, 0, s.between(0, MI))  # fmt: skip
    hosts = ("registry.example.com/app", "docker.io/library/app", "localhost:5000/team/app", "app")
    stem = f"{s.pick(*hosts)}{i}"
    digest = "sha256:" + "".join(s.random.choices("0123456789abcdef", k=64))
    tag = s.weighted((3, "latest"), (3, "v1.2"), (1, None))
    names = [f"{stem}@{digest}"] if tag is None or s.odds(0.8) else []
    return _Image([*names, *([f"{stem}:{tag}"] if tag else [])], size, stem, digest, tag)


def _reference(s: Scene, image: _Image) -> str:
    """Return a pod's reference to an image; not every form matches the names on the nodes."""
    stem = image.stem
    tagged = f"{stem}:{image.tag}" if image.tag else stem
    ways = ((4, tagged), (2, stem), (2, f"{stem}@{image.digest}"), (1, f"{stem}:other"), (1, f"library/{stem}"))
    return s.weighted(*ways)


def images(s: Scene) -> None:
    """Add a catalogue of images to the nodes, and let the pod run some of them."""
    catalogue = [_image(s, i) for i in range(s.between(2, 8))]
    density = s.pick(0.2, 0.5, 0.9)
    for node in s.nodes:
        present = sorted((image for image in catalogue if s.odds(density)), key=lambda image: -image.size)
        if present:
            node["status"]["images"] = [{"names": image.names, "sizeBytes": image.size} for image in present]
    spec = s.pod["spec"]
    if not s.gentle:
        n = s.weighted((4, 1), (2, 2), (1, 4))
        spec["containers"] = [s.container(f"c{i}", s.pick(None, 50), s.pick(None, 64 * MI)) for i in range(n)]
    for container in spec["containers"]:
        container["image"] = _reference(s, s.pick(*catalogue))
    if s.odds(0.3):
        refs = [_reference(s, s.pick(*catalogue)) for _ in range(s.between(1, 2))]
        spec["initContainers"] = [s.container(f"init{i}", image=ref) for i, ref in enumerate(refs)]
        if s.odds(0.3):
            spec["initContainers"][0]["restartPolicy"] = "Always"
    if s.odds(0.1):
        mount_image(s, _reference(s, s.pick(*catalogue)))


def mount_image(s: Scene, reference: str) -> None:
    """Mount an image as a volume."""
    source = {"reference": reference, "pullPolicy": s.pick("IfNotPresent", "Always")}
    s.pod["spec"].setdefault("volumes", []).append({"name": s.name("artifact"), "image": source})


def image_volumes(s: Scene, most: int = 3) -> None:
    """Add image volumes, usually with images that some node has."""
    images(s)
    seen = present_images(s)
    for _ in range(s.between(1, most)):
        mount_image(s, s.pick(*seen) if seen and s.odds(0.85) else "registry.example.com/none:v1")


def present_images(s: Scene) -> list[str]:
    """Return the last name of every image on every node."""
    found: list[Object] = [image for node in s.nodes for image in node["status"].get("images", ())]
    return [image["names"][-1] for image in found]
