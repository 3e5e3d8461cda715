"""Print what CHANGELOG.md says about a version: ``python -m tools.release_notes 0.2.0``."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def notes(changelog: str, version: str) -> str:
    """Return the section of a version, without its heading; an error if the changelog has none."""
    heading = re.search(rf"^## {re.escape(version)}(?: .*)?$", changelog, re.MULTILINE)
    if heading is None:
        raise SystemExit(
            f"CHANGELOG.md has no section for {version}: run make changelog VERSION={version} before the tag"
        )
    return re.split(r"^## ", changelog[heading.end() :], maxsplit=1, flags=re.MULTILINE)[0].strip()


if __name__ == "__main__":
    print(notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), sys.argv[1]))
