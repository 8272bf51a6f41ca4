# SPDX-License-Identifier: Apache-2.0
"""`tfma.experimental`, where TFMA is not installed."""

from stoker.stand_ins.tfma import dataframes as dataframe

__all__ = ["dataframe"]
