"""The command `python -m tools.classroom list`."""

import pytest

from tests.project import ROOT
from tools.classroom.__main__ import main


def test_ids_are_shown_and_names_on_request(made, capsys):
    source = str(made("gradescope").source)
    assert main(["list", source]) == 0
    plain = capsys.readouterr().out
    assert main(["list", source, "--names"]) == 0
    named = capsys.readouterr().out
    submissions = made("gradescope").submissions
    for each in submissions:
        (line,) = [x for x in named.splitlines() if x.startswith(f"submission_{each.number} ")]
        assert all(person.email in line for person in each.people)
    shown = [line for line in plain.splitlines() if line.startswith("submission_")]
    assert len(shown) == len(submissions) == 40
    everybody = [person for each in submissions for person in each.people]
    assert not any(p.email in line or p.name in line for p in everybody for line in shown)
    groups = sum(len(each.people) > 1 for each in submissions)
    counts = f"Gradescope export: 40 submissions, {len(everybody)} students, {groups} groups, "
    assert plain.splitlines()[-1].startswith(counts)


def test_late_ones_and_attempts_are_marked(made, capsys):
    assert main(["list", str(made("canvas").source), "--attempts", "all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("  late" in line for line in lines) and any("  attempt 3" in line for line in lines)


def test_the_command_ends_as_it_says(run_python, tmp_path):
    ended = run_python("-m", "tools.classroom", "list", tmp_path / "missing")
    assert ended.returncode == 2 and "Traceback" not in ended.stderr
    assert ended.stderr.startswith("classroom: ") and "No such file" in ended.stderr


def test_help_names_every_command_and_the_exit_codes(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    said = capsys.readouterr().out
    assert ended.value.code == 0 and "exit codes: 0 done, 2 wrong usage" in said
    for command in ("list", "forget", "purge"):
        assert f"\n    {command} " in said
        with pytest.raises(SystemExit) as ended:
            main([command, "--help"])
        assert ended.value.code == 0 and "usage: " in capsys.readouterr().out


def test_no_module_of_it_needs_torch(run_python):
    code = "import sys, tools.classroom.__main__; assert 'torch' not in sys.modules"
    assert run_python("-c", code, cwd=ROOT).returncode == 0
