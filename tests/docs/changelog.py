"""The changelog with the fragments that it does not have yet."""

from tests.paths import ROOT

CHANGELOG = ROOT / "CHANGELOG.md"
FOLDER = ROOT / "changes"
#: The files of the folder that are no fragments.
OTHERS = {"README.md", "template.md.jinja"}
FRAGMENTS = sorted(path for path in FOLDER.iterdir() if path.name not in OTHERS)


def text() -> str:
    """Return the text of the changelog and of all fragments."""
    return "\n".join(path.read_text() for path in (CHANGELOG, *FRAGMENTS))
