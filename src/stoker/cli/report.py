# SPDX-License-Identifier: Apache-2.0
"""`stoker report`: a run as one HTML file, to mail or to attach."""

import os

import click

from stoker.cli.lookup import list_runs, require_run
from stoker.cli.options import complete, json_option, with_store
from stoker.cli.printing import print_answer
from stoker.metadata.store import Store
from stoker.storage.root import name_report
from stoker.views.pages.report import write_report
from stoker.views.pages.run_reading import describe_run
from stoker.views.table import readable_path, readable_size


@click.command()
@click.argument(
    "name", metavar="RUN", shell_complete=complete(lambda store: ["last", *list_runs(store)])
)
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="The file to write.  [default: report-RUN.html]",
)
@json_option
@with_store(by="name")
def report(store: Store, name: str, output: str | None, as_json: bool) -> int:
    """Write a RUN as one HTML file, which needs no server and nothing from the network.

    Give a RUN by its id, the first characters of its id, or `last`.
    """
    found = require_run(store, name)
    path = write_report(describe_run(store, found), output or name_report(found.run_id))
    size = os.path.getsize(path)
    line = f"{readable_path(os.path.abspath(path))} shows run {found.run_id}: {readable_size(size)}"
    print_answer({"run": found.run_id, "file": path, "bytes": size}, line, as_json=as_json)
    return 0
