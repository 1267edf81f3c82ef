import csv

import pytest

import sparsetoken as st
from sparsetoken.cli import main

PROBLEM = st.SparseTokenProblem(6, 1, 6.0)


@pytest.fixture
def run(capsys):
    """Run a command in this process: (exit code, stdout, stderr)."""

    def call(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        return ended.value.code or 0, shown.out, shown.err

    return call


@pytest.fixture
def refused(run):
    """Run a command that must fail with nothing on stdout and one line on stderr."""

    def call(arguments, code, *parts):
        found, out, err = run(*arguments)
        assert found == code, err
        assert out == ""
        assert err.startswith("sparsetoken: ")
        assert err.count("\n") == 1
        for part in parts:
            assert part in err

    return call


@pytest.fixture(scope="module")
def drawn():
    X, y, truth = PROBLEM.sample(120, 8, random_state=0, return_truth=True)
    return X, y, truth


def write_csv(path, X, names, labels, header=("bag", "label"), **columns):
    """Write one token per line; ``columns`` have one value per sequence."""
    features = [f"x{j}" for j in range(X.shape[-1])]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*header, *columns, *features])
        for i, sequence in enumerate(X):
            extra = [values[i] for values in columns.values()]
            writer.writerows([names[i], labels[i], *extra, *token] for token in sequence)
