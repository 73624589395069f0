"""Fingerprints of texts."""

import pickle

import fpstore
import numpy as np
import pytest


def test_many_are_those_of_one(tmp_path):
    texts = [
        f"document number {i} about the harbour and its {i % 7} ships, which leave at dawn"
        for i in range(500)
    ]
    texts[17] = ""
    for name in ["simhash-64", "onebit-256"]:
        recipe = fpstore.Recipe(name)
        one = [recipe.fingerprint(text) for text in texts]
        assert one[17] is None and recipe.bits in (64, 256)
        fingerprints, places = recipe.fingerprints(texts)
        assert places.tolist() == [i for i, own in enumerate(one) if own is not None]
        if fingerprints.ndim == 2:
            own = [int.from_bytes(bytes(row), "big") for row in fingerprints]
        else:
            own = fingerprints.tolist()
        assert own == [one[i] for i in places]
        encoded = [text.encode() for text in texts]
        assert np.array_equal(recipe.fingerprints(encoded)[0], fingerprints)
        pa = pytest.importorskip("pyarrow")
        for kind in [pa.string(), pa.large_string(), pa.string_view(), pa.binary()]:
            assert np.array_equal(recipe.fingerprints(pa.array(texts, kind))[0], fingerprints)
        again = pickle.loads(pickle.dumps(recipe))
        assert str(again) == str(recipe)
        fpstore.pack(tmp_path / name, fingerprints, k=recipe.k, recipe=str(recipe), ids=places)
        assert fpstore.open(tmp_path / name).recipe == str(recipe)


def test_what_is_no_recipe_says_why():
    with pytest.raises(fpstore.RecipeError):
        fpstore.Recipe("simhash-65")
    with pytest.raises(fpstore.RecipeError, match="several values"):
        fpstore.Recipe("spotsigs")
    recipe = fpstore.Recipe("simhash-64")
    with pytest.raises(TypeError, match="not int"):
        recipe.fingerprint(5)
    with pytest.raises(TypeError, match="list of str"):
        recipe.fingerprints("abc")
    names = [name for name, _ in fpstore.Recipe.presets()]
    assert "simhash-64" in names
