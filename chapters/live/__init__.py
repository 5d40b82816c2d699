"""Figures that a reader can touch: each a module and its scripts, all of them beside it.

What they share is ``utils.live``. A new one touches no other file.
"""
