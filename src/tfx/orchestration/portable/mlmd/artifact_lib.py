# SPDX-License-Identifier: Apache-2.0
"""Artifacts of a store, read and changed."""

from stoker.stand_ins.tfx.metadata import get_artifacts_by_ids, update_artifacts
