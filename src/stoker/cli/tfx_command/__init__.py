# SPDX-License-Identifier: Apache-2.0
"""The `tfx` command, for the engine that runs pipelines on this machine.

app.py          the groups, and who answers where TFX itself is installed
template.py     tfx template: projects to start from, below template_files/
pipeline.py     tfx pipeline: the pipelines that have been created
run.py          tfx run: their runs
created.py      what is kept of a pipeline that was created
options.py      the options that TFX's commands take
"""

from stoker.cli.tfx_command.app import main

__all__ = ["main"]
