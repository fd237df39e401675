"""Model specifications: TOML files that say *what* is fitted. How is said in Python.

The shipped ones stand in ``models/``. Copy one, change a prior, and pass its path.
"""

from bayesjudge.specs.files import available, read_spec
from bayesjudge.specs.spec import Spec

__all__ = ["Spec", "available", "read_spec"]
