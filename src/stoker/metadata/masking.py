# SPDX-License-Identifier: Apache-2.0
"""Secrets in parameters: masked before anything is printed or recorded."""

import json
import re
from collections.abc import Mapping
from typing import Any

MASK = "***"

# Found anywhere in a key, whatever separates its words: db_password, awsSecretKey, API-KEY.
_TELLING = re.compile(
    r"password|passwd|passphrase|secret|credential|apikey|accesskey|privatekey|authkey"
)
_WORD_BREAK = re.compile(r"[^a-zA-Z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
_PASSWORD_IN_URL = re.compile(r"(\w://[^\s:/@]*):[^\s/@]+@")


def mask_secrets(value: Any) -> Any:
    """`value` with `***` for what lies under a key such as password, token or api_key.

    However deep it lies, in JSON text too. The value itself is left as it is.
    """
    match value:
        case Mapping():
            return {key: _mask_item(key, inner) for key, inner in value.items()}
        case list() | tuple():
            return [mask_secrets(inner) for inner in value]
        case str():
            return _mask_text(value)
    return value


def _mask_item(key: Any, value: Any) -> Any:
    says_nothing = value is None or isinstance(value, bool)
    return MASK if is_secret(str(key)) and not says_nothing else mask_secrets(value)


def is_secret(key: str) -> bool:
    """Whether a key names a secret; `max_tokens` and `tokenizer` do not."""
    words = [word.lower() for word in _WORD_BREAK.split(key) if word]
    joined = "".join(words)
    return bool(_TELLING.search(joined)) or "token" in words or joined.endswith("token")


def _mask_text(text: str) -> str:
    """JSON with its values masked; text that has nothing to hide is returned as it was written."""
    if text.lstrip()[:1] in tuple('{["'):
        try:
            record = json.loads(text)
        except ValueError:
            pass
        else:
            hidden = mask_secrets(record)
            return text if hidden == record else json.dumps(hidden)
    return _PASSWORD_IN_URL.sub(rf"\1:{MASK}@", text)
