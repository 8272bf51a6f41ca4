# SPDX-License-Identifier: Apache-2.0
"""What users read: every sentence is listed, and an error says what it has to say in two lines."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
TWO_LINES = 240
# Words of ours that an ML engineer would have to learn.
OURS = ("goes on from", "not done again", "as the schema says", "passed over", "it is now ")


@pytest.fixture(scope="module")
def messages():
    command = [sys.executable, REPOSITORY / "scripts" / "list_messages.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("  ", 2) for line in done.stdout.splitlines()]


def test_every_sentence_is_listed(messages):
    kinds = {kind for _, kind, _ in messages}
    assert {"raise ValueError", "raise MissingPart", "say", "step", "option", "warn"} <= kinds
    assert len(messages) > 800


def test_a_refusal_takes_two_lines_at_most(messages):
    filled_in = re.compile(r"\{[^{}]*(\{[^{}]*\}[^{}]*)*\}")
    long = [
        f"{place}: {text}"
        for place, kind, text in messages
        if kind.startswith("raise") and len(filled_in.sub("XXXXXXXX", text)) > TWO_LINES
    ]
    assert long == []


def test_what_is_said_is_in_the_words_of_the_field(messages):
    assert [text for _, _, text in messages if any(word in text for word in OURS)] == []
