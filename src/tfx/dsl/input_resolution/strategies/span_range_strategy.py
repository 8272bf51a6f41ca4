# SPDX-License-Identifier: Apache-2.0
"""Examples of a range of spans."""

from stoker.components.resolver import SpanRangeStrategy
