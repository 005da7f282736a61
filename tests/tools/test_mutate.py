"""The tool that changes the harness, and which tests it asks whether they notice."""

from pathlib import Path

from tools import mutate


def test_a_module_is_held_by_the_tests_of_its_name_and_those_that_import_it() -> None:
    found = mutate.tests_of(Path("harness/ending/__init__.py"))
    assert Path("tests/ending/test_ending.py") in found
    assert Path("tests/server/test_webhook_courier.py") in found
    assert "clients" not in {file.parts[1] for file in found}, "they cannot be collected here"


def test_a_change_replaces_one_expression(tmp_path: Path) -> None:
    text = "def f(a: int = 1) -> bool:\n    return a < 2 and not a\n"
    (tmp_path / "m.py").write_text(text)
    changed = {change.apply(text) for change in mutate.changes_of(tmp_path / "m.py")}
    returns = ("return None", "return (a < 2 or not a)", "return (a <= 2) and not a", "return a < 2 and bool(a)")
    expected = {text.replace("return a < 2 and not a", other) for other in returns}
    assert changed == expected | {text.replace("= 1", "= 2"), text.replace("< 2", "< 3")}
