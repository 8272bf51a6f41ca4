# SPDX-License-Identifier: Apache-2.0
"""What people's code finds as TFDV where it is not installed; an installed TFDV comes first."""

from stoker.stand_ins.tfdv.names import find_name as __getattr__
