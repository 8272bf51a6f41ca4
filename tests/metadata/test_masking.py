# SPDX-License-Identifier: Apache-2.0
import itertools
import json
import time
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.metadata.masking import MASK, KnownSecrets, StreamMask, find_secrets, mask_secrets

SECRET_KEYS = [
    *("password", "DB_PASSWORD", "passwd", "MYSQL_PWD", "pwd", "pass", "db_pass", "userPass"),
    *("passphrase", "token", "hfToken", "authtoken", "token2", "WANDB_TOKEN", "api_tokens"),
    *("auth", "basicAuth", "Authorization", "proxy-authorization", "x-auth-token"),
    *("client-secret", "api_key", "apiKey", "API-KEY", "OPENAI_APIKey", "access_key", "AccountKey"),
    *("credentials", "aws_secret_access_key", "AWS_ACCESS_KEY_ID", "privateKey", "ssh_key"),
    *("cookie", "Set-Cookie", "session_cookies", "jwt", "sig"),
]
PLAIN_KEYS = [
    *(
        "max_tokens",
        "tokenizer",
        "token_count",
        "num_tokens",
        "token_ids",
        "pad_token",
        "oov_token",
    ),
    *("tokens_per_batch", "detokenize", "start_token", "token_embedding_dim"),
    *("passenger_count", "compass", "bypass", "pass_rate", "first_pass", "passes", "passthrough"),
    *("author", "authors", "authentic", "auth_mode", "AUTH_URL", "authority"),
    *("batch_size", "key", "label_key", "feature_keys", "secs", "sigma", "signature_name"),
    *("keyboard", "monkey", "primary_key", "cookiecutter", "num_passes"),
]
SECRET = "hunter2-hunter2"

TEXTS = [
    "Authorization: Bearer SECRET",
    "authorization=Basic SECRET",
    "curl -H 'Authorization: Bearer SECRET' https://host",
    "{'Authorization': 'Bearer SECRET', 'x': 1}",
    "got 401 for Bearer SECRET",
    "Server=db;User Id=me;Password=SECRET;Encrypt=yes",
    "Driver={ODBC};UID=me;PWD={SECRET};",
    "host=db user=me password=SECRET dbname=x",
    "AccountName=me;AccountKey=SECRET;EndpointSuffix=x",
    "postgresql://me:SECRET@host/db",
    "redis://:SECRET@host:6379/0",
    "https://host/c?sv=2024&sig=SECRET&se=1",
    "https://host/o?X-Amz-Signature=SECRET",
    "https://host/?access_token=SECRET#x",
    "train.py --password=SECRET --steps 3",
    "train.py --token SECRET",
    "train.py --api-key SECRET --steps 3",
    "login(user='me', password='SECRET')",
    'login(user="me", token="SECRET")',
    "{'db': {'pwd': 'SECRET'}}",
    '{"broken json": 1, "api_key": "SECRET"',
    "Cookie: session=SECRET; theme=dark",
    "Set-Cookie: id=SECRET",
    "password: SECRET",
    "PasswordError: SECRET",
    "token: SECRET",
    "export GITHUB_TOKEN=SECRET",
    "_password=SECRET",
]
PLAIN_TEXTS = [
    "unexpected token: end of line",
    "KeyError: 'token'",
    "google.auth.exceptions.DefaultCredentialsError: Your default credentials were not found.",
    "the first pass: done",
    "passenger_count=3, author=Ann, tokenizer=wordpiece, token_count=12",
    "the compass: north, authentic: yes",
    "pad_token='<pad>', max_tokens=512",
    "https://host:8080/path?x=1",
    "git@github.com:a/b.git",
    "password=None, token=null, auth=True",
    "def login(password: str, token: str)",
    "the bearer of this",
    "cookies are fine",
    "mkdir -p out",
    "a -> b: c, x=1; y=2",
    "s3://bucket/key@2",
    "/data/user@host/file",
    "12:30:01 [1/4] Trainer done",
]
FORMS = [
    "-----BEGIN PRIVATE KEY-----\nMIIEvQ\nIBADAN\n-----END PRIVATE KEY-----",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEvQ",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1r\n-----END OPENSSH PRIVATE KEY-----",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_" + "a1B2" * 9,
    "hf_" + "abCD1" * 7,
    "glpat-" + "x1" * 10,
    "xoxb-123456789012-abcdef",
    "sk-" + "proj1" * 8,
    "AIza" + "Sy5aB" * 7,
]
COMMANDS = [
    ["mysql", "--password", SECRET],
    ["mysql", "-p", SECRET],
    ["train", "--token", SECRET, "--steps", "3"],
    ["train", "--api_key", SECRET],
    ["train", f"--password={SECRET}"],
    ["curl", "-H", f"Authorization: Bearer {SECRET}"],
]
PLAIN_COMMANDS = [
    ["serve", "-p", "8080"],
    ["docker", "-p", "8080:80/tcp"],
    ["mkdir", "-p", "/out/x"],
    ["train", "--token", "--steps", "3"],
    ["train", "--tokenizer", "wordpiece"],
    ["train", "--password", None],
    ["-p"],
]

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
@pytest.mark.parametrize("value", [128, "relu"])
def test_a_key_that_only_looks_like_one_is_not(key, value):
    assert mask_secrets({key: value}) == {key: value}


@pytest.mark.parametrize("key", ["pass", "token", "auth"])
def test_a_number_is_no_token(key):
    assert mask_secrets({key: 3, "password": 1234}) == {key: 3, "password": MASK}


def test_a_switch_is_not_a_secret():
    assert mask_secrets({"use_token": True, "password": None}) == {
        "use_token": True,
        "password": None,
    }


def test_the_given_value_is_not_changed():
    value = {"inner": {"token": SECRET}}
    mask_secrets(value)
    assert value == {"inner": {"token": SECRET}}


@pytest.mark.parametrize("text", TEXTS)
def test_a_secret_in_text_is_masked_and_found(text):
    text = text.replace("SECRET", SECRET)
    masked = mask_secrets(text)
    assert SECRET not in masked
    assert MASK in masked
    assert mask_secrets(masked) == masked
    assert SECRET not in find_secrets(text).mask(f"error: cannot log in with {SECRET}")


def test_a_password_in_a_url_may_have_an_at_sign():
    assert mask_secrets("mongodb+srv://me:p@ss@a.b/c") == f"mongodb+srv://me:{MASK}@a.b/c"


@pytest.mark.parametrize("text", PLAIN_TEXTS)
def test_text_without_a_secret_stays_as_it_is(text):
    assert mask_secrets(text) == text
    assert find_secrets(text).texts == set()


@pytest.mark.parametrize("secret", FORMS)
def test_what_is_a_secret_by_its_own_form_is_masked_wherever_it_stands(secret):
    assert mask_secrets(f"with {secret}") == f"with {MASK}"
    assert mask_secrets({"x": [secret]}) == {"x": [MASK]}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_argument_of_a_flag_that_names_a_secret_is_masked(command):
    assert SECRET not in json.dumps(mask_secrets(command))
    assert mask_secrets(command)[0] == command[0]
    assert SECRET in find_secrets(command).texts


@pytest.mark.parametrize("command", PLAIN_COMMANDS)
def test_other_arguments_stay(command):
    assert mask_secrets(command) == command


# Known secrets


@pytest.mark.parametrize(
    "secret", ["hunter2", "p@ss word/1", 'with "quotes"\n', "dollar$%&", "schön-geheim"]
)
def test_a_known_secret_is_masked_however_it_is_quoted(secret):
    known = find_secrets({"password": secret})
    for quoted in (secret, repr(secret), json.dumps(secret), urllib.parse.quote(secret, safe="")):
        masked = known.mask(f"cannot connect with {quoted}, giving up")
        assert masked.startswith("cannot connect with ")
        assert MASK in masked
        assert secret not in masked
        assert quoted not in masked


@pytest.mark.parametrize("value", ["a", "root", "12345", "postgres", "Password", "", "tensorflow"])
def test_a_word_of_every_day_is_masked_under_its_key_alone(value):
    assert find_secrets({"password": value}).mask("12345 postgres: a root Password") == (
        "12345 postgres: a root Password"
    )


def test_the_path_of_a_file_is_no_secret_to_look_for(tmp_path):
    path = tmp_path / "key.json"
    path.touch()
    assert find_secrets({"credentials": str(path)}).texts == set()


def test_of_a_record_of_credentials_only_the_secret_parts_are_looked_for():
    record = {"type": "service_account", "project_id": "my-project", "private_key": "abc-def-ghi"}
    assert find_secrets({"credentials": record}).texts == {"abc-def-ghi"}


@given(st.binary(max_size=60), st.lists(st.integers(0, 120), max_size=6), st.integers(0, 60))
def test_a_secret_that_arrives_in_pieces_is_masked(noise, cuts, at):
    data = noise[:at] + SECRET.encode() + noise[at:]
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    stream = StreamMask(KnownSecrets([SECRET, "hunter9"]))
    shown = b"".join(stream.feed(data[a:b]) for a, b in itertools.pairwise(edges))
    assert shown + stream.end() == data.replace(SECRET.encode(), MASK.encode())


def test_what_has_no_secret_passes_at_once():
    stream = StreamMask(KnownSecrets([SECRET]))
    assert stream.feed(b"\x1b[32mepoch 1\x1b[0m\r\xff") == b"\x1b[32mepoch 1\x1b[0m\r\xff"


@pytest.mark.parametrize(
    "unit",
    ["a", "ey", "eyJ-", "-----BEGIN PRIVATE KEY-----", "://", "a=", "a:", "x://a:", "'", "- "],
)
def test_a_large_message_is_masked_in_a_moment(unit):
    text = unit * (500_000 // len(unit))
    began = time.process_time()
    mask_secrets(text)
    assert time.process_time() - began < 5
