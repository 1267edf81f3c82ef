import pytest

from sparsetoken.cli import main


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
