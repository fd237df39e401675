"""``python -m bayesjudge``: the command line."""

from bayesjudge.cli import main

if __name__ == "__main__":
    main()
