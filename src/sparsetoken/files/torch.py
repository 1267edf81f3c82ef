"""Tensors that torch has saved, ``.pt`` and ``.pth``: torch reads them, and nothing but tensors."""

import pickle
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken._validation import import_extra
from sparsetoken.files.guards import Arrays, UnreadableError, check_zip

_MOST, _DEEPEST = 10**6, 20  # values, and levels: of a list that holds itself there is no end


def open_torch(path: Path) -> Arrays:
    """Open a tensor as X, or a dict or list of tensors and plain values by their names."""
    torch = import_extra("torch", f"{path}: {path.suffix}", "torch")
    if not zipfile.is_zipfile(path):
        raise UnreadableError("it is not as torch writes since 1.6; load it with torch and save it")
    sizes = set(check_zip(path).values())
    with zipfile.ZipFile(path) as archive:
        if damaged := archive.testzip():  # torch does not look
            raise ValueError(f"the numbers in {damaged} have changed")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:  # torch would tell how to run its code
        objects = "it holds objects other than tensors, containers and plain values"
        raise UnreadableError(f"{objects}, which are never read: save tensors alone") from None
    arrays: dict[str, Any] = {}
    for name, value in _leaves(content):
        if not isinstance(value, torch.Tensor):
            arrays[name] = np.array(value)
            continue
        if value.layout != torch.strided or value.is_quantized:
            raise UnreadableError(f"{name or 'it'} is not a dense tensor")
        if value.untyped_storage().nbytes() not in sizes:  # torch believes what the file says
            raise ValueError(f"the numbers of a tensor of shape {tuple(value.shape)} are not there")
        value = value.detach()
        arrays[name or "X"] = (value.float() if value.dtype == torch.bfloat16 else value).numpy()
    return arrays


def _leaves(content: Any) -> Iterator[tuple[str, Any]]:
    """Yield tensors and plain values; those inside others are named ``outer/inner``."""
    waiting, count = [("", content, 0)], 0
    while waiting:
        name, value, depth = waiting.pop()
        count += 1
        if count > _MOST or depth > _DEEPEST:
            raise UnreadableError("it holds millions of values, or itself")
        if isinstance(value, list | tuple) and not all(map(_is_plain, value)):
            value = dict(enumerate(value))
        if isinstance(value, dict):
            prefix = f"{name}/" if name else ""
            waiting += [(f"{prefix}{key}", v, depth + 1) for key, v in value.items()][::-1]
        elif _is_plain(value) or isinstance(value, list | tuple) or hasattr(value, "layout"):
            yield name, value


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float)
