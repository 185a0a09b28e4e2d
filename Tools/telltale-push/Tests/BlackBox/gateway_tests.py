"""Puts the gateway's tests on Python's path: these tests share their support, and some run both programs."""

import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[3] / "telltale-gateway/Tests"
sys.path[1:1] = [str(TESTS / "Support"), str(TESTS / "BlackBox")]
