# SPDX-License-Identifier: Apache-2.0
"""Statistics of files and data frames."""

from stoker.stand_ins.tfdv.generate import (
    generate_statistics_from_csv,
    generate_statistics_from_dataframe,
    generate_statistics_from_tfrecord,
    get_csv_header,
)
