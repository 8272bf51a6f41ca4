# SPDX-License-Identifier: Apache-2.0
"""What pipelines of the first years said about logs."""

from stoker.stand_ins.tfx.logger_config import LoggerConfig, get_logger
