"""What is built, installed and pinned is whole, and works away from the repository."""

import json
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
VERSION = PROJECT["project"]["version"]
MODELS = sorted(path.name for path in (ROOT / "models").glob("*.toml"))


def build(kind, source, into):
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(into)]
    run = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    (built,) = into.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    return build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel_from_sdist(sdist, tmp_path_factory):
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
    return build("wheel", unpacked / f"bayesjudge-{VERSION}", tmp_path_factory.mktemp("rebuilt"))


def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def source_files():
    """Give what the package's folder holds that belongs in a wheel."""
    kinds = ("*.py", "py.typed", "*.csv.gz")
    return {
        path.relative_to(ROOT).as_posix()
        for kind in kinds
        for path in (ROOT / "bayesjudge").rglob(kind)
    }


def test_the_wheel_holds_the_package_its_data_and_the_models(wheel):
    names = set(contents(wheel))
    info = f"bayesjudge-{VERSION}.dist-info"
    assert "linear.toml" in MODELS
    assert "bayesjudge/py.typed" in names
    assert any(re.fullmatch(r"bayesjudge/examples/.*\.csv\.gz", name) for name in names)
    assert source_files() | {f"bayesjudge/models/{name}" for name in MODELS} <= names
    assert {f"{info}/licenses/LICENSE", f"{info}/entry_points.txt"} <= names
    assert {name.partition("/")[0] for name in names} == {"bayesjudge", info}
    assert not [name for name in names if "test" in name or name.endswith(".pyc")]


def test_the_wheel_has_the_command_and_the_dependencies(wheel):
    held = contents(wheel)
    info = f"bayesjudge-{VERSION}.dist-info"
    assert b"bayesjudge = bayesjudge.cli:main" in held[f"{info}/entry_points.txt"]
    metadata = held[f"{info}/METADATA"].decode()
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    wanted = len(project["dependencies"]) + sum(map(len, extras.values()))
    assert metadata.count("Requires-Dist: ") == wanted
    assert metadata.count("Provides-Extra: ") == len(extras)
    assert f"Version: {VERSION}" in metadata


def test_the_wheel_built_from_the_sdist_is_the_same(wheel, wheel_from_sdist):
    assert contents(wheel_from_sdist) == contents(wheel)


# Run away from the repository. -I -S leave nothing on the path but the standard library: no PYTHON*
# variable, no .pth file, so no editable install. What is looked for is then put there by hand.
AWAY = """
import json, sys
sys.path += sys.argv[1:]
import bayesjudge
from bayesjudge import specs
names = specs.available()
for name in names:
    specs.read_spec(name)
print(json.dumps([bayesjudge.__file__, bayesjudge.__version__, names]))
"""


def look_from(folder, *options):
    run = subprocess.run(
        [sys.executable, *options], cwd=folder, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    file, version, names = json.loads(run.stdout)
    return Path(file), version, names


def assert_all_models(names):
    assert sorted(names) == sorted(name.removesuffix(".toml") for name in MODELS)
    assert {"linear", "linear-paper"} <= set(names)


@pytest.mark.parametrize("built", ["wheel", "wheel_from_sdist"])
def test_an_installed_wheel_finds_its_models(built, request, tmp_path):
    target = tmp_path / "site"
    with zipfile.ZipFile(request.getfixturevalue(built)) as archive:
        archive.extractall(target)
    packages = sysconfig.get_path("purelib")
    file, version, names = look_from(tmp_path, "-ISc", AWAY, str(target), packages)
    assert file == target / "bayesjudge" / "__init__.py"
    assert version == VERSION
    assert_all_models(names)


def test_the_editable_install_finds_its_models_from_anywhere(tmp_path):
    file, version, names = look_from(tmp_path, "-Ic", AWAY)
    assert file == ROOT / "bayesjudge" / "__init__.py"
    assert version == VERSION
    assert_all_models(names)


# The pins and the set-up.


def pins():
    text = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8")
    return dict(re.findall(r"^([\w.-]+)==([^\s;]+)", text, flags=re.MULTILINE))


def test_every_dependency_is_bounded_below():
    for text in PROJECT["project"]["dependencies"] + PROJECT["build-system"]["requires"]:
        operators = {one.operator for one in Requirement(text).specifier}
        assert operators & {">=", ">", "==", "~="}, f"{text} has no lower bound"


def test_every_requirement_is_pinned_within_its_bounds():
    asked = [
        *PROJECT["project"]["dependencies"],
        *PROJECT["dependency-groups"]["dev"],
        *PROJECT["build-system"]["requires"],
    ]
    pinned = pins()
    for requirement in map(Requirement, asked):
        version = pinned.get(canonicalize_name(requirement.name))
        assert version in requirement.specifier, f"{requirement} against {version}: run `make pins`"


def set_up_files():
    folders = (ROOT / "requirements", ROOT / ".ci")
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return [ROOT / "Makefile", *found]


@pytest.mark.parametrize("path", set_up_files(), ids=lambda path: path.name)
def test_the_set_up_names_no_host_and_no_place_of_one_machine(path):
    text = path.read_text(encoding="utf-8")
    hosts = r"\w+://\S*|\b(?:\w+\.)+(?:com|org|io|net|internal|local)\b|\b\d+\.\d+\.\d+\.\d+:\d+"
    options = r"--(?:extra-)?index(?:-url)?\b|--find-links\b|--trusted-host\b"
    places = r"(?<![\w.])/(?:root|home|Users|work|tmp|opt|mnt|srv)\b\S*"
    assert not re.findall(f"{hosts}|{options}|{places}", text)


def test_every_pin_has_a_hash():
    for name in ("dev.txt", "uv.txt"):
        text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
        for block in re.split(r"\n(?=\S)", text):
            assert block.startswith("#") or "--hash=sha256:" in block, block
