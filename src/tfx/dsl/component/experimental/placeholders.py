# SPDX-License-Identifier: Apache-2.0
"""What stands in the command of a container for inputs, outputs and parameters."""

from stoker.components.container import (
    ConcatPlaceholder,
    InputUriPlaceholder,
    InputValuePlaceholder,
    OutputUriPlaceholder,
)
