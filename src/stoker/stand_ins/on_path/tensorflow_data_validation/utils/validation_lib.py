# SPDX-License-Identifier: Apache-2.0
"""Examples held against a schema one by one."""

from stoker.stand_ins.tfdv.anomalous_examples import (
    validate_examples_in_csv,
    validate_examples_in_tfrecord,
)
