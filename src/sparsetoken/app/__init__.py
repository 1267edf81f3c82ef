"""The explorer: a JSON service on this machine, and a page that asks it while a slider moves."""

import lazy_loader

# Imported when it is used: the processes that compute need no server.
__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={"server": ["serve"]})
