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

ORDINAL = """\
name = "mine"
statement = "A level is where a latent quality falls."
family = "cumulative"
link = "logit"
terms = ["scenario", "generation", "judge"]
thresholds = "common"
references = []

[priors]
unit = "latent"
mean = { dist = "ZeroSumNormal", kwargs = { sigma = 2.0 } }
thresholds = { dist = "InducedDirichlet", kwargs = { total = 2.0 } }
scenario = { dist = "HalfNormal", kwargs = { sigma = 2.0 } }
generation = { dist = "HalfNormal", kwargs = { sigma = 2.0 } }
judge = { dist = "HalfNormal", kwargs = { sigma = 2.0 } }
"""
SCALE = 'threshold-scale = { dist = "ZeroSumNormal", kwargs = { sigma = 0.5 } }\n'
BY_JUDGE = ORDINAL.replace('thresholds = "common"', 'thresholds = "judge-scale"') + SCALE
LINEAR_NAMES = ("linear", "linear-judge-residual", "linear-paper")
LATENT_SD = {"ordinal": 2.0, "ordinal_probit": 1.0, "ordinal_judge_scale": 2.0}


@pytest.fixture
def read(tmp_path):
    """Write a file and read it as a specification."""

    def write_and_read(content, name="mine.toml"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_spec(path)

    return write_and_read


def changed(old, new, base=GOOD):
    assert base.count(old) == 1, old
    return base.replace(old, new)


def ordinal(old, new):
    return changed(old, new, ORDINAL)


def scenario(dist, kwargs):
    return changed(SCENARIO, f"scenario = {{ dist = {dist}, kwargs = {{ {kwargs} }} }}")


def number(value):
    return scenario('"HalfNormal"', f"sigma = {value}")


def without(key, base=GOOD):
    kept = [line for line in base.splitlines() if not line.startswith(f"{key} =")]
    assert len(kept) == len(base.splitlines()) - 1
    return "\n".join(kept)


class TestShipped:
    def test_all_are_listed(self):
        assert available() == tuple(sorted(path.stem for path in SHIPPED.glob("*.toml")))
        assert set(available()) == {*LINEAR_NAMES, *LATENT_SD}

    @pytest.mark.parametrize("name", available())
    def test_each_has_its_name_and_says_what_it_states(self, name):
        spec = read_spec(name)
        assert spec.name == name
        assert len(spec.statement.split()) > 10
        assert "\n" not in spec.statement
        assert spec.references

    @pytest.mark.parametrize("name", LINEAR_NAMES)
    def test_each_linear_one_has_the_documented_priors(self, name):
        spec = read_spec(name)
        assert (spec.family, spec.link, spec.thresholds) == ("gaussian", "identity", "none")
        assert spec.unit == "range"
        assert spec.mean == Prior("Normal", {"mu": 0.5, "sigma": 0.25})
        expected = {
            term: Prior("HalfNormal", {"sigma": 0.2 if term == "residual" else 0.125})
            for term in spec.terms
        }
        assert spec.sd == expected
        assert spec.threshold_prior is spec.threshold_scale is None
        assert any("2603.01865" in reference for reference in spec.references)

    @pytest.mark.parametrize("name", LATENT_SD)
    def test_each_ordinal_one_has_the_documented_priors(self, name):
        spec, sd = read_spec(name), LATENT_SD[name]
        assert (spec.family, spec.unit, spec.residual) == ("cumulative", "latent", "link")
        assert spec.terms == ("scenario", "generation", "judge")
        assert spec.mean == Prior("ZeroSumNormal", {"sigma": sd})
        assert spec.sd == {term: Prior("HalfNormal", {"sigma": sd}) for term in spec.terms}
        assert spec.threshold_prior == Prior("InducedDirichlet", {"total": 2.0})
        assert any("McCullagh (1980)" in reference for reference in spec.references)

    def test_links_and_thresholds_are_those_of_the_models(self):
        specs = {name: read_spec(name) for name in LATENT_SD}
        assert [spec.link for spec in specs.values()] == ["logit", "probit", "logit"]
        kinds = [spec.thresholds for spec in specs.values()]
        assert kinds == ["common", "common", "judge-scale"]
        scales = [spec.threshold_scale for spec in specs.values()]
        assert scales == [None, None, Prior("ZeroSumNormal", {"sigma": 0.5})]

    def test_terms_and_residuals_are_those_of_the_models(self):
        assert read_spec("linear").terms == TERMS
        assert read_spec("linear-paper").terms == ("scenario", "generation", "judge", "residual")
        kinds = {name: read_spec(name).residual for name in LINEAR_NAMES}
        assert kinds["linear"] == kinds["linear-paper"] == "common"
        assert kinds["linear-judge-residual"] == "judge"

    @pytest.mark.parametrize("name", available())
    def test_by_name_and_by_path_are_the_same_but_for_the_path(self, name):
        path = SHIPPED / f"{name}.toml"
        by_name, by_path = read_spec(name), read_spec(path)
        assert by_name.sha256 == by_path.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert (by_name.path, by_path.path) == (name, str(path))
        assert by_name.sd == by_path.sd

    @pytest.mark.parametrize("name", available())
    def test_dashes_and_underscores_are_alike_in_a_name(self, name):
        for other in (name.replace("-", "_"), name.replace("_", "-")):
            assert read_spec(other) == read_spec(name)
        assert read_spec(name.replace("-", "_")).path == name

    def test_no_two_names_differ_only_in_dashes(self):
        assert len({name.replace("-", "_") for name in available()}) == len(available())

    def test_a_path_is_taken_as_it_stands(self, read, tmp_path):
        read(GOOD, "my-model.toml")
        with pytest.raises(SpecError, match=r"my_model.toml: can't be read"):
            read_spec(tmp_path / "my_model.toml")

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
        prior = f'scenario = {{ dist = "{dist}", kwargs = {{ {inside} }} }}'
        line = 'scenario = { dist = "HalfNormal", kwargs = { sigma = 2.0 } }'
        assert read(ordinal(line, prior)).sd["scenario"] == Prior(dist, kwargs)

    def test_an_ordinal_model_with_other_priors_of_the_allowed_families(self, read):
        text = changed("total = 2.0", "total = 0.5", BY_JUDGE)
        spec = read(changed("sigma = 0.5 ", "sigma = 1 ", text))
        assert spec.threshold_prior == Prior("InducedDirichlet", {"total": 0.5})
        assert spec.threshold_scale == Prior("ZeroSumNormal", {"sigma": 1.0})
        assert (spec.thresholds, spec.residual) == ("judge-scale", "link")


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
    # what goes with which family
    "a cumulative link for gaussian": (
        changed('"identity"', '"probit"'),
        [
            "link = 'probit' is not allowed with family = 'gaussian'",
            "goes with family = 'cumulative'",
            "Allowed: identity",
        ],
    ),
    "identity for cumulative": (
        ordinal('"logit"', '"identity"'),
        [
            "link = 'identity' is not allowed with family = 'cumulative'",
            "goes with family = 'gaussian'",
            "Allowed: logit, probit",
        ],
    ),
    "link misspelt": (ordinal('"logit"', '"logist"'), ["logit, probit; did you mean 'logit'?"]),
    "link a list": (ordinal('"logit"', '["logit"]'), ["link = ['logit']", "logit, probit"]),
    "residual in a cumulative model": (
        'residual = "common"\n' + ORDINAL,
        ["'residual' does not go with family = 'cumulative'", "thresholds = 'common'"],
    ),
    "residual in place of thresholds": (
        ordinal('thresholds = "common"', 'residual = "common"'),
        ["'residual' does not go with", "'common' or 'judge-scale'"],
    ),
    "thresholds in a gaussian model": (
        'thresholds = "common"\n' + GOOD,
        ["'thresholds' does not go with family = 'gaussian'", "residual = 'common' or 'judge'"],
    ),
    "no thresholds kind": (
        ordinal('thresholds = "common"\n', ""),
        ["'thresholds' is missing", "terms, thresholds, references"],
    ),
    "thresholds unknown": (
        ordinal('"common"', '"judge"'),
        ["thresholds = 'judge'", "common, judge-scale"],
    ),
    "thresholds a number": (ordinal('"common"', "3"), ["thresholds = 3 is not allowed"]),
    "a residual term": (
        ordinal('"judge"]', '"judge", "residual"]'),
        ["may not have 'residual'", "exactly scenario, generation, judge", "noise of the link"],
    ),
    "an interaction": (
        ordinal('"judge"]', '"judge", "scenario:judge"]'),
        ["may not have 'scenario:judge'", "interactions arise on the score scale"],
    ),
    "a term missing": (
        ordinal('"generation", ', ""),
        ["'terms' lacks 'generation'", "exactly scenario, generation, judge"],
    ),
    "an unknown term": (
        ordinal('"judge"]', '"judges"]'),
        ["unknown term 'judges'", "Allowed: scenario, generation, judge; did you mean 'judge'?"],
    ),
    "unit of a scale": (
        ordinal('"latent"', '"range"'),
        ["unit = 'range' is not allowed with family = 'cumulative'", "Allowed: latent"],
    ),
    "unit latent for gaussian": (
        changed('"range"', '"latent"'),
        ["unit = 'latent' is not allowed with family = 'gaussian'", "range, score"],
    ),
    "Normal for the means": (
        ordinal('mean = { dist = "ZeroSumNormal"', 'mean = { dist = "Normal"'),
        ["mean: dist 'Normal' is not allowed", "ZeroSumNormal", "means", "sum to zero"],
    ),
    "ZeroSumNormal for a panel mean": (
        changed(MEAN, 'mean = { dist = "ZeroSumNormal", kwargs = { sigma = 1 } }'),
        ["'ZeroSumNormal' is not allowed", "integrated out"],
    ),
    "means with a centre": (
        ordinal('"ZeroSumNormal", kwargs = { ', '"ZeroSumNormal", kwargs = { mu = 0, '),
        ["mean kwargs: unknown key 'mu'", "Allowed: sigma"],
    ),
    "Normal for the thresholds": (
        ordinal('"InducedDirichlet"', '"Normal"'),
        ["thresholds: dist 'Normal' is not allowed", "InducedDirichlet", "ordered"],
    ),
    "Dirichlet for the thresholds": (
        ordinal('"InducedDirichlet"', '"Dirichlet"'),
        ["did you mean 'InducedDirichlet'?"],
    ),
    "total zero": (
        ordinal("total = 2.0", "total = 0"),
        ["total must be between 1e-06"],
    ),
    "total by level": (
        ordinal("total = 2.0", "total = [1, 1]"),
        ["total must be a number, not [1, 1]"],
    ),
    "thresholds prior a text": (
        changed('{ dist = "InducedDirichlet", kwargs = { total = 2.0 } }', '"flat"', ORDINAL),
        ["thresholds: must look like", "InducedDirichlet", "'flat'"],
    ),
    "thresholds prior missing": (
        ordinal('thresholds = { dist = "InducedDirichlet"', 'unused = { dist = "X"'),
        ["unknown key 'unused'", "Allowed: unit, mean, thresholds, scenario, generation, judge."],
    ),
    "no thresholds prior": (
        ordinal('thresholds = { dist = "InducedDirichlet", kwargs = { total = 2.0 } }\n', ""),
        ["[priors] thresholds: is missing", "every term and the mean and 'thresholds' need"],
    ),
    "thresholds prior for gaussian": (
        GOOD + 'thresholds = { dist = "InducedDirichlet", kwargs = { total = 1 } }',
        ["a prior for 'thresholds'", "family = 'cumulative', not with 'gaussian'"],
    ),
    "residual prior": (
        ORDINAL + 'residual = { dist = "HalfNormal", kwargs = { sigma = 1 } }',
        ["a prior for 'residual'", "not in 'terms'"],
    ),
    "scale without a scale by judge": (
        ORDINAL + SCALE,
        ["a prior for 'threshold-scale'", "thresholds = 'judge-scale', not with 'common'"],
    ),
    "scale for gaussian": (
        GOOD + SCALE,
        ["a prior for 'threshold-scale'", "family = 'cumulative'"],
    ),
    "scale by judge without its prior": (
        changed(SCALE, "", BY_JUDGE),
        ["[priors] threshold-scale: is missing"],
    ),
    "scale misspelt": (
        changed("threshold-scale =", "thresholds-scale =", BY_JUDGE),
        ["unknown key 'thresholds-scale'", "did you mean 'threshold-scale'?"],
    ),
    "HalfNormal for the scale": (
        changed(SCALE, SCALE.replace("ZeroSumNormal", "HalfNormal"), BY_JUDGE),
        ["threshold-scale: dist 'HalfNormal' is not allowed", "sum to zero"],
    ),
    "ZeroSumNormal for a standard deviation": (
        ordinal('scenario = { dist = "HalfNormal"', 'scenario = { dist = "ZeroSumNormal"'),
        ["scenario: dist 'ZeroSumNormal' is not allowed", "HalfNormal"],
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

    def test_the_bases_of_this_table_are_good(self, read):
        assert read(GOOD).name == read(ORDINAL).name == read(BY_JUDGE).name == "mine"
        assert len(REFUSED) >= 35
