"""The tools that are measured: a script each, which runs in a process of its own.

``python -m benchmarks.tools.NAME TABLE OUT.json SEED INTERACTION MODEL SCALE [VARIANT]`` reads
the table, fits it, and writes what `outcome.write` says. MODEL is "gaussian" or "ordinal", SCALE
is ``low,high`` or ``low,high,step``. TABLE is CSV or, for tools in Python, Parquet.
"""
