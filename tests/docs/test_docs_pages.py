# SPDX-License-Identifier: Apache-2.0
"""What can be said of README and docs without running them."""

import re
import shlex

import click
import pytest
from snippets import PAGES, READ, REPOSITORY, RUN, find_snippets

from stoker.cli.app import stoker
from stoker.cli.checking.findings import DIFFERENCES
from stoker.patches.tf_keras_older import _GONE
from stoker.stand_ins.tfdv import names as tfdv_names
from stoker.stand_ins.tfx import cloud, missing
from stoker.user_code.known_packages import KNOWN

DOCS = REPOSITORY / "docs"
MIGRATING = (DOCS / "migrating.md").read_text()
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def by_name(page):
    return str(page.relative_to(REPOSITORY))


@pytest.mark.parametrize("page", PAGES, ids=by_name)
def test_every_block_of_a_page_is_run_or_says_why_not(page):
    for snippet in find_snippets(page):
        assert snippet.language in (*RUN, *READ), f"{snippet.place} has no known language"
        assert snippet.not_run is None or len(snippet.not_run) > 20, f"{snippet.place}: why not?"
    indented = re.findall(r"^\n {4}\S.*", FENCED.sub("", page.read_text()), re.MULTILINE)
    assert not indented, f"{page}: fence these, to say what they are"


def test_most_blocks_are_run():
    blocks = [one for page in PAGES for one in find_snippets(page) if one.language in RUN]
    left_out = [one.place for one in blocks if one.not_run is not None]
    assert len(left_out) < len(blocks) / 4, left_out


@pytest.mark.parametrize("page", PAGES, ids=by_name)
def test_commands_in_the_text_have_the_options_that_they_name(page):
    for words in re.findall(r"`stoker ([a-z][^`]*)`", FENCED.sub("", page.read_text())):
        name, *options = shlex.split(words.replace("…", "").replace("\n", " "))
        command = stoker.get_command(click.Context(stoker), name)
        assert command, f"there is no `stoker {name}`"
        known = {option for parameter in command.params for option in parameter.opts}
        if name != "run":  # whose other options are those of the pipeline file
            given = {word.partition("=")[0] for word in options if word.startswith("--")}
            assert given <= known, f"stoker {words}"


def test_coming_from_tfx_names_everything_that_is_refused():
    refused = {
        *missing.NAMES,
        *missing.COMPILED,
        *(name.rpartition(".")[2] for name in missing.MODULES),
        *tfdv_names.NOT_HERE,
        *(name for names in _GONE.values() for name in names),
        *(name for name, package in KNOWN.items() if not package.pip),
    }
    classes = [one for one in vars(cloud).values() if hasattr(one, "MISSING_PART")]
    refused |= {one.__name__ for one in classes if "executor" not in one.MISSING_PART}
    assert sorted(name for name in refused if name not in MIGRATING) == []


def test_coming_from_tfx_names_what_differs():
    named = {name for name in DIFFERENCES if not name.endswith(("DAGRunner", "V2DagRunner"))}
    known = {name for name in named if name in MIGRATING} | {"telemetry_utils"}
    assert named == known


def test_messages_in_troubleshooting_are_said_somewhere():
    page = (DOCS / "troubleshooting.md").read_text()
    sources = "\n".join(path.read_text() for path in (REPOSITORY / "src").rglob("*.py"))
    said = re.sub(r"\{[^{}]*\}", "…", re.sub(r'"\s*\n\s*f?"', "", sources))
    for cell in re.findall(r"^\| (`.*?) \| ", page, re.MULTILINE):
        for message in re.findall(r"`([^`]+)`", cell):
            for part in re.split(r"…|'[^']*'", message):
                assert part.strip() in said, message
