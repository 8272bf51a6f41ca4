# SPDX-License-Identifier: Apache-2.0
"""Files by which the code of two steps tells each other something, found in their texts."""

import ast

import pytest

from stoker.user_code.shared_files import find_files_of_code


def find(*texts, functions=()):
    return find_files_of_code([ast.parse(text) for text in texts], functions)


@pytest.mark.parametrize(
    "text",
    [
        "with open('output/best.json', 'w') as file: ...",
        "with open(os.path.join('output', 'best.json'), mode='wb') as file: ...",
        "PLACE = 'output'\nopen(f'{PLACE}/best.json', 'a')",
        "HERE = os.path.dirname(__file__)\nopen(os.path.join(HERE, 'best.json'), 'w')",
        "Path('output', 'best.json').write_text(text)",
        "(Path.cwd() / 'best.json').write_text(text)",
        "table.to_json('best.json')",
        "joblib.dump(values, 'output/best.json')",
        "tf.io.gfile.GFile('best.json', 'w')",
        "open('C:\\\\me\\\\best.json', 'w')",
    ],
)
def test_what_is_written_at_a_place_that_the_text_says(text):
    assert find(text).written == {"best.json"}


@pytest.mark.parametrize(
    "text",
    [
        "open('best.json')",
        "open('best.json', 'r')",
        "open(os.path.join(fn_args.serving_model_dir, 'best.json'), 'w')",
        "def write(place): open(place + '/best.json', 'w')",
        "Path('notes').write_text('0.2')",
        "Path('notes').write_text('see best.json')",
    ],
)
def test_what_is_only_read_or_lies_in_the_steps_own_folder_is_not(text):
    assert not find(text).written


def test_a_constant_may_be_of_another_file():
    settings = "BEST = 'output/best.json'"
    assert find(settings, "open(settings.BEST, 'w')").written == {"best.json"}


def test_only_what_a_function_comes_to_counts():
    tuning = "def tuner_fn(args): save()\ndef save(): open('best.json', 'w')\ndef read(): ..."
    training = "BEST = 'best.json'\ndef run_fn(args): read(); open(BEST)\ndef other(): 'a.csv'"
    assert find(tuning, functions=["tuner_fn"]).written == {"best.json"}
    both = find(tuning, training, functions=["run_fn"])
    assert (both.written, both.named) == (set(), {"best.json"})


def test_steps_meet_where_one_writes_what_the_other_names():
    writes, reads = find("open('best.json', 'w')"), find("open('output/best.json')")
    assert writes.meets(reads)
    assert reads.meets(writes)
    assert writes.meets(writes)
    assert not reads.meets(reads)
    assert not writes.meets(find("open('other.json', 'w')"))
