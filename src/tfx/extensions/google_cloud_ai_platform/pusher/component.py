# SPDX-License-Identifier: Apache-2.0
"""Serving on AI Platform."""

from stoker.stand_ins.tfx.cloud import Pusher
