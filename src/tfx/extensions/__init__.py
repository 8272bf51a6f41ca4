# SPDX-License-Identifier: Apache-2.0
"""What TFX has for Google's cloud: not in Stoker."""

from tfx.extensions import google_cloud_ai_platform, google_cloud_big_query
