"""`python -m tools.release TAG ADDRESS`: reports what prevents a release, with exit code 1.

It needs only Python, because it runs before anything is installed.
"""

import json
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
OWNER = "OWNER"
"""The placeholder in pyproject.toml for the owner of the repository."""


def find_obstacles(tag: str, address: str, root: Path = ROOT) -> list[str]:
    """List the obstacles to a release of this tag from the repository at this address, each with its fix."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    package = json.loads((root / "integrations/node/package.json").read_text(encoding="utf-8"))
    headings = re.findall(r"^## \[(.+?)\]", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    version, repository = project["version"], project["urls"]["Repository"]
    obstacles = {
        f"the tag is {tag}: version {version} in pyproject.toml needs the tag v{version}": tag != f"v{version}",
        f"integrations/node/package.json has version {package['version']}: write {version}": package["version"]
        != version,
        f"CHANGELOG.md has no release {version}: write a heading for it below [Unreleased]": version not in headings,
        f"[project.urls] in pyproject.toml says {repository}: write {address}": repository != address,
    }
    return [obstacle for obstacle, is_there in obstacles.items() if is_there]


def main(arguments: list[str]) -> int:
    """Print the obstacles and return the exit code."""
    if len(arguments) != 2:
        print("usage: python -m tools.release TAG ADDRESS", file=sys.stderr)
        return 2
    tag, address = arguments
    obstacles = find_obstacles(tag, address)
    print("\n".join(obstacles) or "ready", file=sys.stderr if obstacles else sys.stdout)
    return 1 if obstacles else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
