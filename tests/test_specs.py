"""Model specifications: what is shipped, what a user may change, and what is refused."""

import hashlib
import os
import sys
from pathlib import Path

import pytest

from bayesjudge.errors import SpecError
from bayesjudge.priors import Prior
from bayesjudge.specs import available, read_spec
from bayesjudge.terms import TERMS

SHIPPED = Path(__file__).parents[1] / "models"

GOOD = """\
name = "mine"
statement = "A score is a sum of terms."
family = "gaussian"
link = "identity"
terms = ["scenario", "generation", "judge", "residual"]
residual = "common"
references = []

[priors]
unit = "range"
mean = { dist = "Normal", kwargs = { mu = 0.5, sigma = 0.25 } }
scenario = { dist = "HalfNormal", kwargs = { sigma = 0.125 } }
generation = { dist = "HalfNormal", kwargs = { sigma = 0.125 } }
judge = { dist = "HalfNormal", kwargs = { sigma = 0.125 } }
residual = { dist = "HalfNormal", kwargs = { sigma = 0.2 } }
"""
SCENARIO = 'scenario = { dist = "HalfNormal", kwargs = { sigma = 0.125 } }'
MEAN = 'mean = { dist = "Normal", kwargs = { mu = 0.5, sigma = 0.25 } }'
PRIORS = GOOD[GOOD.index("[priors]") :]


@pytest.fixture
def read(tmp_path):
    """Write a file and read it as a specification."""

    def write_and_read(content, name="mine.toml"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_spec(path)

    return write_and_read


def changed(old, new):
    assert GOOD.count(old) == 1, old
    return GOOD.replace(old, new)


def scenario(dist, kwargs):
    return changed(SCENARIO, f"scenario = {{ dist = {dist}, kwargs = {{ {kwargs} }} }}")


def number(value):
    return scenario('"HalfNormal"', f"sigma = {value}")


def without(key):
    kept = [line for line in GOOD.splitlines() if not line.startswith(f"{key} =")]
    assert len(kept) == len(GOOD.splitlines()) - 1
    return "\n".join(kept)


class TestShipped:
    def test_all_are_listed(self):
        assert available() == tuple(sorted(path.stem for path in SHIPPED.glob("*.toml")))
        assert {"linear", "linear-paper"} <= set(available())

    @pytest.mark.parametrize("name", available())
    def test_each_has_the_documented_priors(self, name):
        spec = read_spec(name)
        assert spec.name == name
        assert spec.unit == "range"
        assert spec.mean == Prior("Normal", {"mu": 0.5, "sigma": 0.25})
        expected = {
            term: Prior("HalfNormal", {"sigma": 0.2 if term == "residual" else 0.125})
            for term in spec.terms
        }
        assert spec.sd == expected
        assert len(spec.statement.split()) > 10
        assert "\n" not in spec.statement
        assert any("2603.01865" in reference for reference in spec.references)

    def test_terms_and_residuals_are_those_of_the_models(self):
        assert read_spec("linear").terms == TERMS
        assert read_spec("linear-paper").terms == ("scenario", "generation", "judge", "residual")
        kinds = {name: read_spec(name).residual for name in available()}
        assert kinds["linear"] == kinds["linear-paper"] == "common"
        assert kinds["linear-judge-residual"] == "judge"

    @pytest.mark.parametrize("name", available())
    def test_by_name_and_by_path_are_the_same_but_for_the_path(self, name):
        path = SHIPPED / f"{name}.toml"
        by_name, by_path = read_spec(name), read_spec(path)
        assert by_name.sha256 == by_path.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert (by_name.path, by_path.path) == (name, str(path))
        assert by_name.sd == by_path.sd

    def test_an_unknown_name_lists_what_is_there_and_suggests(self):
        with pytest.raises(
            SpecError, match=r"no model 'liner'.*linear-paper.*did you mean 'linear'"
        ):
            read_spec("liner")
        with pytest.raises(SpecError, match=r"ends in \.toml"):
            read_spec("../models/linear")


class TestUsersOwn:
    def test_a_copy_with_one_prior_changed_differs_in_that_and_in_its_hash(self, read):
        original = (SHIPPED / "linear.toml").read_text(encoding="utf-8")
        line = 'scenario = { dist = "HalfNormal", kwargs = { sigma = 0.125 } }\n'
        assert original.count(line) == 1
        new = 'scenario = { dist = "HalfStudentT", kwargs = { nu = 3, sigma = 0.3 } }\n'
        mine, linear = read(original.replace(line, new)), read_spec("linear")
        assert mine.sd["scenario"] == Prior("HalfStudentT", {"nu": 3.0, "sigma": 0.3})
        assert {t: mine.sd[t] for t in TERMS[1:]} == {t: linear.sd[t] for t in TERMS[1:]}
        assert mine.sha256 != linear.sha256

    def test_the_hash_is_of_the_bytes(self, read):
        spaced = GOOD + "\n"
        assert read(GOOD).sha256 == hashlib.sha256(GOOD.encode()).hexdigest()
        assert read(spaced).sha256 != read(GOOD).sha256
        assert read(spaced).sd == read(GOOD).sd

    def test_windows_line_ends_and_byte_order_marks_are_read(self, read):
        assert read(GOOD.replace("\n", "\r\n")).sd == read(GOOD).sd
        assert read(b"\xef\xbb\xbf" + GOOD.encode()).sd == read(GOOD).sd

    def test_terms_may_come_in_any_order(self, read):
        spec = read(
            changed('"scenario", "generation", "judge"', '"judge", "generation", "scenario"')
        )
        assert spec.terms == ("scenario", "generation", "judge", "residual")

    @pytest.mark.parametrize(
        ("dist", "kwargs"),
        [
            ("HalfStudentT", {"nu": 4.0, "sigma": 0.1}),
            ("HalfCauchy", {"beta": 0.1}),
            ("Exponential", {"scale": 0.1}),
            ("Gamma", {"alpha": 2.0, "beta": 9.0}),
            ("InverseGamma", {"alpha": 2.0, "beta": 0.1}),
            ("Weibull", {"alpha": 1.5, "beta": 0.1}),
            ("LogNormal", {"mu": -2.0, "sigma": 0.5}),
        ],
    )
    def test_every_family_can_be_named(self, read, dist, kwargs):
        inside = ", ".join(f"{key} = {value}" for key, value in kwargs.items())
        assert read(scenario(f'"{dist}"', inside)).sd["scenario"] == Prior(dist, kwargs)


DEEP = "".join(f"a{k}." for k in range(2_400))
REFUSED = {
    # keys
    "empty file": ("", ["'name' is missing"]),
    "only a comment": ("# nothing", ["'name' is missing"]),
    "unknown key": (GOOD.replace("link", "lnik"), ["unknown key 'lnik'", "did you mean 'link'?"]),
    "unknown key unlike any": ("zzz = 1\n" + GOOD, ["unknown key 'zzz'", "Allowed: name, "]),
    "unknown key of great length": ("x" * 9_000 + " = 1\n" + GOOD, ["unknown key 'xxx", "..."]),
    "no name": (without("name"), ["'name' is missing", "name, statement"]),
    "no statement": (without("statement"), ["'statement' is missing"]),
    "no family": (without("family"), ["'family' is missing"]),
    "no terms": (without("terms"), ["'terms' is missing"]),
    "no residual kind": (
        changed('residual = "common"\n', ""),
        ["'residual' is missing"],
    ),
    "no references": (without("references"), ["'references' is missing"]),
    "no priors": (GOOD.replace(PRIORS, ""), ["'priors' is missing"]),
    "a key twice": (changed('name = "mine"', 'name = "a"\nname = "b"'), ["not valid TOML"]),
    # values of the wrong kind
    "name a number": (changed('"mine"', "3"), ["name must be a non-empty text, not 3"]),
    "name blank": (changed('"mine"', '"  "'), ["name must be a non-empty text"]),
    "statement a list": (changed('"A score is a sum of terms."', "[1]"), ["statement", "[1]"]),
    "family unknown": (
        changed('"gaussian"', '"gausian"'),
        ["family = 'gausian'", "did you mean 'gaussian'?"],
    ),
    "family a date": (changed('"gaussian"', "1979-05-27"), ["family", "Allowed: gaussian"]),
    "link unknown": (changed('"identity"', '"logit"'), ["link = 'logit'", "Allowed: identity"]),
    "residual unknown": (changed('"common"', '"model"'), ["residual", "common, judge"]),
    "residual a boolean": (changed('"common"', "true"), ["residual = True"]),
    "references a text": (changed("references = []", 'references = "x"'), ["list of texts", "'x'"]),
    "references numbers": (changed("references = []", "references = [1]"), ["list of texts"]),
    "priors a list": (GOOD.replace(PRIORS, "priors = [1]"), ["'priors' must be a table", "[1]"]),
    "priors an array of tables": (changed("[priors]", "[[priors]]"), ["'priors' must be a table"]),
    # terms
    "terms a text": (
        changed('["scenario", "generation", "judge", "residual"]', '"scenario"'),
        ["terms must be a list of texts"],
    ),
    "terms nested": (changed('["scenario", ', '[["scenario"], '), ["terms must be a list"]),
    "terms empty": (
        changed('["scenario", "generation", "judge", "residual"]', "[]"),
        ["'terms' lacks 'scenario'"],
    ),
    "term unknown": (
        changed('"judge", "residual"', '"judges", "residual"'),
        ["unknown term 'judges'", "did you mean 'judge'?"],
    ),
    "term of another order": (
        changed('"judge", "residual"', '"judge", "residual", "judge:scenario"'),
        ["unknown term 'judge:scenario'", "scenario:judge"],
    ),
    "term twice": (
        changed('"judge", "residual"', '"judge", "judge", "residual"'),
        ["names a term twice"],
    ),
    "no residual term": (changed('"judge", "residual"', '"judge"'), ["lacks 'residual'"]),
    # priors
    "unit missing": (without("unit"), ["[priors]", "'unit' is missing", "range, score"]),
    "unit unknown": (changed('"range"', '"points"'), ["unit = 'points'", "range, score"]),
    "mean missing": (without("mean"), ["mean", "is missing"]),
    "prior missing": (changed(SCENARIO + "\n", ""), ["[priors] scenario", "is missing"]),
    "prior of no term": (
        GOOD + '"scenario:judge" = { dist = "HalfNormal", kwargs = { sigma = 0.1 } }',
        ["'scenario:judge'", "not in 'terms'"],
    ),
    "prior unknown": (GOOD + "sigma = 1", ["[priors]", "unknown key 'sigma'"]),
    "prior a number": (
        changed(SCENARIO, "scenario = 0.125"),
        ["scenario", "must look like", "0.125"],
    ),
    "prior a text": (changed(SCENARIO, 'scenario = "HalfNormal(1)"'), ["must look like"]),
    "prior a list of tables": (changed(SCENARIO, "scenario = [{}]"), ["must look like", "[{}]"]),
    "prior empty": (changed(SCENARIO, "scenario = {}"), ["scenario", "'dist' is missing"]),
    "prior with more keys": (
        changed(SCENARIO, SCENARIO.replace("kwargs", "transform = 1, kwargs")),
        ["unknown key 'transform'", "dist, kwargs"],
    ),
    "dist unknown": (
        scenario('"HalfNorml"', "sigma = 1"),
        ["dist 'HalfNorml' is not allowed", "did you mean 'HalfNormal'?"],
    ),
    "dist an import": (scenario('"os.system"', "sigma = 1"), ["dist 'os.system' is not allowed"]),
    "dist an attribute": (scenario('"__class__"', ""), ["dist '__class__' is not allowed"]),
    "dist a list": (scenario('["HalfNormal"]', "sigma = 1"), ["dist ['HalfNormal']"]),
    "dist empty": (scenario('""', "sigma = 1"), ["dist '' is not allowed"]),
    "dist of other case": (scenario('"halfnormal"', "sigma = 1"), ["did you mean 'HalfNormal'?"]),
    "Normal for a standard deviation": (
        scenario('"Normal"', "mu = 0, sigma = 1"),
        ["dist 'Normal' is not allowed", "HalfNormal"],
    ),
    "HalfNormal for the mean": (
        changed(MEAN, 'mean = { dist = "HalfNormal", kwargs = { sigma = 1 } }'),
        ["mean", "'HalfNormal' is not allowed", "integrated out", "only Normal"],
    ),
    "StudentT for the mean": (
        changed(MEAN, 'mean = { dist = "StudentT", kwargs = { nu = 3, sigma = 1 } }'),
        ["'StudentT' is not allowed", "integrated out"],
    ),
    "kwargs missing": (
        changed(SCENARIO, 'scenario = { dist = "HalfNormal" }'),
        ["scenario", "'kwargs' is missing"],
    ),
    "kwargs a number": (
        changed(SCENARIO, 'scenario = { dist = "HalfNormal", kwargs = 1 }'),
        ["kwargs must be a table with sigma"],
    ),
    "parameter missing": (scenario('"HalfNormal"', ""), ["HalfNormal needs 'sigma'"]),
    "one parameter of two": (scenario('"Gamma"', "alpha = 2"), ["Gamma needs 'beta'"]),
    "parameter of another name": (
        scenario('"HalfNormal"', "sgima = 1"),
        ["unknown key 'sgima'", "did you mean 'sigma'?"],
    ),
    "parameter of too many": (
        scenario('"HalfNormal"', "sigma = 1, shape = 3"),
        ["unknown key 'shape'"],
    ),
    # numbers
    "number a boolean": (number("true"), ["sigma must be a number, not True"]),
    "number a text": (number('"0.1"'), ["sigma must be a number, not '0.1'"]),
    "number a list": (number("[0.1]"), ["sigma must be a number"]),
    "number a table": (number("{ value = 1 }"), ["sigma must be a number"]),
    "number a date": (number("1979-05-27T07:32:00Z"), ["sigma must be a number"]),
    "nan": (number("nan"), ["sigma must be between", "not nan"]),
    "inf": (number("inf"), ["sigma must be between", "not inf"]),
    "zero": (number("0.0"), ["sigma must be between 1e-06 and 1e+06, not 0.0"]),
    "negative zero": (number("-0.0"), ["sigma must be between"]),
    "negative": (number("-0.125"), ["sigma must be between", "-0.125"]),
    "tiny": (number("1e-300"), ["sigma must be between"]),
    "huge float": (number("1e300"), ["sigma must be between"]),
    "huge integer": (number("1" + "0" * 400), ["sigma must be between", "..."]),
    "integer of 5,000 digits": (number("1" * 5_000), ["not valid TOML"]),
    "hexadecimal integer of 9,000 digits": (
        number("0x" + "f" * 9_000),
        ["sigma must be between", "int too large to show"],
    ),
    "hexadecimal integer for a text": (
        changed('"gaussian"', "0x" + "f" * 9_000),
        ["family", "int too large to show"],
    ),
    "mean out of bounds": (changed("mu = 0.5", "mu = -1e7"), ["mu must be between"]),
    "LogNormal beyond floating point": (
        scenario('"LogNormal"', "mu = 1000, sigma = 1"),
        ["mu must be between -14 and 14"],
    ),
    # files that are no specification
    "not UTF-8": (GOOD.encode("utf-16"), ["not valid TOML", "UTF-8"]),
    "latin-1": (changed('"mine"', '"m\xefne"').encode("latin-1"), ["not UTF-8"]),
    "binary": (bytes(range(256)), ["not valid TOML"]),
    "NUL": (GOOD.encode() + b"\0", ["not valid TOML"]),
    "JSON": ('{"name": "mine"}', ["not valid TOML"]),
    "YAML": ("name: mine", ["not valid TOML"]),
    "too large": (GOOD + "#" * 20_000, ["larger than 16384 bytes"]),
    "nested arrays": (changed('"mine"', "[" * 10_000), ["not valid TOML"]),
    "nested arrays, closed": (changed('"mine"', "[" * 500 + "]" * 500), ["mine.toml: n"]),
    "nested inline tables": (
        changed('"mine"', "{ a = " * 2_000 + "1" + "}" * 2_000),
        ["mine.toml"],
    ),
    "a dotted key of 2,400 parts": (
        changed('name = "mine"', f"name.{DEEP}b = 1"),
        ["name must be a non-empty text, not {'a0': {'a1': ", "..."],
    ),
    "a deep prior": (
        changed(SCENARIO, f"scenario.{DEEP}b = 1"),
        ["scenario", "unknown key 'a0'"],
    ),
    "a deep number": (
        changed(SCENARIO, f'scenario.dist = "HalfNormal"\nscenario.kwargs.sigma.{DEEP}b = 1'),
        ["sigma must be a number, not {'a0'", "..."],
    ),
}


class TestRefused:
    @pytest.mark.parametrize("name", REFUSED)
    def test_each_says_where_and_what_is_allowed(self, read, name):
        content, parts = REFUSED[name]
        with pytest.raises(SpecError) as refusal:
            read(content)
        text = str(refusal.value)
        for part in ["mine.toml", *parts]:
            assert part in text
        assert len(text) < 600

    def test_a_missing_file(self, tmp_path):
        with pytest.raises(SpecError, match=r"not-here.toml: can't be read \(No such file"):
            read_spec(tmp_path / "not-here.toml")

    def test_a_directory(self, tmp_path):
        (tmp_path / "folder.toml").mkdir()
        with pytest.raises(SpecError, match="is a directory or a device"):
            read_spec(tmp_path / "folder.toml")

    def test_a_file_as_a_directory(self, read, tmp_path):
        read(GOOD)
        with pytest.raises(SpecError, match="can't be read"):
            read_spec(tmp_path / "mine.toml" / "other.toml")

    @pytest.mark.skipif(
        sys.platform == "win32", reason="needs pipes and devices in the file system"
    )
    def test_a_pipe_and_an_endless_device_do_not_hang(self, tmp_path):
        os.mkfifo(tmp_path / "pipe.toml")
        (tmp_path / "zero.toml").symlink_to("/dev/zero")
        for name in ("pipe.toml", "zero.toml"):
            with pytest.raises(SpecError, match="is a directory or a device"):
                read_spec(tmp_path / name)

    @pytest.mark.parametrize("path", ["a\0b.toml", "x" * 5_000 + ".toml", ".toml", "\udce9.toml"])
    def test_a_path_that_no_file_can_have(self, path):
        with pytest.raises(SpecError, match="can't be read"):
            read_spec(path)

    @pytest.mark.parametrize("name", ["mine", "mine.tml", "mine.TOML.txt"])
    def test_a_file_that_does_not_end_in_toml(self, read, tmp_path, name):
        (tmp_path / name).write_text(GOOD, encoding="utf-8")
        with pytest.raises(SpecError, match=r"no model .*pass a path that ends in \.toml"):
            read_spec(tmp_path / name)

    @pytest.mark.parametrize("source", ["", None, 3, "linear.", "LINEAR", "linear\n"])
    def test_what_is_no_name(self, source):
        with pytest.raises(SpecError, match="no model"):
            read_spec(source)

    def test_the_base_of_this_table_is_good(self, read):
        assert read(GOOD).name == "mine"
        assert len(REFUSED) >= 35
