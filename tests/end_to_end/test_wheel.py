"""The built wheel works by itself: no checkout beside it, no dependency that it does not declare."""

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path
from shutil import copyfile
from urllib.request import urlopen
from zipfile import ZipFile

import pytest

from tests.support import processes

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
CLEAN = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("COV_", "COVERAGE_", "OPENAI_", "PYTEST_", "PYTHON"))
}


TYPED_PROJECT = Path(__file__).with_name("typed_project.py")


def run(*command: str | Path, cwd: Path) -> str:
    done = attempt(*command, cwd=cwd)
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def attempt(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return processes.run(command, cwd=cwd, env=CLEAN, timeout=100)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from this checkout, without the network: hatchling comes with the dev extra."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT, cwd=out)
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of a fresh environment with the wheel; it borrows the dependencies of this one, not the harness."""
    home = tmp_path_factory.mktemp("fresh")
    run(sys.executable, "-m", "venv", "--without-pip", home, cwd=home)
    scripts = home / ("Scripts" if os.name == "nt" else "bin")
    pip = (sys.executable, "-m", "pip", "--python", scripts / "python", "install", "-q", "--no-deps", "--no-index")
    run(*pip, wheel, cwd=home)
    borrow(scripts, home)
    return scripts


def borrow(scripts: Path, cwd: Path) -> None:
    """Put this environment's packages behind the fresh one's; links of editable installs are not followed there."""
    fresh = run(scripts / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=cwd).strip()
    places = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    Path(fresh, "borrowed.pth").write_text("\n".join(places), encoding="utf-8")


def test_the_wheel_holds_every_module_and_schema(wheel):
    held = set(ZipFile(wheel).namelist())
    modules = {str(file.relative_to(ROOT)) for file in (ROOT / "harness").rglob("*.py")}
    schemas = {f"harness/{file.relative_to(ROOT)}" for file in (ROOT / "schemas").rglob("*") if file.is_file()}
    assert modules | schemas | {"harness/py.typed"} <= held
    assert not [name for name in held if "evidence/" in name or "cassettes/openai" in name]
    assert not [
        name for name in held if not name.startswith(("harness/", "responses_harness-", "responses_harness_pytest.py"))
    ]


def test_the_description_of_the_wheel_leads_to_the_repository(wheel):
    with ZipFile(wheel) as archive:
        metadata = next(name for name in archive.namelist() if name.endswith("/METADATA"))
        description = archive.read(metadata).decode().partition("\n\n")[2]
    links = re.findall(r"\]\(([^)]+)\)", description)
    assert len(links) > 20
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


def test_the_installed_wheel_is_what_runs(installed, tmp_path):
    code = (
        "from harness.contract.schema import load, schemas_directory; print(schemas_directory()); "
        "print(len(load('CreateResponse')['properties']))"
    )
    place, members = run(installed / "python", "-c", code, cwd=tmp_path).split()
    assert Path(place).is_relative_to(installed.parent)
    assert int(members) > 20


def test_the_installed_wheel_lists_its_rules(installed, tmp_path):
    assert "No tool output found" in run(installed / "responses-harness", "rules", "call_needs_output", cwd=tmp_path)


def test_the_installed_wheel_judges_cassettes_without_the_sdk(installed, tmp_path):
    code = "import sys; sys.modules.update(openai=None, agents=None); from harness.cli import main; main()"
    judged = ("verify", ROOT / "tests/cassettes/test_weather.yaml")
    assert "requests" in run(installed / "python", "-c", code, *judged, cwd=tmp_path)


def test_rules_need_no_sdk(installed, tmp_path):
    code = "import sys; sys.modules.update(openai=None, agents=None); from harness.cli import main; main()"
    assert "call_needs_output" in run(installed / "python", "-c", code, "rules", cwd=tmp_path)


def test_the_installed_wheel_runs_the_demo(installed, tmp_path):
    assert "input_file" in run(installed / "responses-harness", "demo", cwd=tmp_path)


def test_the_installed_wheel_is_a_pytest_plugin(installed, tmp_path):
    (tmp_path / "test_it.py").write_text("def test_it(mock):\n    assert mock.base_url\n", encoding="utf-8")
    assert "1 passed" in run(installed / "python", "-m", "pytest", "-q", tmp_path, cwd=tmp_path)


@pytest.mark.parametrize("name", ["responses-harness", "harness"])
def test_the_installed_wheel_says_its_version_by_either_name(installed, tmp_path, name):
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert run(installed / name, "--version", cwd=tmp_path) == f"responses-harness {version}\n"


def test_by_either_name_the_help_says_the_whole_one(installed, tmp_path):
    help_texts = [run(installed / name, "serve", "--help", cwd=tmp_path) for name in ("responses-harness", "harness")]
    assert help_texts[0].startswith("Usage: responses-harness serve ")
    assert help_texts[0] == help_texts[1]


def test_uvx_runs_the_wheel_by_the_name_of_the_package(wheel, tmp_path):
    uvx = (sys.executable, "-m", "uv", "tool", "run", "--no-progress", "--from", wheel, "responses-harness")
    with processes.spawn([*uvx, "serve", "--port", "0"], cwd=tmp_path, env=CLEAN) as server:
        assert server.stdout
        address = next(found for line in server.stdout if (found := re.search(r"http://\S+", line)))
        assert urlopen(f"{address.group().removesuffix('/v1')}/_harness/health", timeout=20).status == 200


@pytest.fixture(scope="module")
def typed_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tests of a user, annotated with the types that the wheel has: a right file and a wrong one."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "cassettes").mkdir()
    copyfile(ROOT / "tests/cassettes/test_weather.yaml", folder / "cassettes/weather.yaml")
    copyfile(TYPED_PROJECT, folder / "test_user.py")
    (folder / "wrong.py").write_text(WRONG, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def type_errors(installed: Path, typed_project: Path) -> list[str]:
    """What `mypy --strict` finds in that project."""
    mypy = (sys.executable, "-m", "mypy", "--strict", "--python-executable", installed / "python")
    done = attempt(*mypy, "--cache-dir", typed_project / "cache", "test_user.py", "wrong.py", cwd=typed_project)
    return done.stdout.splitlines()[:-1]


def test_a_typed_project_has_no_type_errors(type_errors: list[str]) -> None:
    assert [line for line in type_errors if not line.startswith("wrong.py:")] == []


def test_type_errors_of_a_project_are_found(type_errors: list[str]) -> None:
    found = [line.rpartition("[")[2] for line in type_errors if line.startswith("wrong.py:") and "error:" in line]
    assert found == ["attr-defined]", "arg-type]", "call-arg]"], type_errors


def test_a_typed_project_runs(installed: Path, typed_project: Path) -> None:
    assert "5 passed" in run(installed / "python", "-m", "pytest", "-q", "test_user.py", cwd=typed_project)


WRONG = """
from harness import Mock, counted
from harness.drive import Chat


def test_wrong(mock: Mock) -> None:
    assert mock.base_uri
    Chat(mock.base_url, mock.api_key, mode="rewind")
    counted(str.upper)("a", unknown=1)
"""


def test_a_checkout_finds_its_own_schemas(tmp_path):
    run_from = {**CLEAN, "PYTHONPATH": str(ROOT)}
    code = "import harness.contract.schema as s; print(s.schemas_directory())"
    done = processes.run([sys.executable, "-c", code], cwd=tmp_path, env=run_from)
    assert Path(done.stdout.strip()) == ROOT / "schemas"
