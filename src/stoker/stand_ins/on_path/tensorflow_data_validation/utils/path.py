# SPDX-License-Identifier: Apache-2.0
"""The path of a feature."""

from stoker.stand_ins.tfdv.feature_path import FeaturePath
