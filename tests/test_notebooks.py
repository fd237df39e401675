"""Every notebook is committed without outputs, and runs from top to bottom without a warning."""

import json
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import bayesjudge

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
FIGURES = {"quickstart": 5}  # at least so many, by notebook; one that is not named here, 1
KERNEL = "these-tests"
STRICT = "import warnings; warnings.simplefilter('error')"


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """A kernel of the interpreter and the package under test, registered nowhere else."""
    spec = {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": KERNEL,
        "language": "python",
        "env": {
            # ipykernel's own way to draw without a screen: Agg, as PNG in the outputs.
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            "PYTHONPATH": str(Path(bayesjudge.__file__).parents[1]),
        },
    }
    folder = tmp_path / "jupyter" / "kernels" / KERNEL
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    return KERNEL


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_there_is_a_notebook():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_valid_and_stripped(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for cell in code_cells(notebook):
        assert not cell.outputs, cell.source
        assert cell.execution_count is None, cell.source


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, kernel, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(STRICT))
    client = NotebookClient(
        notebook,
        kernel_name=kernel,
        timeout=300,
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()  # raises at the first cell that fails
    outputs = [output for cell in code_cells(notebook) for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    said = [o.text for o in outputs if o.output_type == "stream" and o.name == "stderr"]
    assert not said
    figures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(figures) >= FIGURES.get(path.stem, 1)
