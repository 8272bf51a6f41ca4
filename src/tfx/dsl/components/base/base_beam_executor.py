# SPDX-License-Identifier: Apache-2.0
"""The class of executors that run Beam."""

from stoker.dsl import BaseBeamExecutor
