# SPDX-License-Identifier: Apache-2.0
"""What running a component returns."""

from stoker.notebook.result import ExecutionResult
