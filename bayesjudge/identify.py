from bayesjudge.design.identify import *  # noqa
from bayesjudge.design.identify import Structure, identify  # noqa
