# SPDX-License-Identifier: Apache-2.0
"""Examples of a range of spans, under its old name."""

from stoker.components.resolver import SpanRangeStrategy as SpansResolver
