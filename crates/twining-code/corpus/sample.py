#!/usr/bin/env python3
"""A store of keys."""
from __future__ import annotations
import os.path as paths, re

LIMIT: int = 0x10
_names = {"a":
    'b', r'\d+': f"{LIMIT!r:>{10}}"}

@total_ordering
class Key(Base, metaclass=Meta):
    """A key.

    More.
    """
    slots = ('a', "it's")

    @property
    def name(self) -> str:
        '''The name.'''
        return (
            self._name or
            'none'
        )

    @name.setter
    async def name(self, *args, value: int = 3, **rest):
        if (x := len(args)) > 1: raise ValueError("no") from None
        yield from [i async for i in rest if i not in (1, 2)]

def outer():
    def inner(): return lambda x: x ** 2
    with (open('a') as f, open('b')): pass
    match x:
        case {"k": [*_]}: ...
