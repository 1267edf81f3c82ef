"""Print pip constraints that pin every runtime dependency to the lower bound in pyproject.toml.

Tools that only test and build (pytest, ruff, ...) are left free.
"""

import re
import tomllib
from pathlib import Path

TOOLS = ("dev", "docs", "all")


def main():
    path = Path(__file__).parents[1] / "pyproject.toml"
    project = tomllib.loads(path.read_text())["project"]
    entries = list(project["dependencies"])
    for extra, names in project["optional-dependencies"].items():
        entries += [] if extra in TOOLS else names
    for entry in entries:
        if entry.startswith("sparsetoken["):
            continue  # another extra, listed itself
        found = re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?>=([\w.]+)", entry)
        if found is None:
            raise SystemExit(f"{entry!r} has no lower bound")
        print(f"{found[1]}=={found[2]}")


if __name__ == "__main__":
    main()
