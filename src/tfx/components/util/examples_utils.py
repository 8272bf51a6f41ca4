# SPDX-License-Identifier: Apache-2.0
"""How examples are written."""

from stoker.stand_ins.tfx.executor_tools import (
    get_file_format,
    get_payload_format,
    get_payload_format_string,
    set_file_format,
    set_payload_format,
)
