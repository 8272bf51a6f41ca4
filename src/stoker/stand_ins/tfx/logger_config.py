# SPDX-License-Identifier: Apache-2.0
"""What pipelines of TFX's first years say about logs, in `additional_pipeline_args`.

Stoker keeps the log of every step with its run, so that nothing has to be configured.
"""

import logging
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoggerConfig:
    """Where logs were to go, and how much was to be logged."""

    log_root: str | None = None
    log_level: int = logging.INFO
    pipeline_name: str | None = None
    worker_name: str | None = None


def get_logger(config: LoggerConfig) -> logging.Logger:
    """A logger with the level of `config`; what it is told goes to the log of the step."""
    logger = logging.getLogger(config.worker_name or config.pipeline_name or "tfx")
    logger.setLevel(config.log_level)
    return logger
