# SPDX-License-Identifier: Apache-2.0
"""How the examples of a split are written by Beam."""

from stoker.components.example_gen.beam_executor import (
    FILE_NAME as DEFAULT_FILE_NAME,
    FILE_NAME as DEFAULT_TF_RECORD_FILE_NAME,
    write_split as WriteSplit,
)
