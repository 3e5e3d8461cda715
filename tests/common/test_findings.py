import pickle

import pytest

from kschedctl.common.errors import ConfigError, InputError, ManifestError, SnapshotError
from kschedctl.common.findings import Finding, Location, ObjectRef, Position, Subject, Where, found_at
from kschedctl.common.wording import similar

POD = ObjectRef("Pod", "api", "shop", "v1")
PLACE = Location("pods.yaml", 3)
TWO = (Finding("is empty", "spec", "fill it"), Finding("is missing", "kind"))


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        pytest.param(Finding("is empty"), "is empty", id="problem"),
        pytest.param(Finding("is empty", "spec", "fill it"), "spec: is empty\n  fill it", id="field-and-hint"),
        pytest.param(Finding("is empty", place="a.yaml"), "a.yaml: is empty", id="place-in-words"),
        pytest.param(Finding("is empty", "spec", place=PLACE), "pods.yaml, document 3: spec: is empty", id="document"),
        pytest.param(Finding("is empty", "spec", object=POD), "Pod shop/api: spec: is empty", id="object"),
        pytest.param(
            Finding("is empty", "spec", place=PLACE, object=POD),
            "pods.yaml, document 3 (Pod shop/api): spec: is empty",
            id="object-and-place",
        ),
        pytest.param(
            Finding("is no YAML", place="a.yaml", position=Position(4, 2)),
            "a.yaml: line 4, column 2: is no YAML",
            id="text-without-fields",
        ),
        pytest.param(
            Finding("is given twice", "line 4", position=Position(4, 2)),
            "line 4: is given twice",
            id="a-field-goes-before-its-position",
        ),
        pytest.param(ObjectRef("Pod", "api", "shop"), "Pod shop/api", id="in-a-namespace"),
        pytest.param(ObjectRef("Node", "n1"), "Node n1", id="in-none"),
        pytest.param(ObjectRef("Node"), "Node", id="unnamed"),
        pytest.param(Location("prod/pods.yaml", 14), "prod/pods.yaml, document 14", id="document"),
        pytest.param(Location("prod/pods.yaml", 14, 3), "prod/pods.yaml, document 14, item 3", id="item-of-a-list"),
        pytest.param(Location("dump.tar.gz:nodes.json"), "dump.tar.gz:nodes.json, document 1", id="archive-member"),
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
def test_words(thing: Finding | ObjectRef | Location | InputError, text: str) -> None:
    assert str(thing) == text


@pytest.mark.parametrize(
    ("finding", "where", "text"),
    [
        pytest.param(Finding("p"), PLACE, "pods.yaml, document 3: p", id="place"),
        pytest.param(Finding("p"), POD, "Pod shop/api: p", id="object"),
        pytest.param(Finding("p"), Subject(PLACE, POD), "pods.yaml, document 3 (Pod shop/api): p", id="both"),
        pytest.param(Finding("p"), "", "p", id="neither"),
        pytest.param(Finding("p", object=POD), PLACE, "Pod shop/api: p", id="it-tells-its-object"),
        pytest.param(Finding("p", place="a.yaml"), PLACE, "a.yaml: p", id="it-tells-its-place"),
    ],
)
def test_at_fills_in_where_nothing_is_told(finding: Finding, where: Where, text: str) -> None:
    assert str(finding.at(where)) == text


@pytest.mark.parametrize(
    ("where", "found"),
    [
        pytest.param("", Subject("", POD), id="nowhere"),
        pytest.param(PLACE, Subject(PLACE, POD), id="place"),
        pytest.param(
            Subject(PLACE, ObjectRef("Deployment", "api", "shop")),
            Subject("pods.yaml, document 3 (Deployment shop/api)", POD),
            id="made-of-another-object",
        ),
    ],
)
def test_where_an_object_was_found(where: Where, found: Subject) -> None:
    assert found_at(POD, where) == found


def test_keywords_make_one_finding() -> None:
    error = InputError("is empty", where=Subject(PLACE, POD), path="spec", hint="fill it", position=Position(1, 2))
    assert error.findings == (Finding("is empty", "spec", "fill it", place=PLACE, object=POD, position=Position(1, 2)),)
    assert str(error) == str(error.findings[0])


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


NAMES = ("web-1", "web-7", "metrics-server-1", "db", "node-1", "node-9")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        pytest.param("web-77", ["web-7"], id="the nearest alone"),
        pytest.param("web", ["web-1", "web-7"], id="the start"),
        pytest.param("metrics", ["metrics-server-1"], id="the start of a long one"),
        pytest.param("nod-1", ["node-1"], id="a letter short"),
        pytest.param("foo", [], id="nothing near"),
        pytest.param("", [], id="empty"),
    ],
)
def test_similar_names(name: str, meant: list[str]) -> None:
    assert similar(name, NAMES) == meant
