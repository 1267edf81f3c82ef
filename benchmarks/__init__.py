"""What is fast and how good it is: ``make bench``, and one module a question.

``report`` has the command line, timing and tables, ``intervals`` the table of predictions,
``families`` the data, ``peers`` and ``torch_peers`` the classifiers. Never part of the tests.
"""
