from dataclasses import dataclass

from kschedctl.scheduler.framework.cycle_state import CycleState, NotModelled


@dataclass
class Kept:
    value: int


def test_values_are_kept_by_type() -> None:
    state = CycleState()
    assert state.read(Kept) is None
    state.write(Kept(1))
    state.write(Kept(2))
    assert state.read(Kept) == Kept(2)


def test_what_is_not_modelled_is_worded() -> None:
    assert str(NotModelled("claims", "as if there were none")) == "not modelled: claims; as if there were none"
