"""The status of workloads in a captured snapshot: what the rules about missing pods read."""

import pytest

from kschedctl.objects.core import Condition
from kschedctl.objects.workload import ReplicaSet
from kschedctl.sources.snapshot.anonymize_messages import anonymous_conditions
from kschedctl.sources.snapshot.capture import kept_fields, read_conditions
from kschedctl.sources.snapshot.pseudonyms import Pseudonyms
from tests.builders import make_object

FAILURE = Condition(type="ReplicaFailure", status="True", reason="FailedCreate", message='pods "web-" is forbidden')


@pytest.mark.parametrize("kind", ["ReplicaSet", "ReplicationController", "Deployment", "StatefulSet"])
def test_the_number_of_replicas_is_kept(kind: str) -> None:
    assert (kind, "status.replicas") in set(kept_fields())


def test_no_replicas_differ_from_an_unknown_number() -> None:
    assert make_object(ReplicaSet, "web", status={"replicas": 0}).status.replicas == 0
    assert make_object(ReplicaSet, "web").status.replicas is None


def test_a_refusal_is_kept_with_its_message_and_other_conditions_are_not() -> None:
    assert read_conditions((FAILURE, Condition(type="Progressing", message="x"))) == (FAILURE,)


def test_an_anonymous_refusal_has_no_message() -> None:
    (found,) = anonymous_conditions((FAILURE,), Pseudonyms())
    assert (found.type, found.reason, found.message) == ("ReplicaFailure", "FailedCreate", "")
