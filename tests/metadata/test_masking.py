# SPDX-License-Identifier: Apache-2.0
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.metadata.masking import MASK, mask_secrets

SECRET_KEYS = [
    "password",
    "DB_PASSWORD",
    "token",
    "hfToken",
    "authtoken",
    "client-secret",
    "api_key",
    "apiKey",
    "API-KEY",
    "credentials",
    "aws_secret_access_key",
    "privateKey",
]
PLAIN_KEYS = ["max_tokens", "tokenizer", "batch_size", "key", "pass", "label_key", "secs"]
SECRET = "hunter2-hunter2"

words = st.text("abcdefgh", min_size=1, max_size=6)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def values_with_a_secret(draw):
    """A value with SECRET somewhere in it, under a key that says so, maybe inside JSON text."""
    value = {draw(st.sampled_from(SECRET_KEYS)): draw(st.sampled_from([SECRET, [SECRET]]))}
    for wrap in draw(st.lists(st.sampled_from(["list", "dict", "json"]), max_size=4)):
        if wrap == "list":
            value = [draw(plain), value]
        elif wrap == "dict":
            value = {draw(words): value, "z": draw(plain)}
        else:
            value = json.dumps(value)
    return value


@given(values_with_a_secret())
def test_a_secret_never_shows_however_deep_it_lies(value):
    assert SECRET in json.dumps(value)
    assert SECRET not in json.dumps(mask_secrets(value))


@given(plain)
def test_what_has_no_secret_stays_as_it_is(value):
    assert mask_secrets(value) == value


@given(values_with_a_secret())
def test_masking_twice_is_masking_once(value):
    assert mask_secrets(mask_secrets(value)) == mask_secrets(value)


@given(plain, st.integers(0, 4))
def test_json_text_without_a_secret_keeps_its_layout(value, indent):
    text = json.dumps(value, indent=indent)
    assert mask_secrets(text) == text


@pytest.mark.parametrize("key", SECRET_KEYS)
def test_a_key_that_names_a_secret_is_masked(key):
    assert mask_secrets({key: SECRET}) == {key: MASK}


@pytest.mark.parametrize("key", PLAIN_KEYS)
def test_a_key_that_only_looks_like_one_is_not(key):
    assert mask_secrets({key: 128}) == {key: 128}


def test_a_switch_is_not_a_secret():
    assert mask_secrets({"use_token": True, "password": None}) == {
        "use_token": True,
        "password": None,
    }


def test_the_given_value_is_not_changed():
    value = {"inner": {"token": SECRET}}
    mask_secrets(value)
    assert value == {"inner": {"token": SECRET}}


def test_the_password_in_a_url_is_masked():
    assert mask_secrets(f"postgresql://me:{SECRET}@host/db") == "postgresql://me:***@host/db"
