"""What can't be tested on a machine is said at the end of the run, with the command that tests it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
# as there are here: some without Chromium, some without data, one that is skipped for another reason
TESTS = """
import pytest

@pytest.mark.skip(reason="{without_chromium}")
@pytest.mark.parametrize("k", range(3))
def test_page(k): ...

@pytest.mark.real_data
def test_data(): ...

@pytest.mark.skip(reason="not today")
def test_other(): ...

def test_run(): ...
"""


def test_tests_that_did_not_run_are_told_in_a_line_each(tmp_path: Path) -> None:
    reason = re.search(r'mark\.skip\(reason="([^"]*)"', (HERE / "viewer" / "conftest.py").read_text())
    assert reason is not None
    shutil.copy(HERE / "conftest.py", tmp_path)
    (tmp_path / "test_some.py").write_text(TESTS.format(without_chromium=reason[1]))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = real_data\n")
    left_out = ("PARTWHOLE_DATA", "PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS")
    for_make = tmp_path / "left-out"
    done = subprocess.run(
        # in a process beside, as `make unit` has them: what is skipped there is told here
        [sys.executable, "-m", "pytest", "--numprocesses", "1", "-ra", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={
            **{name: value for name, value in os.environ.items() if name not in left_out},
            "PARTWHOLE_LEFT_OUT": str(for_make),
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    *_, of_page, on_data, ending = done.stdout.strip().splitlines()
    assert "1 passed, 5 skipped" in ending
    assert of_page == (
        "3 tests of the page did not run, no Chromium; run by: apt-get install chromium && .venv/bin/pytest test_some.py"
    )
    assert on_data == (
        "1 test on published data did not run, PARTWHOLE_DATA is not set; run by: PARTWHOLE_DATA=FOLDER .venv/bin/pytest "
        "-m 'real_data and not slow and not gpu' test_some.py"
    )
    assert for_make.read_text().splitlines() == [of_page, on_data]
