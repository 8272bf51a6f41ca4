# SPDX-License-Identifier: Apache-2.0
"""Steps that run once for each artifact of a channel."""

from stoker.dsl import ForEach
