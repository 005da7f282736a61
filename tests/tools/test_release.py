"""A release goes out only when tag, versions, changelog and address agree."""

import json
import os
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.support.processes import run
from tools.release import OWNER, ROOT, find_obstacles, main

ADDRESS = "https://github.com/someone/responses-harness"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that a release reads, ready for version 1.2.3."""
    (tmp_path / "integrations/node").mkdir(parents=True)
    (tmp_path / "integrations/node/package.json").write_text('{"version": "1.2.3"}')
    (tmp_path / "CHANGELOG.md").write_text("## [Unreleased]\n\n## [1.2.3]\n")
    (tmp_path / "pyproject.toml").write_text(
        f'[project]\nversion = "1.2.3"\n[project.urls]\nRepository = "{ADDRESS}"\n'
    )
    return tmp_path


def test_what_agrees_is_ready(checkout):
    assert find_obstacles("v1.2.3", ADDRESS, checkout) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        ("pyproject.toml", "1.2.3", "1.2.4", "needs the tag v1.2.4"),
        ("pyproject.toml", "someone", OWNER, f"write {ADDRESS}"),
        ("integrations/node/package.json", "1.2.3", "1.2.2", "has version 1.2.2: write 1.2.3"),
        ("CHANGELOG.md", "1.2.3", "1.2.2", "no release 1.2.3"),
    ],
)
def test_versions_that_differ_are_reported(checkout, file, old, new, told):
    changed = (checkout / file).read_text().replace(old, new)
    (checkout / file).write_text(changed)
    assert told in " ".join(find_obstacles("v1.2.3", ADDRESS, checkout))


def test_this_checkout_waits_for_its_owner_alone():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert [obstacle for obstacle in find_obstacles(f"v{version}", ADDRESS) if OWNER not in obstacle] == []


def test_the_command_says_what_it_needs(capsys):
    assert main([]) == 2
    assert "usage" in capsys.readouterr().err
    assert main(["v0", ADDRESS]) == 1
    assert "needs the tag" in capsys.readouterr().err


class TestTheWorkflows:
    FILES = sorted((ROOT / ".github/workflows").glob("*.yml"))

    @pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
    def test_the_workflows_run_what_a_change_must_pass_and_pin_actions_and_take_no_permission_of_all_jobs(self, file):
        text = file.read_text(encoding="utf-8")
        used = re.findall(r"uses: (\S+)(.*)", text)
        assert used
        assert [use for use, note in used if not re.search(r"@[0-9a-f]{40}$", use) or note[:5] != "  # v"] == []
        assert (yaml.safe_load(text)["permissions"], ".ci/run" in text) == ({}, True)

    def test_the_workflows_run_every_python_that_the_package_names(self):
        matrix = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]["versions"]
        classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
        named = [line.rpartition(" ")[2] for line in classifiers if re.search(r":: 3\.\d+$", line)]
        assert matrix["strategy"]["matrix"]["python"] == named


class TestTheImageOfARelease:
    """The step runs in bash with a `docker` that writes down what it is asked for."""

    JOB = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))["jobs"]["image"]
    DOCKER = """#!/bin/sh
echo "$@" >> asked
case "$*" in
  login*) cat > given;;
  *State.Health.Status*) echo "$HEALTH";;
  *RepoDigests*) echo "ghcr.io/someone/responses-harness@sha256:1a2b";;
esac
"""

    def publish(self, folder: Path, health: str) -> tuple[int, list[str]]:
        (docker := folder / "docker").write_text(self.DOCKER)
        docker.chmod(0o755)
        (step,) = (step for step in self.JOB["steps"] if step.get("id") == "pushed")
        assert step["env"] == {"TOKEN": "${{ github.token }}"}
        of_github = {"GITHUB_REPOSITORY": "Someone/responses-harness", "GITHUB_SERVER_URL": "https://github.com"}
        of_github |= {"GITHUB_REF_NAME": "v1.2.3", "GITHUB_ACTOR": "someone", "GITHUB_OUTPUT": str(folder / "outputs")}
        env = {**os.environ, **of_github, "PATH": f"{folder}:{os.environ['PATH']}", "TOKEN": "ghs_1", "HEALTH": health}
        script = step["run"].replace("timeout 60", "timeout 1")
        done = run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], cwd=folder, env=env)
        return done.returncode, (folder / "asked").read_text().splitlines()

    def test_the_image_of_a_release_is_built_tried_pushed_and_attested(self, tmp_path):
        code, asked = self.publish(tmp_path, "healthy")
        image = "ghcr.io/someone/responses-harness"
        assert (code, (tmp_path / "given").read_text()) == (0, "ghs_1\n")
        steps = ["build", "run", "inspect", "login", "push", "push", "inspect"]
        assert [command.split()[0] for command in asked] == steps
        assert asked[4:6] == [f"push {image}:1.2.3", f"push {image}:latest"]
        assert (tmp_path / "outputs").read_text() == f"image={image}\ndigest=sha256:1a2b\n"
        attested = self.JOB["steps"][-1]["with"]
        assert attested["subject-digest"] == "${{ steps.pushed.outputs.digest }}"
        assert attested["push-to-registry"] is True

    def test_the_image_of_a_release_is_not_pushed_if_it_does_not_become_healthy(self, tmp_path):
        code, asked = self.publish(tmp_path, "unhealthy")
        assert code != 0
        assert not [command for command in asked if command.startswith(("login", "push"))]

    def test_the_image_of_a_release_waits_for_approval_and_may_write_packages_alone(self):
        assert (self.JOB["environment"], self.JOB["permissions"]["packages"]) == ("release", "write")
        assert self.JOB["permissions"]["contents"] == "read"


@pytest.mark.parametrize(
    "form", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml")), ids=lambda form: form.stem
)
def test_each_form_asks_for_what_it_needs(form):
    asked = yaml.safe_load(form.read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= asked.keys()
    ids = [field["id"] for field in asked["body"]]
    assert len(ids) == len(set(ids))
    assert any(field.get("validations", {}).get("required") for field in asked["body"])


def test_the_npm_package_says_what_it_is_and_where_it_comes_from():
    folder = ROOT / "integrations/node"
    package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    assert {"vitest", "jest", "mock", "openai"} <= set(package["keywords"])
    assert package["repository"] == {
        "type": "git",
        "url": f"git+https://github.com/{OWNER}/responses-harness.git",
        "directory": "integrations/node",
    }
    assert package["homepage"].startswith(f"https://github.com/{OWNER}/responses-harness/")
    readme, page = (
        (ROOT / name).read_text(encoding="utf-8") for name in ("integrations/node/README.md", "docs/node.md")
    )
    shown = re.findall(r"^```.*?^```$", readme, re.M | re.S)
    assert len(shown) == 3
    assert [block for block in shown if block not in page] == []  # where it is run
