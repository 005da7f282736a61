"""The page's types follow the dataclasses."""

from tools import viewer_types


def test_the_types_of_the_page_are_those_of_the_model() -> None:
    assert viewer_types.main(["--check"]) == 0


def test_a_check_says_how_to_renew_what_is_out_of_date(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(viewer_types, "TARGET", tmp_path / "src" / "model.ts")
    assert viewer_types.main(["--check"]) == 1
    assert "run `python -m tools.viewer_types`" in capsys.readouterr().err
    assert viewer_types.main([]) == 0
    assert viewer_types.main(["--check"]) == 0


def test_kinds_of_fields() -> None:
    text = viewer_types.page_types()
    assert 'export type Outcome = "passed" | "failed"' in text
    assert "readonly cases: readonly CaseRow[];" in text
    assert "readonly rows: readonly (readonly [string, string])[];" in text
    assert "readonly documented: { readonly [name: string]: Documentation };" in text
    assert "readonly examination: ShownExamination | null;" in text
    assert "  /** Unix seconds. */\n  readonly began: number | null;" in text
