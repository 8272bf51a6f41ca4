# SPDX-License-Identifier: Apache-2.0
"""Plain records as YAML: blocks for what is nested, and JSON for what is not."""

import json
import re
from collections.abc import Iterator
from typing import Any

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_MEAN_SOMETHING = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


def to_yaml(*documents: Any) -> str:
    """One YAML file of these documents."""
    return "---\n".join("".join(f"{line}\n" for line in _write(one, "")) for one in documents)


def _write(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _write_item(f"{indent}{_write_key(key)}:", inner, f"{indent}  ")
    elif isinstance(value, list) and value:
        for inner in value:
            lines = list(_write(inner, f"{indent}  "))
            yield f"{indent}- {lines[0].lstrip()}"
            yield from lines[1:]
    else:
        yield f"{indent}{json.dumps(value)}"


def _write_item(key: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict | list) and value:
        yield key
        yield from _write(value, indent)
    else:
        yield f"{key} {json.dumps(value)}"


def _write_key(key: str) -> str:
    is_plain = _PLAIN_KEY.fullmatch(key) and key.lower() not in _MEAN_SOMETHING
    return key if is_plain else json.dumps(key)
