# SPDX-License-Identifier: Apache-2.0
"""Variables of the environment that code asks for: those that nobody has set are told."""

import ast

import pytest

from stoker.user_code.variables import VariableReader

UNSET = "os.environ['MY_TEST_BUCKET']"


def find_lacks(text):
    tree = ast.parse(text)
    reader = VariableReader([tree])
    return [lack for node in ast.walk(tree) if (lack := reader.find_lack(node))]


def test_one_that_is_not_set_is_told():
    (told,) = find_lacks(f"import os\nbucket = {UNSET}")
    assert told == ("the environment variable MY_TEST_BUCKET is not set: export it before the run.")
    assert find_lacks("from os import environ\nbucket = environ['MY_TEST_BUCKET']")


@pytest.mark.parametrize(
    "text",
    [
        "home = os.environ['PATH']",
        "cluster = os.environ['TF_CONFIG']",
        "bucket = os.environ.get('MY_TEST_BUCKET')",
        "bucket = settings['MY_TEST_BUCKET']",
        "bucket = os.environ[NAME]",
        f"{UNSET} = 'a'; bucket = {UNSET}",
        f"os.environ.setdefault('MY_TEST_BUCKET', 'a'); bucket = {UNSET}",
        f"os.environ.update(more); bucket = {UNSET}",
        f"load_dotenv(); bucket = {UNSET}",
    ],
)
def test_others_are_not(text):
    assert not find_lacks(text)
