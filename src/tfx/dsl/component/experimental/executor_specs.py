# SPDX-License-Identifier: Apache-2.0
"""Executors that run in containers."""

from stoker.components.container import TemplatedExecutorContainerSpec
