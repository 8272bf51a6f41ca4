# SPDX-License-Identifier: Apache-2.0
"""Training on AI Platform."""

from stoker.stand_ins.tfx.cloud import Trainer
