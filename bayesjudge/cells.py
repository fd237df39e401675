from bayesjudge.design.cells import *  # noqa
from bayesjudge.design.cells import Cells, Balance, balance, cells_by_model  # noqa
