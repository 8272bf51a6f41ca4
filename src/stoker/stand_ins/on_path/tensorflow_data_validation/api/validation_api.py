# SPDX-License-Identifier: Apache-2.0
"""Schemas and anomalies."""

from stoker.stand_ins.tfdv.anomalous_examples import validate_instance
from stoker.stand_ins.tfdv.schemas import infer_schema, update_schema
from stoker.stand_ins.tfdv.validate import (
    validate_corresponding_slices,
    validate_statistics,
    validate_statistics_internal,
)
