# SPDX-License-Identifier: Apache-2.0
"""What is known about a run only when it runs."""

from stoker.dsl.placeholders import (
    RuntimeInfoKeys,
    environment_variable,
    exec_property,
    execution_invocation,
    runtime_info,
)
