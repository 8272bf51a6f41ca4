# SPDX-License-Identifier: Apache-2.0
"""TFX's name for stoker.models.rewriting: models in other formats."""
