"""Files as torch writes them, without torch: a zip archive with a pickle that names storages."""

import io
import pickle
import sys
import types
import zipfile
from collections import OrderedDict

import numpy as np

STORAGES = {
    "<f8": "DoubleStorage",
    "<f4": "FloatStorage",
    "<f2": "HalfStorage",
    "<i8": "LongStorage",
    "<u2": "BFloat16Storage",  # bits of bfloat16
    "|b1": "BoolStorage",
}


def _named(module, name):
    """Return a class that pickles as a name of torch."""
    return type(name, (), {"__module__": module, "__qualname__": name})


def _rebuild_tensor_v2(*arguments):
    raise AssertionError("never called")


_rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = (
    "torch._utils",
    "_rebuild_tensor_v2",
)


class Tensor:
    """A view of a storage, as torch describes it."""

    def __init__(self, array, shape=None, strides=None, start=0, size=None):
        self.flat = np.ascontiguousarray(array).reshape(-1)
        self.start = start
        self.shape = np.shape(array) if shape is None else shape
        elements = [int(np.prod(self.shape[i + 1 :])) for i in range(len(self.shape))]
        self.strides = tuple(elements) if strides is None else strides
        self.size = self.flat.size if size is None else size

    def __reduce__(self):
        description = (self, self.start, self.shape, self.strides, False, OrderedDict())
        return _rebuild_tensor_v2, (Storage(self), *description[1:])


class Storage:
    def __init__(self, tensor):
        self.tensor = tensor


def save(path, content, compression=zipfile.ZIP_STORED):
    """Write tensors in dicts and lists."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2
    for name in STORAGES.values():
        setattr(torch, name, _named("torch", name))
    members = {}

    class Pickler(pickle.Pickler):
        def persistent_id(self, value):
            if not isinstance(value, Storage):
                return None
            key, flat = str(len(members)), value.tensor.flat
            members[key] = flat.tobytes()
            kind = getattr(torch, STORAGES[flat.dtype.str])
            return ("storage", kind, key, "cpu", value.tensor.size)

    buffer = io.BytesIO()
    before = {name: sys.modules.get(name) for name in ("torch", "torch._utils")}
    sys.modules |= {"torch": torch, "torch._utils": utils}
    try:
        Pickler(buffer, protocol=2).dump(content)
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    write(path, buffer.getvalue(), members, compression)


def write(path, listing, members=(), compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("archive/data.pkl", listing)
        archive.writestr("archive/byteorder", "little")
        for key, content in dict(members).items():
            archive.writestr(f"archive/data/{key}", content)
        archive.writestr("archive/version", "3\n")
