# SPDX-License-Identifier: Apache-2.0
"""Views in a notebook."""

from stoker.stand_ins.tfma.view import (
    render_plot,
    render_slicing_attributions,
    render_slicing_metrics,
    render_time_series,
)
