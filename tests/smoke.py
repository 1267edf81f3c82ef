"""Does an installed wheel work? Run by ``make wheel`` with the Python of an empty environment."""

import subprocess
import sys
from pathlib import Path


def main():
    import sparsetoken as st

    assert Path(sys.prefix) in Path(st.__file__).parents, f"not the wheel: {st.__file__}"
    problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
    X, y, truth = problem.sample(200, 20, random_state=0, return_truth=True)
    fresh = problem.sample(500, 20, random_state=1, direction=truth.direction)
    assert st.AttentionClassifier(random_state=0).fit(X, y).score(*fresh) > 0.9
    predicted = st.theory.risk(problem, "pooled", alpha=2.0, reg=1e-2)
    assert abs(predicted.test_error - 0.293358) < 1e-6
    command = Path(sys.executable).with_name("sparsetoken")
    said = subprocess.run([command, "--help"], capture_output=True, text=True, check=False)
    assert said.stderr.endswith("pip install 'sparsetoken[cli]'\n"), said
    print(f"sparsetoken {st.__version__}: import, fit and theory work; {said.stderr.strip()}")


if __name__ == "__main__":
    main()
