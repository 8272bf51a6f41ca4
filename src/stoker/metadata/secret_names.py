# SPDX-License-Identifier: Apache-2.0
"""Which keys name a secret: `db_password`, `--token`, `awsSecretKey`; `tokenizer` does not."""

import functools
import re
from typing import Any

# Found anywhere in a key, whatever separates its words: DB_PASSWORD, awsSecretKey, API-KEY.
_TELLING = re.compile(
    r"password|passwd|passphrase|passcode|secret|credential|authorization|authheader"
    r"|(access|account|api|auth|encryption|master|private|shared|signing|ssh|storage)key"
    r"|(access|api|auth|csrf|oauth|refresh|session)tokens?"
)
# These tell of a secret only by themselves: `pass` and `token` have other meanings in our field.
_WORDS = ("auth", "bearer", "cookie", "cookies", "jwt", "pass", "pwd", "sig", "token")
_HARMLESS_BEFORE = {
    *("backward", "begin", "bos", "class", "cls", "each", "end", "eos", "first", "forward", "full"),
    *("last", "mask", "max", "min", "multi", "next", "num", "one", "oov", "pad", "padding", "per"),
    *("second", "sep", "separator", "single", "special", "start", "stop", "third", "two", "unk"),
    "unknown",
}
_HARMLESS_AFTER = {
    *("budget", "class", "column", "count", "counts", "dim", "dropout", "embedding", "embeddings"),
    *("enabled", "endpoint", "feature", "field", "file", "frequency", "host", "id", "ids", "index"),
    *("length", "level", "limit", "mask", "method", "mode", "name", "names", "num", "path", "per"),
    *("policy", "port", "position", "provider", "rate", "ratio", "scheme", "server", "size"),
    *("threshold", "through", "timeout", "ttl", "type", "types", "uri", "url", "vocab", "weight"),
    *("weights", "window"),
}
_BETWEEN_WORDS = re.compile(r"[^a-zA-Z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def is_secret(key: str, value: Any = "text") -> bool:
    """Whether a value is a secret because of its key.

    A switch never is; a number is a password, if it is called so, but no token.
    """
    if value is None or isinstance(value, bool):
        return False
    return is_telling(key) or (not isinstance(value, int | float) and _has_telling_word(key))


@functools.lru_cache(1000)
def is_telling(key: str) -> bool:
    """Whether a key can mean nothing but a secret."""
    return bool(_TELLING.search("".join(_split(key))))


@functools.lru_cache(1000)
def _has_telling_word(key: str) -> bool:
    words = _split(key)
    neighbours = zip(["", *words], words, [*words[1:], ""], strict=False)
    return any(
        (word in _WORDS or word.endswith("token"))
        and before not in _HARMLESS_BEFORE
        and after not in _HARMLESS_AFTER
        for before, word, after in neighbours
    )


def _split(key: str) -> list[str]:
    """The words of a key, without numbers."""
    words = (word.rstrip("0123456789").lower() for word in _BETWEEN_WORDS.split(key))
    return [word for word in words if word]
