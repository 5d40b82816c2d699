"""Figures that a reader can touch: each a module and its scripts, all of them beside it.

What they share is ``chapters.live.figure``. A new one touches no other file.
"""
