from typing import Any

import pytest

from kschedctl.common.errors import SnapshotError
from kschedctl.objects.volume import CSIStorageCapacity
from kschedctl.scheduler.volumes.matching import volume_limit
from tests.builders import make_object


def capacity(**fields: Any) -> CSIStorageCapacity:
    return make_object(CSIStorageCapacity, "c", namespace="csi", **fields)


def test_the_largest_volume() -> None:
    assert volume_limit(capacity()) is None
    assert volume_limit(capacity(capacity="1Ki")) == 1024
    assert volume_limit(capacity(capacity="1Ki", maximumVolumeSize="1")) == 1


def test_a_capacity_that_is_no_quantity() -> None:
    with pytest.raises(SnapshotError) as error:
        volume_limit(capacity(maximumVolumeSize="much"))
    assert str(error.value) == 'CSIStorageCapacity csi/c: maximumVolumeSize: "much" is not a quantity'
