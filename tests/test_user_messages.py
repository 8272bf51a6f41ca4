# SPDX-License-Identifier: Apache-2.0
"""What users read: every sentence is listed, and an error says what it has to say in two lines."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY / "scripts"))
try:
    from list_refusals import FILLED_IN, fill_in, list_refusals, list_unread
finally:
    sys.path.pop(0)

TWO_LINES = 240
# Words of ours that an ML engineer would have to learn.
OURS = ("goes on from", "not done again", "as the schema says", "passed over", "it is now ")
# Nobody reads these alone: another sentence has them, or Python's own form is kept.
PIECES = {
    *("Absent", "DamagedColumns", "Misfit", "NeedsTfma", "OtherVariables", "RunAgain", "StoreLost"),
    *("ArrowInvalid", "AssertionError", "AttributeError", "BadPipeline", "NotFound", "Surprise"),
    *("Unservable", "Unusual"),
}
# What is raised without a text of ours: the words of another library or error, or a list.
NOT_READ = {
    *("ArrowInvalid", "AttributeError", "BadPipeline", "NeedsTfma", "NotYet", "OperationalError"),
    *("UnpicklingError", "_Differing", "with_traceback"),
}
MOVES = (
    "add|allow|annotate|ask|build|call|CAST|check|choose|close|compute|convert|copy|correct|create|"
    "define|delete|end|evaluate|exclude|export|fill|free|give|go|install|join|keep|leave|let|look|"
    "make|mount|move|name|open|parse|pass|pip|press|publish|put|read|register|remove|rename|repeat|"
    "return|rewrite|run|save|say|see|set|slice|start|stoker|tfx|train|try|turn|use|wait|wrap|write"
)
# A sentence says what to do instead by a move, by what there is, or by what would be taken.
SAYS_WHAT_INSTEAD = re.compile(
    rf"(?:^|[.:;,?)}}…'`X] |[(`]|\b(?:or|and|then|to \w+ it:|models) )(?:{MOVES})\b"
    r"|\b(?:it|they|there|which|its \w+|the \w+) (?:has|have|is|are|gives|lists) (?!no\b)[^.]*X"
    r"|\b(?:takes?|must|should|has to|have to|needs?|needed|not both|at least|at most|often help)\b"
    r"|[,;] (?:it )?(?:got|returned|gives|has) ",
    re.IGNORECASE,
)
# What only a run knows, or a name that the user wrote or can write: --on, `datasets`, python=.
NAMES_SOMETHING = re.compile(rf"{FILLED_IN}|[`'\"(_=]|\w\.\w|[a-z][A-Z]|\b[A-Z]{{2,}}|(?:^|\s)--\w")


@pytest.fixture(scope="module")
def messages():
    command = [sys.executable, REPOSITORY / "scripts" / "list_messages.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("  ", 2) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def refusals():
    """The place, the class and the text of every error, as long as it will be read."""
    return [(place, name, fill_in(text)) for place, name, text in list_refusals()]


def test_every_sentence_is_listed(messages):
    kinds = {kind for _, kind, _ in messages}
    assert {"raise ValueError", "raise MissingPart", "say", "step", "option", "warn"} <= kinds
    assert len(messages) > 800


def test_every_error_is_read(refusals):
    assert len(refusals) > 850
    assert [(place, name) for place, name in list_unread() if name not in NOT_READ] == []


def test_a_refusal_takes_two_lines_at_most(messages, refusals):
    long = [one for one in refusals if len(one[2]) > TWO_LINES or one[2].strip().count("\n") > 1]
    filled_in = re.compile(r"\{[^{}]*(\{[^{}]*\}[^{}]*)*\}")
    pieces = [
        (place, kind, text)
        for place, kind, text in messages
        if kind.startswith("raise") and len(filled_in.sub(FILLED_IN, text)) > TWO_LINES
    ]
    assert long + pieces == []


def test_a_refusal_says_what_to_do_instead(refusals):
    """A sentence that ends with another's words leaves it to those."""
    silent = [
        f"{place}: {text}"
        for place, name, text in refusals
        if name not in PIECES and not name.startswith("_") and not text[0].islower()
        if text.endswith(".") and not SAYS_WHAT_INSTEAD.search(text)
    ]
    assert silent == []


def test_a_refusal_names_a_value_or_a_file(refusals):
    vague = [
        f"{place}: {text}"
        for place, name, text in refusals
        if name not in PIECES and not name.startswith("_") and not text[0].islower()
        if not NAMES_SOMETHING.search(text)
    ]
    assert vague == []


def test_what_is_said_is_in_the_words_of_the_field(messages):
    assert [text for _, _, text in messages if any(word in text for word in OURS)] == []
