# SPDX-License-Identifier: Apache-2.0
"""Pipelines as files of other orchestrators, in which every step is `stoker step FILE NODE`.

    Runner(config).run(pipeline) ─▶ outline_steps ─▶ commands with edges, as the other writes them

There is no second runner: when the orchestrator starts such a command, the same file is executed
again, and the run that it starts is taken over by `stoker step`.

To add an orchestrator:

1. Write a runner in a file here. Its `run` first asks `is_started_by_command`: a file that a
   command of ours executes runs its pipeline here, or one step of it.
2. Take steps and edges from `runner/step_list.py`, commands from `make_command` there.
3. Refuse secrets (`settings.py`), and what cannot be said there, when the file is made.
"""
