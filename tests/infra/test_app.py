"""What the app does with settings and definitions that are wrong, and what its assets are made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra import assets, settings
from infra.inventory import FUNCTIONS, Packages, Right
from tests.infra.conftest import synthesize

BROKEN = "id: broken\nsteps:\n  - id: one\n    type: transform\n    config: {data: 1}\n    depends_on: [nobody]\n"


def test_a_definition_with_errors_ends_the_synthesis_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text(BROKEN)
    done = synthesize(tmp_path / "out", workflows=str(tmp_path))
    assert done.returncode == 1
    assert "broken.yaml:6:" in done.stderr and "nobody" in done.stderr and "Traceback" not in done.stderr
    assert not [*(tmp_path / "out").glob("*.template.json")]


def test_settings_are_those_of_the_stage_with_what_the_context_says() -> None:
    given = {"stage": "prod", "alarm_email": "on-call@example.com", "api_rate": "7", "waf": "false"}
    made = settings.read(given.get)
    assert (made.stage, made.alarm_email, made.api_rate, made.waf) == ("prod", "on-call@example.com", 7, False)
    assert made.keep_data and made.log_days == settings.STAGES["prod"].log_days
    assert settings.read({}.get) == settings.STAGES["dev"]


def test_each_installation_of_an_account_has_names_of_its_own() -> None:
    shop, plain = settings.read({"name": "shop"}.get), settings.read({}.get)
    assert [one.function("aslant-api") for one in (plain, shop)] == ["aslant-api", "shop-api"]
    assert [one.machine("tea") for one in (plain, shop)] == ["tea", "shop-tea"]
    long = [shop.machine("x" * 78 + end) for end in "ab"]
    assert max(map(len, long)) <= 80 and len({*long}) == 2


@pytest.mark.parametrize(
    ("context", "told"),
    [
        ({"stage": "test"}, "no stage test"), ({"api_rate": "fast"}, "api_rate is a whole number"),
        ({"waf": "1"}, "waf is true or false"), ({"domain": "example.com"}, "needs a certificate"),
        ({"workflow_stacks": "0"}, "1 or more"), ({"name": "My shop"}, "lower-case"), ({"log_days": "5"}, "log_days"),
    ],
)  # fmt: skip
def test_a_setting_that_cannot_be_is_refused(context: dict[str, str], told: str) -> None:
    with pytest.raises(settings.SettingsError, match=told):
        settings.read(context.get)


def test_a_function_has_what_it_imports_and_no_other_handler() -> None:
    handlers = {f"{spec.folder}/handler.py" for spec in FUNCTIONS.values()}
    for spec in FUNCTIONS.values():
        files = set(assets.modules(spec.module))
        assert files & handlers == {f"{spec.folder}/handler.py"}
        assert all(name.startswith(("functions/", "translator/")) for name in files)


# Bytes of source at most; the runtime layer and third-party layers come on top.
@pytest.mark.parametrize(
    ("name", "most"),
    [
        *((name, 200_000) for name in FUNCTIONS if name not in ("aslant-api", "aslant-publish-definition")),
        ("aslant-api", 1_500_000), ("aslant-publish-definition", 1_400_000),
    ],
)  # fmt: skip
def test_functions_stay_small(name: str, most: int) -> None:
    size = sum((assets.ROOT / file).stat().st_size for file in assets.modules(FUNCTIONS[name].module))
    assert size < most


def test_what_compiles_has_every_dialect() -> None:
    files = assets.modules(FUNCTIONS["aslant-publish-definition"].module)
    for dialect in ("steps", "stages", "graph", "tasks", "agents"):
        assert f"translator/dialects/{dialect}/lower.py" in files and f"translator/dialects/{dialect}/schema.py" in files


@pytest.mark.parametrize("packages", Packages)
def test_layers_are_locked_with_hashes(packages: Packages) -> None:
    wanted = assets.Layer(packages).requirements
    entries = [line for line in wanted.splitlines() if "==" in line]
    assert entries and all("--hash=sha256:" in wanted.split(entry)[1].split("==")[0] for entry in entries)


def test_steps_that_need_no_rights_of_their_own_have_none() -> None:
    assert FUNCTIONS["aslant-transform"].rights == {Right.EXECUTIONS, Right.ARTIFACTS, Right.SECRETS}
