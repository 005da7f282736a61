"""`functools.cached_property` without the lock that it takes before Python 3.12, which costs more than most values."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:  # noqa: N801
        """Computes the value of an attribute when it is first read."""

        def __init__(self, compute):
            self._compute = compute
            self.__doc__ = compute.__doc__

        def __set_name__(self, owner, name):
            self._name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            value = self._compute(instance)
            # Not through `__dict__`, which would make every other attribute of the object slower; frozen ones are set, too.
            object.__setattr__(instance, self._name, value)
            return value


__all__ = ["cached_property"]
