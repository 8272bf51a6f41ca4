# SPDX-License-Identifier: Apache-2.0
"""The class of steps."""

from stoker.dsl import Node as BaseNode
