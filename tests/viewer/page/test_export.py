from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest

from partwhole.viewer.page import export as module
from partwhole.viewer.page.export import content_security_policy, export_report, page_html, page_source, script
from partwhole.viewer.page.scene import Scene

MODULES = sorted(path.name for path in (Path(module.__file__).parent / "front_end").glob("*.js"))


def test_all_modules_are_in_the_page_once() -> None:
    assert len(MODULES) > 10
    for name in MODULES:
        first = page_source(name).splitlines()[0]
        assert first.startswith("// ")
        assert script().count(first) == 1
    assert not re.search(r"^(import|export) ", script(), re.MULTILINE)


def test_no_two_modules_share_a_name_at_their_top() -> None:
    names = re.findall(r"^(?:async )?(?:const|let|class|function) (\w+)", script(), re.MULTILINE)
    assert len(names) == len(set(names)) > 20


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_what_another_exports(name: str) -> None:
    for names, source in re.findall(r'import \{([^}]*)\} from "\./([\w-]+\.js)";', page_source(name)):
        exported = re.findall(r"^export (?:async )?(?:const|class|function) (\w+)", page_source(source), re.MULTILINE)
        wanted = {word.strip() for word in names.split(",") if word.strip()}
        assert wanted <= set(exported)
        # and uses it
        body = page_source(name).split("\n\n", 2)[-1]
        assert all(re.search(rf"\b{word}\b", body) for word in wanted)


def test_the_policy_names_the_script_and_the_style_by_their_hashes() -> None:
    page = page_html()
    for kind, text in (("script", script()), ("style", page_source("style.css"))):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in page
    assert "default-src 'none'" in content_security_policy(live=True)
    assert "connect-src 'self'" in content_security_policy(live=True)
    assert "connect-src 'none'" in content_security_policy(live=False)


def test_a_report_is_one_file_that_names_no_address(scene: Scene, tmp_path: Path) -> None:
    export_report(scene, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    without_scene = re.sub(r'id="scene">[^<]*<', "<", text)
    assert "http://" not in without_scene
    assert "https://" not in without_scene
    assert not re.search(r"<script[^>]* src=|<link[^>]* href=(?!\"data:)|url\(|@import", without_scene)
    assert text.count("<script") == 2


def test_a_report_of_a_part_alone(scene: Scene, tmp_path: Path) -> None:
    export_report(Scene.of(scene.part.full), tmp_path / "part.html")
    assert (tmp_path / "part.html").stat().st_size > 50_000


def test_modules_that_import_each_other_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = {
        "main.js": 'import { a } from "./a.js";\n',
        "a.js": 'import { b } from "./main.js";\nexport const a = 1;\n',
    }
    monkeypatch.setattr(module, "page_source", sources.__getitem__)
    with pytest.raises(ValueError, match=r"main.js imports itself, by way of main.js and a.js"):
        script.__wrapped__()
