# SPDX-License-Identifier: Apache-2.0
"""Filters for a worker's log: the user's own lines stay, chatter of libraries goes."""

from __future__ import annotations

import logging
import sys

# `absl.app.run` turns INFO on for all. Not listed: what calls a user's print_fn=logging.info.
_TALKATIVE = (
    "/site-packages/tensorflow/",
    "/site-packages/tensorflow_transform/",
    "/site-packages/tf_keras/src/saving/",
    "/site-packages/tfx_bsl/",
)


def hush_libraries() -> None:
    """Drop what some libraries log with absl below WARNING, if absl's logging is loaded."""
    if "absl.logging" in sys.modules:
        logging.getLogger("absl").addFilter(_is_worth_showing)


def hush_deprecations() -> None:
    """Drop TensorFlow's warnings that a call is deprecated."""
    logging.getLogger("tensorflow").addFilter(_is_no_deprecation)


def _is_no_deprecation(record: logging.LogRecord) -> bool:
    return "is deprecated and will be removed" not in record.getMessage()


def _is_worth_showing(record: logging.LogRecord) -> bool:
    if record.levelno >= logging.WARNING:
        return True
    return not any(folder in record.pathname for folder in _TALKATIVE)
