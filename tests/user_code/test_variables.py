# SPDX-License-Identifier: Apache-2.0
"""Variables of the environment that code asks for: those that nobody has set are told."""

import ast

import pytest

from stoker.user_code.variables import VariableReader

UNSET = "os.environ['BUCKET_OF_TESTS']"


def find_lacks(text):
    tree = ast.parse(text)
    reader = VariableReader([tree])
    return [lack for node in ast.walk(tree) if (lack := reader.find_lack(node))]


def test_one_that_is_not_set_is_told():
    (told,) = find_lacks(f"import os\nbucket = {UNSET}")
    assert told == (
        "the environment variable BUCKET_OF_TESTS is not set: export it before the run."
    )
    assert find_lacks("from os import environ\nbucket = environ['BUCKET_OF_TESTS']")


@pytest.mark.parametrize(
    "text",
    [
        "home = os.environ['PATH']",
        "bucket = os.environ.get('BUCKET_OF_TESTS')",
        "bucket = settings['BUCKET_OF_TESTS']",
        "bucket = os.environ[NAME]",
        f"{UNSET} = 'a'; bucket = {UNSET}",
        f"os.environ.setdefault('BUCKET_OF_TESTS', 'a'); bucket = {UNSET}",
        f"os.environ.update(more); bucket = {UNSET}",
        f"load_dotenv(); bucket = {UNSET}",
    ],
)
def test_others_are_not(text):
    assert not find_lacks(text)
