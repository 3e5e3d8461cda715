"""API versions that are gone, in folders of old manifests and elsewhere."""

import pytest

from tests.linter.linting import lint

INGRESS = "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: web}\n"
OLD_DEPLOYMENT = "apiVersion: extensions/v1beta1\nkind: Deployment\nmetadata: {name: web}\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"web.yaml": INGRESS, "b.yaml": INGRESS}, ["error", "error"]),
        ({"older/web.yaml": INGRESS}, ["error"]),
        ({"bold/old.yaml": INGRESS}, ["error"]),
        ({"old/web.yaml": INGRESS}, ["info (1 object in old), exclude: [old]"]),
        ({"a/old-manifests/x/web.yaml": INGRESS}, ["info (1 object in a/old-manifests), exclude: [a/old-manifests]"]),
        ({"api/testdata/web.yaml": INGRESS}, ["info (1 object in api/testdata), exclude: [api/testdata]"]),
        # Once per version and kind.
        (
            {"old/a.yaml": INGRESS, "old/b/c.yaml": INGRESS, "old/b/d.yaml": OLD_DEPLOYMENT},
            ["info (2 objects in old), exclude: [old]", "info (1 object in old), exclude: [old]"],
        ),
        (
            {"a/legacy/a.yaml": INGRESS, "b/Deprecated/a.yaml": INGRESS},
            [
                "info (1 object in a/legacy), exclude: [a/legacy]",
                "info (1 object in b/Deprecated), exclude: [b/Deprecated]",
            ],
        ),
    ],
)
def test_old_manifests_are_the_choice_of_the_author(files: dict[str, str], expected: list[str]) -> None:
    found = []
    for each in lint(files, "KS905"):
        place = each.message.partition(" (")[2]
        help_ = each.help.removeprefix("to leave the folder out, write ").removesuffix(" in the settings")
        found.append(f"{each.severity} ({place}, {help_}" if place else str(each.severity))
    assert found == expected
