# SPDX-License-Identifier: Apache-2.0
"""Messages that are known only when a pipeline runs."""

from stoker.dsl.placeholders import make_proto
