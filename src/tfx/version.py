# SPDX-License-Identifier: Apache-2.0
"""The version of TFX whose names are here."""

# Code written for TFX asks for a minimum, and 1.21 is the newest edition whose names and fields
# we follow; the local part after the plus sign keeps that comparison and says who answers.
__version__ = "1.21.0+stoker"
