# SPDX-License-Identifier: Apache-2.0
"""Google's AI Platform: not in Stoker, which says so when a name is used."""

from stoker.stand_ins.tfx.missing import missing_extension
from tfx.extensions.google_cloud_ai_platform import pusher, trainer

__getattr__ = missing_extension(__name__)
