# SPDX-License-Identifier: Apache-2.0
"""The runner for Airflow: `stoker run` takes its place."""

from stoker.runner.other_runners import AirflowDagRunner
from stoker.runner.other_runners import Settings as AirflowPipelineConfig
