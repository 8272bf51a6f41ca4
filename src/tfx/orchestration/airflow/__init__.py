# SPDX-License-Identifier: Apache-2.0
"""The runner for Airflow."""

from stoker.stand_ins.tfx.missing import find_part

__getattr__ = find_part(__name__)
