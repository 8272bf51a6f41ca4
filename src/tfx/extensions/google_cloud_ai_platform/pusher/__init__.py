# SPDX-License-Identifier: Apache-2.0
"""Serving on Google's AI Platform: not in Stoker."""

from stoker.stand_ins.tfx.missing import missing_extension
from tfx.extensions.google_cloud_ai_platform.pusher import component, executor

__getattr__ = missing_extension(__name__)
