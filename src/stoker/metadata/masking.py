# SPDX-License-Identifier: Apache-2.0
"""Secrets are masked before anything is recorded or printed, and wherever they are quoted.

    mask_secrets(parameters)            what is recorded and shown of them
    known = find_secrets(parameters)    what the step really gets
    known.mask(message)                 an error, or a line of a log, that quotes it

A secret is told by its key (`db_password`, `--token`; not `tokenizer`), or by its own form: a
private key, a JWT.
"""

import functools
import json
import os
import re
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MASK = "***"

# The secret is the group of that name. No pattern begins inside of a word or looks ahead without
# end: a message may have many megabytes.
_FORMS = [
    re.compile(pattern, re.DOTALL | re.IGNORECASE)
    for pattern in (
        r"(?P<secret>-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(-----END [A-Z ]{0,40}-----|\Z))",
        r"(?<=\w://)[^\s:/@]{0,200}:(?P<secret>[^\s/]{1,500})@",
        r"\bauthorization['\"]?\s{0,4}[:=]\s{0,4}['\"]?(?P<secret>[^\r\n'\"]+)",
        r"\bbearer\s{1,4}(?=[^\s\d]{0,200}\d)(?P<secret>[\w.~+/=-]{8,})",
        r"\b(set-)?cookie['\"]?\s{0,4}:\s{0,4}['\"]?(?P<secret>[^\r\n'\"]+)",
        r"[?&](x-\w{1,9}-)?sig(nature)?=(?P<secret>[^\s&'\"]+)",
        r"(?<![\w-])(?P<secret>eyJ[\w-]{8,4000}\.[\w-]{8,4000}\.[\w-]{0,4000})",
        r"\b(?P<secret>(?-i:(AKIA|ASIA)[0-9A-Z]{16}))\b",
        r"\b(?P<secret>(gh[pousr]|github_pat|hf)_\w{30,255}|glpat-[\w-]{20,255}"
        r"|xox[a-z]-[\w-]{10,255}|AIza[\w-]{35}|ya29\.[\w-]{20,2000}|sk-[\w-]{20,255})",
    )
]
# key=value, key: value, "key": "value", --key value.
_KEY = re.compile(
    r"(?<![\w.-])(?P<flag>--?)?(?P<name>[A-Za-z_][\w.-]{0,80})(?P<quote>['\"])?"
    r"(?P<sign>\s{0,4}[=:]\s{0,4}|(?(flag)\s{1,4}(?!-)|(?!)))"
)
_VALUE = re.compile(
    r"[rbfu]?(?P<quote>['\"])(?P<quoted>((?!(?P=quote)).){1,4000})"
    r"|\{(?P<braced>[^}\s]{1,500})\}|(?P<bare>[^\s,;&#'\")}\]]{1,4000})"
)
# In every text that has a secret to be found; to look for these first is a hundred times faster.
_HINTS = (
    *(
        "://",
        "aiza",
        "akia",
        "asia",
        "auth",
        "bearer",
        "cookie",
        "credential",
        "eyj",
        "gh",
        "glpat-",
    ),
    *("hf_", "jwt", "key", "pass", "pwd", "secret", "sig", "sk-", "token", "xox", "ya29."),
)
_MEANS_NOTHING = {"none", "null", "true", "false", "str", "bytes", "is", "and", "or", "was", "must"}
_LOOKS_RANDOM = re.compile(r"(?=\D{0,200}\d)(?=[^A-Za-z]{0,200}[A-Za-z]).{8,}", re.DOTALL)
_OF_AN_ERROR = re.compile(r"[A-Z]\w*(Error|Exception|Warning)$")
_SCHEME = re.compile(r"(basic|bearer|digest|negotiate|token|apikey)\s+", re.IGNORECASE)
_PORT_OR_PATH = re.compile(r"[\d:.]*(/\w+)?|.*/.*|-.*", re.DOTALL)

_FEWEST_CHARACTERS, _FEWEST_DIGITS = 6, 10
# The passwords of many test databases: to mask such words wherever they stand would tell them.
_EVERYDAY_WORDS = {
    *("bearer", "changeme", "default", "disabled", "enabled", "example", "localhost", "optional"),
    *("password", "postgres", "python", "required", "secret", "service", "string", "tensorflow"),
    *("training", "username"),
}
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


def mask_secrets(value: Any) -> Any:
    """`value` with `***` for what lies under a key such as password, token or api_key.

    However deep it lies: in JSON text, command lines and URLs too; and for what is a secret by its
    own form. The value itself is left as it is.
    """
    return _Masking().mask(value)


def mask_item(key: str, value: Any) -> Any:
    """The value of one key, masked if the key or the value says so."""
    return mask_secrets({key: value})[key]


class KnownSecrets:
    """Texts that are known to be secret, to be masked wherever they are quoted."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.texts = frozenset(texts)

    def __or__(self, others: "KnownSecrets") -> "KnownSecrets":
        return KnownSecrets(self.texts | others.texts)

    def mask(self, value: Any) -> Any:
        """`mask_secrets`, and `***` for every known secret, wherever it is quoted."""
        return self.mask_quoted(mask_secrets(value))

    def mask_quoted(self, value: Any) -> Any:
        """Only the known secrets masked, wherever they are quoted."""
        if not self.texts:
            return value
        match value:
            case str():
                return self._pattern.sub(MASK, value)
            case dict():
                return {key: self.mask_quoted(inner) for key, inner in value.items()}
            case list():
                return [self.mask_quoted(inner) for inner in value]
        return value

    def mask_output(self, data: bytes) -> bytes:
        """What a program printed, with `***` for every known secret in it."""
        return self._bytes_pattern.sub(MASK.encode(), data) if self.texts else data

    def count_begun(self, data: bytes) -> int:
        """How many bytes at the end of `data` may be the beginning of a secret."""
        most = min(len(data), max(map(len, self._spellings), default=1) - 1)
        for length in range(most, 0, -1):
            end = data[-length:]
            if any(one.startswith(end) for one in self._spellings):
                return length
        return 0

    @functools.cached_property
    def _spellings(self) -> list[bytes]:
        """The secrets as they are, in URLs and in quotation marks; the longest first."""
        found = {form.encode() for text in self.texts for form in _spell(text)}
        return sorted(found, key=len, reverse=True)

    @functools.cached_property
    def _bytes_pattern(self) -> re.Pattern[bytes]:
        return re.compile(b"|".join(map(re.escape, self._spellings)))

    @functools.cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(re.escape(one.decode()) for one in self._spellings))


def find_secrets(*values: Any) -> KnownSecrets:
    """What `mask_secrets` would mask in these values, as far as it can be told from other text."""
    masking = _Masking()
    masking.mask(values)
    parts = (part for text in masking.found for part in _list_parts(text))
    return KnownSecrets(part for part in parts if _can_be_masked(part))


def _list_parts(text: str) -> list[str]:
    """A secret without what says its kind, `Bearer …`; and the values of a cookie."""
    bare = _SCHEME.sub("", text, count=1)
    return [bare, *(pair.partition("=")[2] for pair in bare.split(";"))]


def environment() -> dict[str, str]:
    """This process's environment variables, among which secrets are looked for."""
    return {name: value for name, value in os.environ.items() if name not in ("PWD", "OLDPWD")}


class StreamMask:
    """Masks known secrets in what arrives in pieces, one of which may end inside of a secret."""

    def __init__(self, known: KnownSecrets) -> None:
        self._known = known
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """What can be shown by now."""
        data = self._known.mask_output(self._held + data)
        shown = len(data) - self._known.count_begun(data)
        self._held = data[shown:]
        return data[:shown]

    def end(self) -> bytes:
        """What was held back, and was no secret after all."""
        held, self._held = self._held, b""
        return held


class _Masking:
    """One walk over a value; what is masked on the way is kept in `found`."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def mask(self, value: Any) -> Any:
        match value:
            case Mapping():
                return {key: self._mask_item(str(key), inner) for key, inner in value.items()}
            case list() | tuple():
                return self._mask_list(value)
            case str():
                return self._mask_text(value)
        return value

    def _hide(self, value: Any) -> str:
        match value:
            case str():
                self.found.append(value)
            case Mapping():
                self.mask(value)  # of a record, its type and its names are no secrets
            case list() | tuple():
                for inner in value:
                    self._hide(inner)
        return MASK

    def _mask_item(self, key: str, value: Any) -> Any:
        return self._hide(value) if is_secret(key, value) else self.mask(value)

    def _mask_list(self, values: Sequence[Any]) -> list[Any]:
        """A list, which may be a command's: `["--password", "…"]`."""
        before = ["", *values]
        return [
            self._hide(value) if _is_secret_argument(flag, value) else self.mask(value)
            for flag, value in zip(before, values, strict=False)
        ]

    def _mask_text(self, text: str) -> str:
        """JSON with its values masked; text that has nothing to hide stays as it was written."""
        if text.lstrip()[:1] in tuple('{["'):
            try:
                record = json.loads(text)
            except (ValueError, RecursionError):
                pass
            else:
                hidden = self.mask(record)
                return text if hidden == record else json.dumps(hidden)
        lowered = text.lower()
        if not any(hint in lowered for hint in _HINTS):
            return text
        for form in _FORMS:
            text = form.sub(self._replace, text)
        return self._mask_pairs(text)

    def _mask_pairs(self, text: str) -> str:
        parts, end = [], 0
        for key in _KEY.finditer(text):
            value = _VALUE.match(text, key.end()) if is_secret(key["name"]) else None
            if value and key.start() >= end and _is_secret_pair(key, value[value.lastgroup or 0]):
                start, stop = value.span(value.lastgroup or 0)
                parts += [text[end:start], self._hide(text[start:stop])]
                end = stop
        return "".join([*parts, text[end:]])

    def _replace(self, match: re.Match[str]) -> str:
        whole, start = match[0], match.start()
        before, after = match.start("secret") - start, match.end("secret") - start
        return whole[:before] + self._hide(match["secret"]) + whole[after:]


def _is_secret_argument(flag: Any, value: Any) -> bool:
    """Whether an argument is the secret that the flag before it announces."""
    if not (isinstance(flag, str) and isinstance(value, str)) or value.startswith("-"):
        return False
    if flag == "-p":  # to some programs a password, to others a port or a path
        return not _PORT_OR_PATH.fullmatch(value)
    return flag.startswith("-") and "=" not in flag and is_secret(flag)


def _is_secret_pair(key: re.Match[str], value: str) -> bool:
    if value.lower() in _MEANS_NOTHING:
        return False
    # "unexpected token: end of line" is a sentence, and so is what follows "CredentialsError: ".
    is_sentence = not (key["flag"] or key["quote"] or "=" in key["sign"])
    if is_telling(key["name"]) and not (is_sentence and _OF_AN_ERROR.search(key["name"])):
        return True
    return bool(_LOOKS_RANDOM.fullmatch(value)) if is_sentence else not _is_number(value)


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def _can_be_masked(text: str) -> bool:
    """Whether a secret can be masked wherever it stands, and nothing else with it."""
    fewest = _FEWEST_DIGITS if _is_number(text) else _FEWEST_CHARACTERS
    is_path = os.path.isabs(text) and os.path.exists(text)
    return len(text) >= fewest and text.lower() not in _EVERYDAY_WORDS and not is_path


def _spell(text: str) -> set[str]:
    """A secret as it is, and as it is written in URLs, JSON and Python."""
    text = text.encode(errors="replace").decode()
    quoted = {urllib.parse.quote(text, safe=""), urllib.parse.quote_plus(text)}
    return {text, urllib.parse.unquote(text), json.dumps(text)[1:-1], repr(text)[1:-1], *quoted}


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
