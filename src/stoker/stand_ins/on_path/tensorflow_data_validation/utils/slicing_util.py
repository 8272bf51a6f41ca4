# SPDX-License-Identifier: Apache-2.0
"""Slices of batches."""

from stoker.stand_ins.tfdv.slicing import (
    default_slicer,
    generate_slices,
    get_feature_value_slicer,
)
