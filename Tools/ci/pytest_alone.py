"""A plugin of pytest: a test that fails prints the command that runs it alone.

    PYTHONPATH=Tools/ci COMMAND_ALONE=Tools/ci/test-python python3 -m pytest -p pytest_alone

COMMAND_ALONE is the program that takes pytest's arguments. The line stands below the failure, behind what the test printed:

    ------------------------------ alone ------------------------------
    Tools/ci/test-python -k test_a_list_that_is_cut_is_whole
"""

import os

import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        name = getattr(item, "originalname", None) or item.name
        report.sections.append(("alone", f"{os.environ.get('COMMAND_ALONE', 'pytest')} -k {name}\n"))
