"""Run every benchmark of speed and memory, or those named on the command line."""

import importlib
import sys

from benchmarks.report import print_rows

TOPICS = ("sampling", "theory", "estimators")

for topic in sys.argv[1:] or TOPICS:
    print_rows(topic, importlib.import_module(f"benchmarks.{topic}").rows())
