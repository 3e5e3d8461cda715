import pickle

import pytest

from kschedctl.common.errors import ConfigError, InputError, ManifestError, SnapshotError
from kschedctl.common.findings import Finding, Location, ObjectRef, Position, Subject

POD = ObjectRef("Pod", "api", "shop", "v1")
PLACE = Location("pods.yaml", 3)
TWO = (Finding("is empty", "spec", "fill it"), Finding("is missing", "kind"))


def test_keywords_make_one_finding() -> None:
    error = InputError("is empty", where=Subject(PLACE, POD), path="spec", hint="fill it", position=Position(1, 2))
    assert error.findings == (Finding("is empty", "spec", "fill it", place=PLACE, object=POD, position=Position(1, 2)),)
    assert str(error) == str(error.findings[0])


@pytest.mark.parametrize(
    ("error", "text"),
    [
        pytest.param(
            SnapshotError.together(TWO).at("a.yaml"),
            "a.yaml: spec: is empty\n  fill it\na.yaml: kind: is missing",
            id="one-below-the-other",
        ),
        pytest.param(
            ConfigError.together((Finding("is empty", "a"), Finding("is missing"))).at("c.yaml"),
            "c.yaml: 2 problems\n  a: is empty\n  is missing",
            id="of-a-configuration-the-file-is-named-once",
        ),
        pytest.param(
            ConfigError.together((Finding("is empty", "a"), Finding("is missing"))),
            "2 problems\n  a: is empty\n  is missing",
            id="of-a-configuration-without-a-file",
        ),
        pytest.param(
            ConfigError.together(TWO[:1]).at("c.yaml"), "c.yaml: spec: is empty\n  fill it", id="one-of-a-configuration"
        ),
    ],
)
def test_several_findings(error: InputError, text: str) -> None:
    assert str(error) == text


@pytest.mark.parametrize("kind", [SnapshotError, ConfigError])
def test_of_very_many_findings_the_first_are_shown(kind: type[InputError]) -> None:
    said = str(kind.together([Finding("is empty")] * 2000)).splitlines()
    assert len(said) < 60
    assert said[-1].strip() == "and 1,950 more"


def test_raise_any() -> None:
    ManifestError.raise_any(())
    with pytest.raises(ManifestError) as raised:
        ManifestError.raise_any(iter(TWO), PLACE)
    assert raised.value.findings == tuple(finding.at(PLACE) for finding in TWO)


def test_at_keeps_the_class_and_what_is_told() -> None:
    error = ManifestError.together((TWO[0].at("a.yaml"), TWO[1])).at(PLACE)
    assert type(error) is ManifestError
    assert [str(finding.where) for finding in error.findings] == ["a.yaml", "pods.yaml, document 3"]


def test_findings_reach_another_process() -> None:
    error = pickle.loads(pickle.dumps(SnapshotError.together(TWO)))
    assert (type(error), error.findings) == (SnapshotError, TWO)
