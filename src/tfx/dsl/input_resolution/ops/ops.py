# SPDX-License-Identifier: Apache-2.0
"""The operators that TFX has."""

from stoker.stand_ins.tfx.missing import find_part
from stoker.dsl.resolver_functions import (
    AllSpans,
    ConsecutiveSpans,
    EqualPropertyValues,
    ExcludeSpans,
    LatestCreateTime,
    LatestSpan,
    LatestVersion,
    PairedSpans,
    Shuffle,
    SkipIfEmpty,
    SkipIfLessThanNSpans,
    Slice,
    SlidingWindow,
    StaticSpanRange,
    Unnest,
)

__getattr__ = find_part(__name__)
