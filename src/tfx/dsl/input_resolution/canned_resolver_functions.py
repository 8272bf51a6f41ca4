# SPDX-License-Identifier: Apache-2.0
"""The functions that TFX has."""

from stoker.stand_ins.tfx.missing import find_part
from stoker.dsl.resolver_functions import (
    all_spans,
    filter_custom_property_equal,
    filter_property_equal,
    latest_created,
    latest_version,
    paired_spans,
    pick,
    rolling_range,
    sequential_rolling_range,
    shuffle,
    slice,
    sliding_window,
    static_range,
)

__getattr__ = find_part(__name__)
