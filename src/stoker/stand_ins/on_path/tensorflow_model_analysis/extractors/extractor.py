# SPDX-License-Identifier: Apache-2.0
"""What is taken out of examples."""

from stoker.models.extractors import Extractor
