# SPDX-License-Identifier: Apache-2.0
"""What is written into the filter of the table of runs, and what it means."""

import pytest

from stoker.views.pages.run_query import Condition, RunQuery, flatten


def parse(text, **more):
    return RunQuery.parse({"q": text, **more})


@pytest.mark.parametrize(
    ("text", "words", "conditions"),
    [
        ("", (), []),
        ("taxi failed", ("taxi", "failed"), []),
        ("accuracy > 0.9", (), [("accuracy", ">", "0.9")]),
        ("accuracy>0.9 taxi", ("taxi",), [("accuracy", ">", "0.9")]),
        ("a >= 1 b<=2 c != 3", (), [("a", ">=", "1"), ("b", "<=", "2"), ("c", "!=", "3")]),
        ("state == failed", (), [("state", "=", "failed")]),
        ('"my metric" > 1', (), [("my metric", ">", "1")]),
        ('note = "good day"', (), [("note", "=", "good day")]),
        ("Trainer.train_args.num_steps=100", (), [("Trainer.train_args.num_steps", "=", "100")]),
        ("> 3", (">", "3"), []),
    ],
)
def test_words_and_conditions_are_told_apart(text, words, conditions):
    found = parse(text)
    assert found.words == words
    assert [(one.column, one.sign, one.value) for one in found.conditions] == conditions


@pytest.mark.parametrize(
    ("sign", "value", "found", "holds"),
    [
        (">", "0.9", 0.95, True),
        (">", "0.9", 0.9, False),
        (">=", "0.9", 0.9, True),
        ("<", "10", "9", True),
        (">", "10min", 601.0, True),
        ("=", "FAILED", "failed", True),
        ("!=", "failed", "complete", True),
        ("=", "true", True, True),
        ("=", "1", True, True),
        (">", "0", None, False),
        ("!=", "0", None, False),
        (">", "1", float("nan"), False),
    ],
)
def test_a_condition_compares_numbers_as_numbers_and_words_as_words(sign, value, found, holds):
    assert Condition(column="x", sign=sign, value=value).holds(found) is holds


@pytest.mark.parametrize("page", ["0", "-1", "x", "", "1e9", "9" * 50])
def test_a_page_that_is_no_number_is_the_first(page):
    assert parse("", page=page).page == 1


def test_only_the_newest_first_is_plain():
    assert parse("").is_plain
    assert not parse("x").is_plain
    assert not parse("", sort="started").is_plain
    assert not parse("", sort="-loss").is_plain


def test_what_is_in_a_parameter_has_a_dotted_name():
    assert flatten("a", {"b": {"c": 1}, "d": "x"}) == {"a.b.c": 1, "a.d": "x"}
    assert flatten("a", '{"b": [1, 2]}') == {"a.b": [1, 2]}
    assert flatten("a", "{not json") == {"a": "{not json"}
