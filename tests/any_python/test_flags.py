# SPDX-License-Identifier: Apache-2.0
"""Flags of a program, taken over by a process that knows only some of them."""

import json

DEFINE = """
from absl import flags
flags.DEFINE_integer('rows', 1, 'How many.')
flags.DEFINE_multi_string('name', [], 'Which.', short_name='n')
flags.DEFINE_boolean('loud', True, 'How.')
flags.DEFINE_string('text', None, 'What.')
"""


def test_a_worker_sees_the_flags_that_its_own_files_define(write, run_python, tmp_path):
    sent = tmp_path / "sent.json"
    run_python(
        f"""
        exec({DEFINE!r})
        flags.DEFINE_string('elsewhere', None, 'Not known to the worker.')
        flags.FLAGS(['x', '--elsewhere', 'y', '--rows', '7', '--name=a b', '-n=c', '--noloud'])
        flags.FLAGS.text = 'set by the program'
        import json
        from stoker.any_python.surroundings import flags_of_this_program
        json.dump(flags_of_this_program(), open({str(sent)!r}, 'w'))
        """
    )
    step = write("step.py", DEFINE + "def values(): return flags.FLAGS.flag_values_dict()")
    run_python(
        f"""
        import json
        from stoker.any_python.surroundings import take_over_flags
        from stoker.any_python.modules import load_object
        take_over_flags(json.load(open({str(sent)!r})))
        for _ in range(2):
            values = load_object({str(step) + ":values"!r})()
            assert (values['rows'], values['loud']) == (7, False), values
            assert values['name'] == ['a b', 'c'], values
            assert values['text'] == 'set by the program', values
        """
    )
    assert json.loads(sent.read_text())["name"] == ["--name=a b", "--name=c"]


def test_flags_of_a_module_file_that_is_loaded_later_are_filled_in_too(write, run_python):
    first = write(
        "first.py", "from absl import flags\ndef run_fn(): return flags.FLAGS.is_parsed()"
    )
    second = write("second.py", DEFINE + "def run_fn(): return flags.FLAGS.rows")
    run_python(
        f"""
        from stoker.any_python.surroundings import take_over_flags
        from stoker.any_python.modules import load_function
        take_over_flags({{'rows': ['--rows=7']}})
        assert load_function({str(first)!r})() is True
        assert load_function({str(second)!r})() == 7
        """
    )


def test_a_program_without_a_command_line_sends_how_much_it_logs(run_python):
    run_python(
        """
        from absl import logging
        from stoker.any_python.surroundings import flags_of_this_program
        logging.set_verbosity(logging.INFO)
        assert flags_of_this_program() == {"verbosity": ["--verbosity=0"]}
        """
    )


def test_a_program_that_uses_no_flags_sends_none(run_python):
    run_python(
        """
        from absl import flags
        from stoker.any_python.surroundings import flags_of_this_program
        assert flags_of_this_program() is None
        """
    )
