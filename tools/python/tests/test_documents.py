"""What the documentation shows is what happens."""

import doctest
import pathlib
import runpy

import fpstore
import pytest

EXAMPLES = sorted((pathlib.Path(__file__).parent.parent / "examples").glob("*.py"))


def test_the_package_documents_itself():
    failed, tried = doctest.testmod(fpstore)
    assert tried > 5 and failed == 0


def test_everything_public_has_words_and_a_type():
    stubs = (pathlib.Path(fpstore.__file__).parent / "__init__.pyi").read_text()
    for name in fpstore.__all__:
        thing = getattr(fpstore, name)
        assert name in stubs
        if isinstance(thing, str):
            continue
        assert thing.__doc__, name
        members = list(vars(thing)) if isinstance(thing, type) else []
        for member in members:
            if member.startswith("_"):
                continue
            assert getattr(thing, member).__doc__, f"{name}.{member}"
            assert f"def {member}(" in stubs, f"{name}.{member}"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(example, tmp_path, monkeypatch, capsys, request):
    if example.stem.startswith("spark"):
        # There is one session in a process.
        request.getfixturevalue("spark")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()
