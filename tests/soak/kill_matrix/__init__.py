# SPDX-License-Identifier: Apache-2.0
"""A thousand kills of whole pipelines: `python -m kill_matrix`, in the folder above this one.

matrix.py     which scenario, root and victim come next; what is printed at the end
chain.py      run after run of the same work, all but the last one killed
moments.py    when: at a random time in a step, or right after something was seen on the disk
victims.py    whom: the runner, a worker, the fork server, all at once, or SIGTERM
checks.py     what an outsider finds in the root afterwards, without a line of Stoker's
results.py    what a run has made, to compare with an uninterrupted one
roots.py      folders on the local disk, and on FUSE
killed/       the pipelines
"""
