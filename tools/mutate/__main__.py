"""`python -m tools.mutate PACKAGE…`: changes single expressions of `harness/PACKAGE`, and lists what no quick test notices.

It samples `--count` changes of each package: a comparison or a condition reversed, a number or truth value altered, a
statement left out, None returned. One run in a copy of the checkout tells which of the quick tests below `--tests` (those
that mirror the packages) execute which lines; each change is then tried with those that execute it. A test that fails, or
takes too much CPU time, has noticed it. What survives is tried with the slow tests in the same way if `--slow` is given.

A function is changed in a fork of that run. What runs on import, or in a process that a test starts, is changed in its
file, and imported anew.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.mutate.change import Change, changes_of
from tools.mutate.run import say
from tools.mutate.trial import find_survivors


def mirroring(package: str) -> list[str]:
    """Return the tests of a package: its folder, and the files elsewhere that test its modules."""
    from tests.test_mirror import TESTED_WITH

    name = package.partition("/")[0]
    listed = [file for file, tested in TESTED_WITH.items() if any(module.startswith(f"{name}/") for module in tested)]
    return [f"tests/{name}", *(f"tests/{file}" for file in listed if not file.startswith(f"{name}/"))]


def main() -> None:
    """Try changes of each package, and print those that survive."""
    parser = argparse.ArgumentParser(
        "python -m tools.mutate", description="Lists changes of the harness that no quick test notices."
    )
    parser.add_argument("packages", nargs="+", metavar="PACKAGE", help="a package, or a module as api/models.py")
    parser.add_argument("--count", type=int, default=8, help="changes of each package (8)")
    parser.add_argument("--seed", default="1", help="another one samples other changes")
    parser.add_argument("--tests", nargs="+", metavar="FOLDER", help="the tests asked (those that mirror the packages)")
    parser.add_argument("--slow", action="store_true", help="try what survives with the slow tests")
    options = parser.parse_args()
    tracked = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.splitlines()
    with tempfile.TemporaryDirectory() as folder:
        for name in filter(os.path.isfile, tracked):
            Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(name, Path(folder, name))
        os.chdir(folder)
        os.environ["PYTHONPATH"] = folder
        sys.path[:] = [folder, *sys.path[1:]]
        changes = [change for package in options.packages for change in sample(package, options)]
        named = options.tests or [file for package in options.packages for file in mirroring(package)]
        quick = find_survivors(changes, folders := [*dict.fromkeys(named)])
        slow = find_survivors(quick, folders, "-m", "slow") if options.slow and quick else quick
        for package in options.packages:
            ours, left, last = (
                [change for change in several if change.file.is_relative_to(f"harness/{package}")]
                for several in (changes, quick, slow)
            )
            more = f", {len(last)} the slow tests, too" if options.slow else ""
            say(f"{package}: {len(left)} of {len(ours)} survived{more}")


def sample(package: str, options: argparse.Namespace) -> list[Change]:
    """Return some changes of a package, in the order of its lines."""
    root = Path("harness", package)
    files = [root] if root.is_file() else sorted(root.rglob("*.py"))
    found = [change for file in files for change in changes_of(file)]
    chosen = random.Random(options.seed).sample(range(len(found)), min(options.count, len(found)))
    return [found[number] for number in sorted(chosen)]


if __name__ == "__main__":
    main()
