# SPDX-License-Identifier: Apache-2.0
"""CSV on Apache Beam."""

from stoker.stand_ins.tfdv.transforms import DecodeCSV
