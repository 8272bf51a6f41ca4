# SPDX-License-Identifier: Apache-2.0
"""Seeds for shuffles that are given none: fresh in every run, and alike in all workers of a group.

The n-th such shuffle of a process depends on n and on one number, the entropy. Whoever sets the
entropy that an earlier run had gets that run's shuffles again.
"""

import functools
import hashlib
import itertools
import json
import os
import secrets
from typing import Any

_entropy_given: list[int] = []
_numbers = itertools.count()


def fresh_seed() -> int:
    """The seed of the next shuffle."""
    return _hash(f"{entropy()} {next(_numbers)}")


def entropy() -> int:
    """What the seeds of this process depend on."""
    return _entropy_given[-1] if _entropy_given else _draw()


def set_entropy(number: int) -> None:
    """Begin again, with the seeds that a process with this entropy draws."""
    global _numbers
    _entropy_given[:] = [number]
    _numbers = itertools.count()


def cluster() -> dict[str, Any]:
    """The addresses of the processes that train together, by task; empty if there is only one."""
    found: dict[str, Any] = json.loads(os.environ.get("TF_CONFIG") or "{}").get("cluster") or {}
    return found


@functools.cache
def _draw() -> int:
    """Entropy of the machine; in a worker group of its addresses, new in every attempt."""
    addresses = json.dumps(cluster(), sort_keys=True)
    if addresses == "{}":
        return secrets.randbits(63)
    return _hash(addresses)


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")
