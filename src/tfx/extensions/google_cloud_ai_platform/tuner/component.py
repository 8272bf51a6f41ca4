# SPDX-License-Identifier: Apache-2.0
"""Tuning on AI Platform."""

from stoker.stand_ins.tfx.cloud import Tuner
