# SPDX-License-Identifier: Apache-2.0
"""Files of text and bytes."""

from stoker.stand_ins.tfdv.files import read_file_to_string, write_string_to_file
