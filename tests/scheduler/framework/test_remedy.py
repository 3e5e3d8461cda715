import pytest

from kschedctl.scheduler.framework.operands import Operands, Shortfall


class Full(Operands, frozen=True):
    """The node has too many pods.

    Attributes
    ----------
    most_pods : int
        The maximum number of pods.
    """

    most_pods: int


def test_programs_see_every_field_in_camel_case() -> None:
    assert Full(7).data() == {"mostPods": 7}


def test_a_reason_that_is_no_amount_has_no_shortfall() -> None:
    assert Full(7).shortfall() is None


def test_words_are_for_each_struct_to_give() -> None:
    with pytest.raises(NotImplementedError, match="Full has no words"):
        Full(7).words()


@pytest.mark.parametrize(
    ("wanted", "lacking", "share"),
    [
        pytest.param(2000, 500, 0.25, id="a quarter is missing"),
        pytest.param(1, 1, 1.0, id="all is missing"),
        pytest.param(10, 25, 2.5, id="more than all of an overcommitted node"),
    ],
)
def test_the_share_that_is_missing(wanted: int, lacking: int, share: float) -> None:
    assert Shortfall("cpu", wanted, lacking, 4000).share == share
