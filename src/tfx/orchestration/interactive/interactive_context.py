# SPDX-License-Identifier: Apache-2.0
"""The context that runs components one by one."""

from stoker.notebook.context import InteractiveContext
