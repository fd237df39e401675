"""The command line as a user meets it: output, files, exit statuses."""

import json
import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
from ordinal_panels import draw_panel
from panels import simulate
from unsampled_fits import linear_fit, ordinal_fit

import bayesjudge as bj
from bayesjudge import cli

SHORT = ["--draws", "300", "--tune", "300"]


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command in this process; return exit status, standard output and error."""

    def command(*words):
        monkeypatch.setattr(sys, "argv", ["bayesjudge", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        printed = capsys.readouterr()
        return end.value.code, printed.out, printed.err

    return command


@pytest.fixture
def panel(tmp_path):
    frame = simulate(
        12,
        2,
        3,
        scenario=0.5,
        generation=0.2,
        judge=0.3,
        interaction=0.1,
        residual=0.4,
        models=("A", "B"),
    )
    path = tmp_path / "scores.csv"
    frame.to_csv(path, index=False)
    return path


def test_help_and_version_load_nothing_heavy():
    code = (
        "import sys\n"
        "from bayesjudge.cli import main\n"
        "sys.argv = ['bayesjudge', '--help']\n"
        "try: main()\n"
        "except SystemExit as end: status = end.code\n"
        "heavy = {'numpy', 'pandas', 'xarray', 'scipy', 'pymc', 'rich', 'numba'}\n"
        "print(status, sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("0 []\n")
    assert "Honest uncertainty" in done.stdout


def test_a_light_import_of_the_package():
    code = "import sys, bayesjudge; print({'numpy', 'pandas', 'pymc'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_no_public_name_is_that_of_a_module():
    """Importing a submodule would put the module in the function's place."""
    from importlib.util import find_spec

    for name in bj.__all__:
        if not name.startswith("__"):
            assert find_spec(f"bayesjudge.{name}") is None, name
            assert getattr(bj, name) is getattr(bj, name)
    assert set(bj.__all__) <= set(dir(bj))
    with pytest.raises(AttributeError, match="no attribute 'fitt'"):
        _ = bj.fitt


def test_version(run):
    assert run("--version") == (0, f"bayesjudge, version {bj.__version__}\n", "")


class TestCheck:
    def test_shows_what_is_there(self, run, panel):
        status, out, _ = run("check", panel, "--scale", "0:10")
        assert status == 0
        for text in ("What is there", "scenario:judge", "one sum: no call is repeated"):
            assert text in out

    def test_json_and_file_say_the_same(self, run, panel, tmp_path):
        status, out, _ = run(
            "check", panel, "--scale", "0:10", "--json", "--out", tmp_path / "audit.json"
        )
        assert status == 0
        told = json.loads(out)
        assert told == json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))
        assert told["identifiable"]["residual"] == "generation:judge+residual"
        assert told["balanced"] is True
        assert [row["calls"] for row in told["models"]] == [72, 72]

    def test_missing_scores_are_shown_with_bounds(self, run, panel):
        frame = pd.read_csv(panel)
        frame.loc[[3, 5], "score"] = None
        frame.to_csv(panel, index=False)
        status, out, _ = run("check", panel, "--scale", "0:10")
        assert status == 0
        assert "Missing scores" in out
        assert "missing at random" in out


class TestAnova:
    def test_reproduces_a_published_row(self, run):
        status, out, _ = run("anova", "example:mtbench", "--json")
        assert status == 0
        told = json.loads(out)
        rows = {(r["model"], r["component"]): r for r in told["estimates"]}
        assert round(rows["Qwen", "scenario"]["estimate"], 3) == 1.530
        assert rows["Gemini", "generation"]["estimate"] == 0.0
        assert rows["Gemini", "generation"]["truncated"] is True
        assert rows["Gemini", "generation"]["raw"] < 0
        paper = [r["F"] for r in told["f_test"] if (r["model"], r["test"]) == ("Qwen", "paper")]
        assert paper[0] == pytest.approx(638.2, rel=1e-3)

    def test_unbalanced_tables_get_reml_and_are_told_so(self, run, panel):
        pd.read_csv(panel).iloc[3:].to_csv(panel, index=False)
        status, out, _ = run("anova", panel, "--scale", "0:10", "--interaction")
        assert status == 0
        assert "Variance components by REML" in out
        assert "REML instead of ANOVA" in out

    @pytest.mark.parametrize("ending", ["csv", "json"])
    def test_writes_files(self, run, panel, tmp_path, ending):
        path = tmp_path / f"anova.{ending}"
        status, out, _ = run("anova", panel, "--scale", "0:10", "--out", path)
        assert status == 0
        assert f"Written: {path}" in out.replace("\n", "")
        if ending == "csv":
            assert {"model", "component", "estimate", "raw"} <= set(pd.read_csv(path).columns)
        else:
            assert json.loads(path.read_text(encoding="utf-8"))["rows"][0]["model"] == "A"
        assert not list(tmp_path.glob("*.tmp"))

    def test_a_label_that_a_spreadsheet_would_run_is_disarmed(self, run, tmp_path):
        frame = simulate(
            5,
            2,
            2,
            scenario=0.5,
            generation=0.2,
            judge=0.3,
            interaction=0.1,
            residual=0.4,
            models=("=1+1",),
        )
        frame.to_csv(tmp_path / "s.csv", index=False)
        run("anova", tmp_path / "s.csv", "--scale", "0:10", "--out", tmp_path / "a.csv")
        assert pd.read_csv(tmp_path / "a.csv")["model"][0] == "'=1+1"


class TestFit:
    def test_shows_writes_and_repeats(self, run, panel, tmp_path):
        words = ["fit", panel, "--scale", "0:10", "--seed", "3", *SHORT]
        status, out, err = run(*words, "--out", tmp_path / "one")
        assert status == 0
        assert err == ""
        for text in (
            "Variance components, model linear",
            "Panel means",
            "Judge offsets",
            "Diagnostics passed",
        ):
            assert text in out
        names = {path.name for path in (tmp_path / "one").iterdir()}
        assert names == {
            "fit.nc",
            "components.csv",
            "panel_means.csv",
            "judge_offsets.csv",
            "summary.json",
        }
        told = json.loads((tmp_path / "one" / "summary.json").read_text(encoding="utf-8"))
        assert told["verdict"] == "passed"
        assert told["interval"] == {"kind": "eti", "prob": 0.95}
        status, again, _ = run(*words, "--json")
        assert status == 0
        assert json.loads(again)["components"] == told["components"]
        tree = bj.load(tmp_path / "one" / "fit.nc")
        assert tree.attrs["seed"] == 3
        table = pd.read_csv(tmp_path / "one" / "components.csv", index_col=[0, 1])
        assert table["mean"].tolist() == pytest.approx(bj.compare(tree)["mean"].tolist())

    def test_a_fit_that_fails_its_diagnostics_is_marked_and_ends_with_1(self, run, panel):
        status, out, _ = run("fit", panel, "--scale", "0:10", "--draws", "10", "--tune", "5")
        assert status == 1
        assert out.index("Problems: this fit failed") < out.index("Variance components")
        assert out.count("NOT TO BE TRUSTED") == 3
        assert "Diagnostics FAILED" in out


@pytest.fixture(scope="module")
def levels(tmp_path_factory):
    """A table of scores from 1 to 4, in a file."""
    frame = draw_panel(
        *(20, 2, 3),
        thresholds=[-1.5, 0.0, 1.5],
        sigma_scenario=1.5,
        sigma_generation=1.0,
        offsets=[-0.5, 0.0, 0.5],
        models=("A", "B"),
    )
    path = tmp_path_factory.mktemp("levels") / "scores.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def unsampled(monkeypatch):
    """Fits in no time, in place of those by sampling; what was asked for is kept."""
    asked = []

    def fit(scores, model="linear", *, on_stage=None, bins=None, **options):
        asked.append({"model": model, "bins": bins} | options)
        tree = (
            ordinal_fit(scores, model, draws=100, bins=bins)
            if model.startswith("ordinal")
            else linear_fit(scores, 0.5, model, draws=100, spread=0.3)
        )
        tree.attrs["engine"] = "none"
        return tree

    monkeypatch.setattr("bayesjudge.fitting.fit", fit)
    return asked


class TestOrdinalFit:
    WORDS = ("--levels", "1,2,3,4", "--model", "ordinal")

    def test_is_shown_on_the_score_scale_with_its_latent_parameters(self, run, levels, unsampled):
        status, out, _ = run("fit", levels, *self.WORDS)
        assert status == 0
        assert "Variance components on the score scale, model ordinal (score²)" in out
        for text in ("generation alone", "Latent parameters", "1.81 (logistic)", "3|4"):
            assert text in out
        assert "anova paper" not in out
        assert "What scenario:judge does" not in out
        assert "latent_gamma" not in out
        assert "generation alone less 1/(K-1) of generation:judge" in out
        (asked,) = unsampled
        assert (asked["tune"], asked["bins"], asked["draws"]) == (None, None, 1000)

    def test_a_narrow_terminal_gets_what_fits(self, run, levels, unsampled, monkeypatch):
        monkeypatch.setattr("bayesjudge.cli.show.narrow", lambda: True)
        _, out, _ = run("fit", levels, *self.WORDS)
        assert "latent_sigma_scenario" in out
        assert "threshold" not in out
        assert "A wider terminal" in out

    def test_files_and_json(self, run, levels, unsampled, tmp_path):
        status, out, _ = run("fit", levels, *self.WORDS, "--json", "--out", tmp_path / "o")
        assert status == 0
        told = json.loads(out)
        latent = pd.read_csv(tmp_path / "o" / "latent.csv")
        assert len(latent) == len(told["latent"])
        assert set(latent["parameter"]) >= {"latent_sigma_scenario", "threshold", "latent_gamma"}
        assert told["rows"]["generation:judge"] == "only the ordinal fit tells it apart"
        table = pd.read_csv(tmp_path / "o" / "components.csv", index_col=[0, 1])
        own = bj.components(bj.load(tmp_path / "o" / "fit.nc")).mean(("chain", "draw"))
        for name, row in (("generation", "generation alone"), ("residual", "residual alone")):
            expected = float(own.sel(model="A", component=name))
            assert table.loc[("A", row), "mean"] == pytest.approx(expected)

    def test_notes_on_levels_are_printed(self, run, levels, unsampled):
        _, out, _ = run("fit", levels, "--model", "ordinal")
        assert "No levels were declared" in out

    def test_bins(self, run, panel, unsampled):
        status, out, err = run(
            "fit", panel, "--scale", "0:10", "--model", "ordinal", "--bins", "20", "--check"
        )
        assert status == 0, err
        assert unsampled[0]["bins"] == 20
        assert "20 bins of width 0.5" in out

    def test_check_names_the_judges_that_do_not_fit(self, run, levels, unsampled, tmp_path):
        frame = pd.read_csv(levels)
        lukewarm = (frame["judge"] == "judge 2") & (frame["model"] == "B")
        frame.loc[lukewarm, "score"] = frame.loc[lukewarm, "score"].clip(2, 3)
        frame.to_csv(tmp_path / "lukewarm.csv", index=False)
        status, out, _ = run("fit", tmp_path / "lukewarm.csv", *self.WORDS, "--check", "--json")
        assert status == 0
        told = json.loads(out)["levels"]
        assert len(told["frequencies"]) == 2 * 3 * 4
        named = [text for text in told["misfits"] if "Judge 'judge 2' on model 'B'" in text]
        assert len(named) == 1
        _, out, _ = run("fit", tmp_path / "lukewarm.csv", *self.WORDS, "--check")
        assert "Level frequencies that the fit does not reproduce" in out
        assert named[0] in out

    def test_check_of_continuous_scores_does_not_cost_the_fit(self, run, panel, unsampled):
        status, out, _ = run("fit", panel, "--scale", "0:10", "--check")
        assert status == 0
        assert "Level frequencies can't be checked" in out
        assert "continuous scores" in out
        assert "Panel means" in out

    def test_check_of_a_linear_fit_says_what_lies_off_the_scale(self, run, levels, unsampled):
        _, out, _ = run("fit", levels, "--levels", "1,2,3,4", "--check")
        assert "lie beyond the ends of the scale" in out


class TestCompare:
    def test_fits_a_table_and_compares_the_fits(self, run, levels, tmp_path):
        """The one that samples: from a table to files, and from the files to the same again."""
        words = ["--levels", "1,2,3,4", "--draws", "150", "--out", tmp_path / "both"]
        status, out, err = run("compare", levels, *words)
        assert status in (0, 1), err  # so few draws may not pass
        for text in ("linear", "ordinal", "reml", "Posterior mean", "good enough"):
            assert text in out
        assert "What the rows are" in out
        names = {path.name for path in (tmp_path / "both").iterdir()}
        assert names == {"linear.nc", "ordinal.nc", "components.csv", "summary.json"}
        told = json.loads((tmp_path / "both" / "summary.json").read_text(encoding="utf-8"))
        assert [fit["model"] for fit in told["provenance"]] == ["linear", "ordinal"]
        assert [fit["tune"] for fit in told["provenance"]] == [500, 200]
        assert told["verdict"] == ("passed", "failed")[status]
        fits = [tmp_path / "both" / f"{name}.nc" for name in ("linear", "ordinal")]
        again, out, _ = run("compare", *fits, "--json")
        assert again == status
        assert json.loads(out)["components"] == told["components"]
        assert json.loads(out)["linear_enough"] == told["linear_enough"]

    @pytest.fixture
    def fits(self, levels, tmp_path):
        scores = bj.read_scores(levels, levels=[1, 2, 3, 4])
        trees = {"l": linear_fit(scores, 0.5, draws=100), "o": ordinal_fit(scores, draws=100)}
        return [bj.save(tree, tmp_path / f"{name}.nc") for name, tree in trees.items()]

    def test_fits_side_by_side(self, run, fits, tmp_path):
        status, out, _ = run("compare", *fits, "--out", tmp_path / "table.csv")
        assert status == 0
        assert "Is the linear approximation good enough?" in out
        table = pd.read_csv(tmp_path / "table.csv")
        expected = bj.compare(*map(bj.load, fits))
        assert table["component"].tolist() == [name for _, name in expected.index]
        np.testing.assert_allclose(table["ordinal_mean"], expected["ordinal"]["mean"], rtol=1e-9)
        assert {"model", "linear_eti_low", "reference_reml"} <= set(table.columns)

    def test_a_failed_fit_ends_with_1(self, run, fits):
        tree = bj.load(fits[1])
        tree.attrs |= {"verdict": "failed", "problems": "Chains disagree."}
        bj.save(tree, fits[1])
        status, out, _ = run("compare", *fits)
        assert status == 1
        assert out.index("ordinal: Chains disagree.") < out.index("Variance components")
        assert "NOT TO BE TRUSTED" in out

    def test_loo(self, run, fits, tmp_path, monkeypatch):
        from bayesjudge.posterior.loo import loo

        # These fits are no good at leaving out scenarios, and fitting again takes minutes.
        monkeypatch.setattr("bayesjudge.posterior.loo.loo", partial(loo, refit=False))
        status, out, _ = run("compare", *fits, "--loo", "--json", "--out", tmp_path / "loo")
        assert status == 0
        told = json.loads(out)["loo"]
        assert {row["model"] for row in told["rows"]} == {"linear", "ordinal"}
        assert "scenarios" in told["verdict"]
        assert len(pd.read_csv(tmp_path / "loo" / "loo.csv")) == 2
        assert not (tmp_path / "loo" / "ordinal.nc").exists()

    def test_bins_are_for_the_ordinal_model(self, run, panel, unsampled):
        status, _, err = run("compare", panel, "--scale", "0:10", "--bins", "10")
        assert status == 0, err
        assert [(asked["model"], asked["bins"]) for asked in unsampled] == [
            ("linear", None),
            ("ordinal", 10),
        ]

    def test_scores_without_levels_are_refused_before_anything_is_fitted(
        self, run, panel, unsampled
    ):
        status, _, err = run("compare", panel, "--scale", "0:10")
        assert status == 1
        assert "continuous scores" in err
        assert not unsampled

    @pytest.mark.parametrize(
        ("words", "status", "says"),
        [
            ([], 2, "Missing argument 'FILE...'"),
            (["{fit}", "{table}"], 2, "give fits (.nc files), or one table"),
            (["{table}", "{table}"], 2, "give fits (.nc files), or one table"),
            (["{fit}", "--draws", "100", "--scale", "1:4"], 2, "--scale, --draws: for a table"),
            (["{fit}", "--models", "linear"], 2, "--models: for a table"),
            (["{table}", "--models", "linear,linear"], 2, "each once"),
            (["{table}", "--models", "quadratic"], 2, "quadratic"),
            (["{table}", "--models", "linear", "--bins", "3"], 1, "names none"),
            (["{fit}", "{fit}x.nc"], 1, "no file"),
            (["{fit}", "--out", "x.nc"], 1, ".csv or .json file"),
            (["{fit}", "--out", "no/where.csv"], 1, "no folder"),
            (["{fit}", "--out", "{fit}"], 2, "overwritten"),
            (["{table}", "--out", "{table}"], 2, "overwritten"),
        ],
    )
    def test_what_is_wrong_is_said(self, run, fits, levels, words, status, says):
        before = [path.read_bytes() for path in (fits[0], levels)]
        found, out, err = run("compare", *(w.format(fit=fits[0], table=levels) for w in words))
        assert found == status, err
        assert says in " ".join(err.split())
        assert "Traceback" not in out + err
        assert [path.read_bytes() for path in (fits[0], levels)] == before


def write(tmp_path, text, name="x.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


HEADER = "model,scenario,generation,judge,score\n"


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["check"], 2, "Missing argument 'FILE'"),
        (["chekc", "x.csv"], 2, "No such command 'chekc'"),
        (["check", "{dir}/none.csv"], 1, "none.csv"),
        (["check", "{dir}"], 1, "folder"),
        (["check", "example:mtbenhc"], 1, "Did you mean 'mtbench'"),
        (["check", "{dir}/empty.csv"], 1, "empty"),
        (["check", "{dir}/text.csv"], 1, "Tie"),
        (["check", "{dir}/good.csv", "--columns", "model"], 2, "model=system"),
        (["check", "{dir}/good.csv", "--columns", "model=a,model=b"], 2, "more than once"),
        (["check", "{dir}/good.csv", "--columns", "modl=a"], 1, "modl"),
        (["check", "{dir}/good.csv", "--scale", "ten"], 1, "ten"),
        (["check", "{dir}/good.csv", "--scale", "1:3"], 1, "outside"),
        (["check", "{dir}/good.csv", "--where", "score >"], 1, "score >"),
        (["check", "{dir}/good.csv", "--where", "__import__('os')"], 1, "where"),
        (["check", "{dir}/good.csv", "--outside", "drop"], 2, "drop"),
        (["check", "{dir}/good.csv", "--out", "{dir}/no/where.json"], 1, "where.json"),
        (["anova", "{dir}/good.csv", "--scale", "1:10", "--out", "{dir}/x.xlsx"], 1, ".xlsx"),
        (["check", "{dir}/good.csv", "--out", "{dir}/x.txt"], 2, "end in .json"),
        (["check", "{dir}/good.csv", "--out", "{dir}/good.csv"], 2, "overwritten"),
        (["anova", "{dir}/good.csv", "--out", "{dir}/../{name}/good.csv"], 2, "overwritten"),
        (["fit", "{dir}/good.csv", "--scale", "1:10", "--out", ""], 2, "is empty"),
        (["fit", "{dir}/good.csv", "--scale", "1:10", "--out", "{dir}/d.nc"], 1, "a folder"),
        (["fit", "{dir}/flat.csv", "--scale", "1:10"], 1, "no posterior"),
        (["fit", "{dir}/good.csv", "--scale", "1:10", "--model", "quadratic"], 2, "quadratic"),
        (["fit", "{dir}/good.csv", "--scale", "1:10", "--model", "{dir}/m.toml"], 2, "m.toml"),
        (["fit", "{dir}/good.csv", "--scale", "1:10", "--seed", "-1"], 2, "--seed"),
        (["fit", "{dir}/good.csv", "--scale", "1:10", "--prior-scale", "0"], 2, "prior-scale"),
        (["fit", "{dir}/good.csv", "--scale", "1:10", "--out", "{dir}/f.csv"], 1, ".nc file"),
        (["fit", "{dir}/good.csv", "--scale", "1:10", "--out", "{dir}/no/f.nc"], 1, "no folder"),
        (["fit", "{dir}/one.csv", "--scale", "1:10"], 1, "no variance can be estimated"),
    ],
)
def test_what_is_wrong_is_said_in_one_message(run, tmp_path, words, status, says):
    write(tmp_path, "", "empty.csv")
    write(tmp_path, HEADER + "a,1,1,j,Tie\n", "text.csv")
    write(tmp_path, HEADER + "a,1,1,j,3\na,2,1,j,5\na,1,1,k,4\na,2,1,k,4\n", "good.csv")
    write(tmp_path, HEADER + "a,1,1,j,3\n", "one.csv")
    write(tmp_path, HEADER + "a,1,1,j,3\na,2,1,j,3\na,1,1,k,3\na,2,1,k,3\n", "flat.csv")
    write(tmp_path, "name = 1", "m.toml")
    (tmp_path / "d.nc").mkdir()
    before = (tmp_path / "good.csv").read_bytes()
    found, out, err = run(*(word.format(dir=tmp_path, name=tmp_path.name) for word in words))
    assert (tmp_path / "good.csv").read_bytes() == before
    assert found == status, err
    assert says in " ".join(err.split())
    assert "Traceback" not in out + err


def test_a_reader_that_leaves_early_is_no_failure():
    code = "from bayesjudge.cli import main; main()"
    command = (
        f"{sys.executable} -c '{code}' check example:mindeval | head -1; echo ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[-2] == "0"
    assert done.stderr == ""


def test_the_command_and_the_function_have_the_same_defaults():
    import inspect

    from bayesjudge.cli.options import FITTING

    given = {name: p.default for name, p in inspect.signature(bj.fit).parameters.items()}

    def command(**options):
        return options

    for option in FITTING:
        command = option(command)
    for parameter in command.__click_params__:
        if parameter.name != "seed":  # which the command gives, so that it repeats itself
            assert parameter.default == given[parameter.name], parameter.name


def test_the_models_that_ship_are_listed(run):
    from bayesjudge.cli.options import SHIPPED
    from bayesjudge.specs.files import available

    assert set(SHIPPED) == set(available())
    for command in ("fit", "compare"):
        _, out, _ = run(command, "--help")
        assert all(name in out for name in SHIPPED)


def test_a_fault_of_ours_is_owned_up_to(run, monkeypatch):
    monkeypatch.delenv("BAYESJUDGE_TRACEBACK", raising=False)
    monkeypatch.setattr("bayesjudge.cli.commands.read", lambda *a: 1 / 0)
    status, _, err = run("check", "x.csv")
    assert status == 70
    assert "fault of bayesjudge" in err
    assert "ZeroDivisionError" in err


def test_an_interruption_is_quiet(run, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("bayesjudge.cli.commands.read", stop)
    status, _, err = run("check", "x.csv")
    assert (status, err.strip()) == (130, "Error: Interrupted.")
