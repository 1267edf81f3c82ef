"""What is fast, as ratios within one run: ``make bench``. Never part of the tests."""
