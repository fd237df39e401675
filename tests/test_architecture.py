"""The one-way flow: a module imports only from the layers above its own line in this list."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "bayesjudge"

# A line is a layer, and may import from the lines above it. A package's name stands for all of its
# modules, which may import each other without a cycle; neighbours in a line may not.
LAYERS = [
    line.split()
    for line in """
        errors
        arguments atomic wording terms settings
        priors
        scores
        examples
        readers
        levels
        design
        marginal specs
        estimates
        layout
        models
        ordinal
        engines
        tree
        fitting
        posterior
        allocations many
        planning schedules
    """.strip().splitlines()
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
ANYWHERE = {"", "__main__", "cli"}  # the front doors: they import all, and nothing imports them

# Every module by its name below the package: "" is bayesjudge/__init__.py.
MODULES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    .removesuffix("__init__")
    .strip("."): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
INSIDE = [name for name in MODULES if name.partition(".")[0] not in ANYWHERE]


def room(module):
    return module.partition(".")[0]


def imported_names(module):
    """Yield what a module imports from the package, as dotted names below it, at any depth."""
    path = MODULES[module]
    package = ["bayesjudge", *path.relative_to(PACKAGE).parent.parts]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*base, *filter(None, [node.module])])
            names = [f"{start}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.partition(".")[0] == "bayesjudge":
                yield name.partition(".")[2]


def owner(name):
    """Give the module that an imported name is, or is defined in (not written yet: its room)."""
    found = name
    while found and found not in MODULES:
        found = found.rpartition(".")[0]
    return found or (room(name) if "." in name else "")


@pytest.mark.parametrize("module", INSIDE)
def test_a_module_imports_only_from_the_layers_above_it(module):
    here = room(module)
    assert here in RANK, f"place {here!r} in the LAYERS of tests/test_architecture.py"
    for name in imported_names(module):
        if name == "__version__":
            continue
        there = room(owner(name))
        assert there not in ANYWHERE, (
            f"{module} imports {name or 'bayesjudge'!r} by the front door: "
            "import it from the module that defines it"
        )
        assert there in RANK, f"place {there!r} in the LAYERS of tests/test_architecture.py"
        assert there == here or RANK[there] < RANK[here], (
            f"{module} imports {name!r}, but {there!r} does not stand above {here!r} in LAYERS"
        )


def test_no_modules_import_each_other_in_a_circle():
    graph = {m: {owner(name) for name in imported_names(m)} - {m, ""} for m in INSIDE}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as circle:
        pytest.fail(" -> ".join(circle.args[1]))


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_read_in_one_sitting(module):
    lines = len(MODULES[module].read_text(encoding="utf-8").splitlines())
    assert lines < 400, f"{MODULES[module].name} has {lines} lines: split it"


def test_a_module_is_named_for_what_it_holds():
    vague = {"util", "utils", "helper", "helpers", "misc", "common"}
    assert not [name for name in MODULES if vague & set(name.split("."))]


def test_no_module_is_placed_twice():
    assert sum(map(len, LAYERS)) == len(RANK)
