"""The image of ``deploy/Dockerfile``: it is built, and runs without rights on a read-only root file system."""

import pytest

from tests.packaging.images import VERSION, image
from tools.container import Ran, check, expect

MIB = 2**20


@pytest.mark.slow
def test_the_image_runs() -> None:
    built = image()
    check(built.builder, built.tag, VERSION)
    size = built.builder.size(built.tag)
    # 500 MiB, a third of it the base image.
    assert 300 * MIB < size < 700 * MIB, size


@pytest.mark.parametrize(
    ("ran", "message"),
    [(Ran(2, "fits on 3"), "exit code 2 instead of 0"), (Ran(0, "fits on none"), "'fits on 3' is missing")],
)
def test_what_differs_is_an_error(ran: Ran, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        expect(ran, 0, "fits on 3")
    expect(Ran(0, "it fits on 3 nodes"), 0, "fits on 3")
