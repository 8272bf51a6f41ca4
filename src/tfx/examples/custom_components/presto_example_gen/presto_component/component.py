# SPDX-License-Identifier: Apache-2.0
"""Examples from Presto."""

from stoker.components.example_gen.queries import PrestoExampleGen
