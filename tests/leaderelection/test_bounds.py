"""The guarantees of election times, computed by hand, and the times that a guarantee requires."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.common.errors import InputError
from kschedctl.leaderelection.bounds import Bounds, Conditions, bounds, settings_for
from kschedctl.leaderelection.settings import ElectionSettings

KUBE_SCHEDULER = ElectionSettings()
SAFE = ElectionSettings(release_on_cancel=False)


@pytest.mark.parametrize(
    ("settings", "conditions", "expected"),
    [
        pytest.param(
            SAFE,
            Conditions(),
            # Two pauses of up to 2 x 2.2 s beside the lease; 2 s and 10 s of trying.
            Bounds(earliest=15, latest=15 + 4.4 + 4.4, released=4.4, leads_on=12, holds=15),
            id="the defaults of client-go",
        ),
        pytest.param(
            KUBE_SCHEDULER,
            Conditions(),
            # Reading and writing may take 5 s each before the release has failed.
            Bounds(earliest=15, latest=23.8, released=4.4, leads_on=22, holds=15),
            id="those of kube-scheduler, which releases",
        ),
        pytest.param(
            SAFE,
            Conditions(request=1),
            Bounds(earliest=15, latest=28.8, released=6.4, leads_on=13, holds=15),
            id="requests of 1 s",
        ),
        pytest.param(
            SAFE,
            Conditions(drift=0.5),
            # 15 s of a clock that is half as fast again, 12 s of one that is half as fast.
            Bounds(earliest=10, latest=47.6, released=8.8, leads_on=24, holds=10),
            id="clocks that are off by half",
        ),
        pytest.param(
            ElectionSettings(lease_duration=10.9, renew_deadline=2, retry_period=0.5, release_on_cancel=False),
            Conditions(),
            # Of 10.9 s the record has 10, and a renewal within the same second is not seen.
            Bounds(earliest=9, latest=12.2, released=1.1, leads_on=2.5, holds=9),
            id="parts of seconds",
        ),
    ],
)
def test_bounds(settings: ElectionSettings, conditions: Conditions, expected: Bounds) -> None:
    found = bounds(settings, conditions)
    for name in ("earliest", "latest", "released", "leads_on", "holds"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name)), name
    assert found.exclusive == expected.exclusive
    assert found.overlap == pytest.approx(expected.overlap)


@pytest.mark.parametrize(("drift", "exclusive"), [(0.0, True), (0.1, True), (0.11, True), (0.112, False), (0.5, False)])
def test_how_far_clocks_may_be_off(drift: float, exclusive: bool) -> None:
    """Compare 12 s of a slow clock with 15 s of a fast one: (1 + d) / (1 - d) < 15 / 12."""
    assert bounds(SAFE, Conditions(drift=drift)).exclusive == exclusive


@given(st.floats(5, 120), st.sampled_from([0.0, 0.01, 0.1]), st.sampled_from([0.0, 0.1, 0.5]), st.booleans())
def test_suggested_settings_keep_the_promise(fail_over: float, drift: float, request: float, releases: bool) -> None:
    conditions = Conditions(drift=drift, request=request)
    template = replace(KUBE_SCHEDULER, release_on_cancel=releases)
    try:
        found = settings_for(fail_over, conditions, template)
    except InputError:
        # A release alone takes a second or two.
        assert fail_over < 20
        return
    found.check()
    promised = bounds(found, conditions)
    assert promised.latest <= fail_over
    assert promised.exclusive
    assert found.release_on_cancel == releases


def test_what_no_settings_promise() -> None:
    with pytest.raises(
        InputError, match="no settings guarantee another leader within 1 s and never two leaders at once"
    ):
        settings_for(1, Conditions(), KUBE_SCHEDULER)
