import numpy as np
import pytest

from kschedctl.scheduler.framework.operands import Operands, Shortfall
from kschedctl.scheduler.framework.status import Code, Reason, Rejections, Status


class Why(Operands, frozen=True):
    position: int

    def words(self) -> str:
        return f"because of {self.position}"


NO = Status(Code.UNSCHEDULABLE, ("no",))
NEVER = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("never", "ever"))


@pytest.mark.parametrize(
    ("code", "text", "rejected"),
    [
        (Code.SUCCESS, "Success", False),
        (Code.ERROR, "Error", False),
        (Code.UNSCHEDULABLE, "Unschedulable", True),
        (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "UnschedulableAndUnresolvable", True),
        (Code.WAIT, "Wait", False),
        (Code.SKIP, "Skip", False),
        (Code.PENDING, "Pending", True),
    ],
)
def test_codes(code: Code, text: str, rejected: bool) -> None:
    assert (str(code), code.rejected) == (text, rejected)


def test_a_message_is_all_reasons() -> None:
    assert NEVER.message == "never, ever"
    assert Status().message == ""


def test_rejections_by_mask() -> None:
    found = Rejections.where(np.array([True, False]), Code.UNSCHEDULABLE, "no")
    assert found.rejected.tolist() == [True, False]
    assert found.status(0, "P") == Status(Code.UNSCHEDULABLE, ("no",), "P")
    assert found.status(1, "P") == Status(plugin="P")
    assert (found.reasons(0), found.reasons(1)) == ((Reason("no"),), ())


def test_rejections_by_choice() -> None:
    found = Rejections.choose(np.array([1, -1, 0]), (NO, NEVER))
    assert [found.status(i) for i in range(3)] == [NEVER, Status(), NO]
    assert found.reasons(0) == (Reason("never"), Reason("ever"))


def test_one_status_for_every_world() -> None:
    found = Rejections.everywhere(2, NO)
    assert [found.status(i) for i in range(2)] == [NO, NO]


def test_details_are_made_when_somebody_looks() -> None:
    looked_at = []

    def details(position: int) -> tuple[Reason, ...]:
        looked_at.append(position)
        return (Reason("no", Why(position)),)

    found = Rejections.where(np.array([True, False]), Code.UNSCHEDULABLE, "no", details)
    assert (found.status(0), looked_at) == (NO, [])
    assert found.reasons(0) == (Reason("no", Why(position=0)),)
    assert (found.reasons(1), looked_at) == ((), [0])


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
