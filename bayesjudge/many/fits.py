"""Fit a model to many tables, on any executor."""

from __future__ import annotations

import inspect
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from bayesjudge.arguments import require_whole
from bayesjudge.atomic import sweep
from bayesjudge.errors import BayesJudgeError
from bayesjudge.fitting import TUNE, fit, require_settings
from bayesjudge.many.requests import REQUEST, digest, file_of, seed_of, verdict_if_done
from bayesjudge.scores import ScoreTable, require_table
from bayesjudge.specs import read_spec
from bayesjudge.tree import save
from bayesjudge.wording import quoted

_WATCH = 1.0  # seconds between looks for the parent of a worker
_AHEAD = 4  # tables handed out for each worker, so that a long iterable is not read at once


@dataclass(frozen=True)
class Outcome:
    """What became of one table.

    Attributes
    ----------
    key : str
        Its key.
    status : {"fitted", "already there", "failed"}
        What happened.
    verdict : str
        "passed" or "failed" diagnostics; empty where there is no fit.
    seconds : float
        It took.
    error : str
        Why there is no fit.
    path : str
        File of the fit; empty where there is none.
    """

    key: str
    status: str
    verdict: str = ""
    seconds: float = 0.0
    error: str = ""
    path: str = ""


def groups(scores: ScoreTable, by: str) -> Iterator[tuple[str, ScoreTable]]:
    """Cut a table by a column, for `fit_many`.

    Parameters
    ----------
    scores : ScoreTable
        The table.
    by : str
        A column: ``model``, or an extra one.

    Yields
    ------
    str, ScoreTable
        Each value of the column, and the rows that have it.
    """
    require_table(scores)
    if by not in scores.frame:
        raise BayesJudgeError(
            f"by = {by!r} is no column of the table. Columns: {quoted(scores.frame.columns)}. (Of "
            "a table that was read in parts no further columns are kept: for a file, say "
            "in_parts=False.)"
        )
    yield from scores.split(by)


def fit_many(
    tables: Mapping[str, ScoreTable] | Iterable[tuple[str, ScoreTable]],
    out: str | Path,
    *,
    executor: Executor | None = None,
    workers: int | None = None,
    seed: int = 1,
    engine: str = "psis",
    on_progress: Callable[[Outcome, int], None] | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Fit a model to many tables. Each fit is written when it is made; a later call skips it.

    Parameters
    ----------
    tables : mapping, or iterable of pairs
        By key. An iterable is read as far as there is work, so it may be longer than memory; see
        `bayesjudge.groups` for a table cut by a column.
    out : path
        Folder for the fits. A fit appears there whole or not at all.
    executor : concurrent.futures.Executor, optional
        Where to work: `dask.distributed.Client(...).get_executor()`, for example. A process pool
        on this machine if not given; then the call must be under ``if __name__ == "__main__":``
        in a script, as all process pools want it.
    workers : int, optional
        Processes of that pool: as many as there are cores, if not given.
    seed : int
        The seed of each fit follows from it and from the key alone.
    engine : {"psis", "nuts"}
        As for `bayesjudge.fit`: psis for linear models, nuts for ordinal ones.
    on_progress : callable, optional
        Called with each `Outcome` and how many there are so far.
    **options
        Other arguments of `bayesjudge.fit`: model, draws, prior_scale, ...

    Returns
    -------
    DataFrame
        Index key, in the order of the tables; columns ``status`` ("fitted", "already there",
        "failed"), ``verdict``, ``seconds``, ``error``, ``path``.

    Raises
    ------
    BayesJudgeError
        When a key comes twice, or the folder can't be made. A table that can't be fitted does not
        stop the others: it is a row with its error.

    Notes
    -----
    The file of a fit is named by its key: another model or other settings belong in another
    folder, or the fit there is replaced. A fit is skipped where its file holds one of the same
    scores, specification, settings and version of the package. When a worker process dies, the
    tables in work are tried once more, each in a process of its own.
    """
    _refuse(tables, executor, workers, seed, options | {"engine": engine})
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BayesJudgeError(f"can't make the folder {folder}: {error.strerror}") from error
    asked = options | {"engine": engine}
    outcomes: dict[str, Outcome | None] = {}
    pairs = tables.items() if isinstance(tables, Mapping) else tables

    def jobs() -> Iterator[_Job]:
        for key, scores in map(_pair, pairs):
            name = str(key)
            if name in outcomes:
                raise BayesJudgeError(f"the key {name!r} comes twice: each table needs its own.")
            try:
                require_table(scores)
            except BayesJudgeError as error:
                raise BayesJudgeError(f"{name!r}: {error}") from None
            outcomes[name] = None
            yield _Job(name, scores, asked | {"seed": seed_of(seed, name)}, file_of(folder, name))

    own = workers or os.cpu_count() or 1
    for outcome in _run(jobs(), executor, own):
        outcomes[outcome.key] = outcome
        if on_progress is not None:
            on_progress(outcome, sum(one is not None for one in outcomes.values()))
    sweep(folder, {file_of(folder, key).name for key in outcomes})
    rows = [
        {
            "status": one.status,
            "verdict": one.verdict,
            "seconds": one.seconds,
            "error": one.error,
            "path": one.path,
        }
        for one in outcomes.values()
        if one is not None
    ]
    index = pd.Index([*outcomes], dtype=str, name="key")
    return pd.DataFrame(
        rows, index=index, columns=["status", "verdict", "seconds", "error", "path"]
    )


def _refuse(
    tables: object,
    executor: object,
    workers: int | None,
    seed: int,
    options: Mapping[str, Any],
) -> None:
    """Refuse what would fail for every table."""
    if isinstance(tables, ScoreTable) or not isinstance(tables, Iterable):
        raise BayesJudgeError(
            "fit_many takes tables by key: {'key': scores, ...} or pairs of key and table, such as "
            "bayesjudge.groups(scores, by='model')."
        )
    if executor is not None and not hasattr(executor, "submit"):
        raise BayesJudgeError(
            f"executor = {executor!r} can't be submitted to: pass a concurrent.futures.Executor, "
            "such as dask.distributed.Client(...).get_executor()."
        )
    if workers is not None:
        require_whole("workers", workers, 1, error=BayesJudgeError)
    require_whole("seed", seed, 0, error=BayesJudgeError)
    defaults = {name: one.default for name, one in inspect.signature(fit).parameters.items()}
    known = set(defaults) - {"scores", "on_stage", "progress", "seed"}
    unknown = sorted(set(options) - known)
    if unknown:
        raise BayesJudgeError(
            f"{quoted(unknown)} is no option of fit. Options: {', '.join(sorted(known))}."
        )
    asked = defaults | dict(options)
    family = read_spec(asked["model"]).family
    tune = TUNE[family] if asked["tune"] is None else asked["tune"]
    numbers = (asked["chains"], asked["draws"], tune, asked["prior_scale"])
    require_settings(asked["engine"], family, *numbers, seed)


def _pair(item: object) -> tuple[Any, Any]:
    """Take a pair of key and table apart."""
    if isinstance(item, tuple) and len(item) == 2:
        return item
    raise BayesJudgeError(
        f"an iterable of pairs (key, table) is needed; it gave {type(item).__name__}."
    )


@dataclass(frozen=True, eq=False)
class _Job:
    key: str
    scores: ScoreTable
    options: Mapping[str, Any]
    path: Path


def _work(job: _Job) -> Outcome:
    """Fit one table and write the fit, wherever this runs."""
    start = time.perf_counter()
    try:
        request = digest(job.scores, {"model": "linear", **job.options})
        there = verdict_if_done(job.path, request)
        if there is not None:
            return Outcome(job.key, "already there", there, path=str(job.path))
        tree = fit(job.scores, **job.options)
        tree.attrs = tree.attrs | {REQUEST: request, "key": job.key}
        save(tree, job.path)
    except Exception as error:  # one table must not stop the others
        text = (
            str(error) if isinstance(error, BayesJudgeError) else f"{type(error).__name__}: {error}"
        )
        return Outcome(job.key, "failed", seconds=time.perf_counter() - start, error=text)
    seconds = time.perf_counter() - start
    return Outcome(job.key, "fitted", str(tree.attrs["verdict"]), seconds, path=str(job.path))


def _run(jobs: Iterator[_Job], executor: Executor | None, workers: int) -> Iterator[Outcome]:
    """Hand jobs out, and give their outcomes as they come."""
    if executor is not None:
        yield from _hand_out(jobs, executor, workers, None)
        return
    while True:
        alone: list[_Job] = []
        with _pool(workers) as pool:
            yield from _hand_out(jobs, pool, workers, alone)
        if not alone:
            return
        # A worker died and took the pool with it. Whose fault it was shows when each of the
        # tables in work has a process to itself.
        for job in alone:
            with _pool(1) as pool:
                yield from _hand_out(iter([job]), pool, 1, None)


@contextmanager
def _pool(workers: int) -> Iterator[Executor]:
    """Open a pool of processes; an interruption does not wait for the work in it."""
    # Forked processes would inherit the locks of threads that are not there.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        workers, mp_context=context, initializer=_end_with, initargs=(os.getpid(),)
    ) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _end_with(parent: int) -> None:
    """End this worker when its parent is gone: killed, it could not tell."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _hand_out(
    jobs: Iterator[_Job], executor: Executor, workers: int, alone: list[_Job] | None
) -> Iterator[Outcome]:
    """Keep an executor busy; put jobs of a broken pool into `alone`, if that is given."""
    running: dict[Future[Outcome], _Job] = {}
    broken = False
    while True:
        while not broken and len(running) < _AHEAD * workers:
            job = next(jobs, None)
            if job is None:
                break
            try:
                running[executor.submit(_work, job)] = job
            except BrokenProcessPool as death:
                broken = True
                yield from _after(job, death, alone)
        if not running:
            return
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            job = running.pop(future)
            failure = future.exception()
            if failure is None:
                yield future.result()
            else:
                broken = broken or isinstance(failure, BrokenProcessPool)
                yield from _after(job, failure, alone)


def _after(job: _Job, failure: BaseException, alone: list[_Job] | None) -> Iterator[Outcome]:
    """Say that a job failed, or put it aside."""
    if alone is not None and isinstance(failure, BrokenProcessPool):
        alone.append(job)
        return
    said = f"its worker died: {type(failure).__name__}: {failure}".rstrip(": ")
    yield Outcome(job.key, "failed", error=said)
