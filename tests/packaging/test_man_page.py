"""The manual page: roff accepts it, and it has every command, option and example."""

import re
import shutil
import subprocess
from functools import cache
from typing import Any

import pytest

from kschedctl.cli.help import examples_of
from tools.commands_page import contexts, options
from tools.packaging.man_page import man_page, roff

WIDTH = "200"


@cache
def shown() -> str:
    """Return the page as a terminal shows it, on lines that are long enough for options and their first words."""
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    words = ["groff", "-man", "-Tutf8", "-Kutf8", "-ww", f"-rLL={WIDTH}n", "-P-cbou"]
    done = subprocess.run(words, input=man_page("0.2.0"), capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_it_names_the_version() -> None:
    assert shown().splitlines()[-1].startswith("kschedctl 0.2.0 ")


@pytest.mark.parametrize("context", list(contexts()), ids=lambda context: context.info_name)
def test_every_command_with_its_options_and_examples(context: Any) -> None:
    name = context.info_name
    section = re.search(rf"^   kschedctl {name}\n(.*?)^(?:   \w|\w)", shown(), re.MULTILINE | re.DOTALL)
    assert section is not None
    text = squeezed(section[1])
    assert squeezed(context.command.help) in text
    listed = list(options(context))
    assert listed
    for option in listed:
        assert re.search(rf"^       {re.escape(squeezed(option.notation))}(?: |$)", section[1], re.MULTILINE), option
        assert squeezed(option.meaning) in text, option
    for example in examples_of(name):
        assert f"           kschedctl {example.arguments}\n" in section[1], example


@pytest.mark.parametrize("text", ["It takes a \\ and - and it's done.", ".profile is read", "'node-*' matches"])
def test_texts_stay_texts(text: str) -> None:
    page = f'.TH T 1 "" "" ""\n.SH NAME\n{roff(text)}\n'
    words = ["groff", "-man", "-Tutf8", "-Kutf8", "-ww", "-P-cbou"]
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    done = subprocess.run(words, input=page, capture_output=True, text=True, check=True)
    assert (text in done.stdout, done.stderr) == (True, ""), done.stdout
