# SPDX-License-Identifier: Apache-2.0
"""The classes of executors."""

from stoker.dsl import BaseBeamExecutor, BaseExecutor
