# SPDX-License-Identifier: Apache-2.0
"""What TFX has for Google's cloud."""

from stoker.stand_ins.tfx.missing import find_part
from tfx.v1.extensions import google_cloud_ai_platform, google_cloud_big_query

__getattr__ = find_part(__name__)
