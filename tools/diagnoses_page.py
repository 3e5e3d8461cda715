"""The page of all diagnoses, docs/diagnoses.md, made from the docstrings of the rules."""

from kschedctl.questions.reference import diagnoses


def page() -> str:
    """Return the page as Markdown."""
    lines = [
        "# Diagnoses",
        "",
        "For people who want to know which causes `kschedctl` recognises, and how it tells them apart. The first line",
        "of `explain`, `pending`, `watch` and others has the cause that the first of these rules finds. A cure is",
        "tried before it is shown, unless it takes effect outside the scheduler; then the answer says so.",
    ]
    for title, texts in diagnoses().items():
        lines += ["", f"## {title}"]
        for name, text in texts.items():
            lines += ["", f"### {name}", "", text]
    return "\n".join(lines) + "\n"
