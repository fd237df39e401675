#!/bin/sh
# What the Makefile can't say in a line: `setup.sh venv` makes ./.venv, `setup.sh pins [--upgrade]`
# writes requirements/*.txt again. It runs on any Python >= 3.8 (on none, where uv is installed).
set -eu
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# The names and places where a Python may be, best first: PATH in full (a pyenv shim that exists but
# doesn't run must not hide the next directory), then pyenv's versions whether or not it's on PATH.
candidates() (
    printf '%s\n' "${PYTHON:-}"
    for name in python3.14 python3.13 python3.12 python3 python; do
        IFS=:
        for dir in $PATH; do printf '%s\n' "$dir/$name"; done
    done
    for minor in 14 13 12; do
        for root in "$(pyenv root 2>/dev/null)" "${PYENV_ROOT:-}" "${HOME:-}/.pyenv"; do
            printf '%s\n' "$root"/versions/3.$minor.*/bin/python
        done
    done
)

# probe PYTHON CONDITION: the interpreter's own path, past shims and virtual environments, if it runs,
# is an ordinary CPython (the pins have wheels for no other) and its version `v` meets the condition.
probe() {
    "$1" -c "import sys; v = sys.version_info[:2]
if not (v >= (3, 8) and ($2) and sys.implementation.name == 'cpython' and 't' not in sys.abiflags):
    sys.exit(1)
print(getattr(sys, '_base_executable', '') or sys.executable)" </dev/null 2>/dev/null
}

find_python() {
    candidates | while IFS= read -r path; do
        [ -x "$path" ] && probe "$path" "$1" && break
    done || :
}

# Sets $uv: the one on PATH, the one fetched before, or one fetched now into ./.bootstrap.
need_uv() {
    for uv in uv .bootstrap/bin/uv; do
        "$uv" --version >/dev/null 2>&1 && return
    done
    base=$(find_python 'v >= (3, 12)') # likelier than a system's older one to have venv and pip
    [ -n "$base" ] || base=$(find_python True)
    [ -n "$base" ] || die "found neither uv nor a Python >= 3.8 to fetch it with: install either"
    say "fetching uv with $base"
    rm -rf .bootstrap
    wheel="--quiet --disable-pip-version-check --only-binary :all: --require-hashes -r requirements/uv.txt"
    # shellcheck disable=SC2086  # the options are words
    if "$base" -m venv .bootstrap >/dev/null 2>&1; then
        .bootstrap/bin/python -m pip install $wheel || die "pip could not fetch uv"
    else # Debian's python3 without python3-venv
        rm -rf .bootstrap
        "$base" -m pip install $wheel --target .bootstrap ||
            die "$base has no working venv, and its pip could not fetch uv: install uv, or python3-venv"
    fi
    "$uv" --version >/dev/null || die "the uv just fetched doesn't run"
}

# A .venv made in this very folder (its scripts name it) whose Python runs is brought up to date in place.
make_venv() {
    need_uv
    if [ -n "${PYTHON:-}" ] || ! grep -qsF "$PWD/.venv" .venv/bin/activate ||
        ! probe .venv/bin/python 'v >= (3, 12)' >/dev/null; then
        new_venv
    fi
    say "installing into .venv, $(.venv/bin/python --version)"
    # Bytecode now: where PYTHONDONTWRITEBYTECODE is set, imports would take three times as long for ever.
    "$uv" pip sync --quiet --python .venv --compile-bytecode --require-hashes requirements/dev.txt
    "$uv" pip install --quiet --python .venv --no-deps --no-build-isolation --editable .
    .venv/bin/python -m compileall -q bayesjudge || : # a module being edited is no reason to stop
}

new_venv() {
    if [ -n "${PYTHON:-}" ]; then
        python=$(probe "$PYTHON" 'v >= (3, 12)') ||
            die "PYTHON=$PYTHON is no CPython >= 3.12: $("$PYTHON" --version 2>&1 | sed 's/.*: //')"
    else
        # not above 3.14, the newest that every pinned package has a wheel for
        python=$(find_python '(3, 12) <= v <= (3, 14)')
        [ -n "$python" ] || say "no Python 3.12 to 3.14 on PATH or in pyenv: uv looks for one, or downloads it"
    fi
    rm -rf .venv
    "$uv" venv --quiet --python "${python:-3.13}" .venv ||
        die "no Python >= 3.12: install one, or name it by PYTHON=/path/to/python"
}

make_pins() {
    need_uv
    compile="--quiet --universal --generate-hashes --custom-compile-command"
    # shellcheck disable=SC2086
    {
        "$uv" pip compile $compile "make pins" "$@" --python-version 3.12 \
            pyproject.toml --group dev --output-file requirements/dev.txt >/dev/null
        echo uv | "$uv" pip compile $compile "make pins" "$@" --python-version 3.8 --no-annotate \
            - --output-file requirements/uv.txt >/dev/null
    }
}

case ${1:-} in
    venv) make_venv ;;
    pins) shift && make_pins "$@" ;;
    *) die "usage: setup.sh venv | setup.sh pins [--upgrade]" ;;
esac
