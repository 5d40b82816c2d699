"""What a reader calls to test what they wrote: one check for each exercise.

A check runs an obvious specification on seeded inputs and returns "Right." or, starting with "Not
yet:", one sentence that says what is wrong. Each module names its checks in ``__all__``.
"""
# ruff: noqa: F403

from utils.checks.a1 import *
from utils.checks.a2 import *
from utils.checks.a3 import *
from utils.checks.a4 import *
from utils.checks.ch01 import *
from utils.checks.ch02 import *
from utils.checks.ch03 import *
from utils.checks.ch04 import *
from utils.checks.ch05 import *
from utils.checks.ch06 import *
from utils.checks.ch07 import *
from utils.checks.ch08 import *
from utils.checks.ch09 import *
from utils.checks.ch10 import *
from utils.checks.ch11 import *
from utils.checks.ch12 import *
from utils.checks.ch13 import *
from utils.checks.ch14 import *
from utils.checks.ch15 import *
from utils.checks.ch16 import *
from utils.checks.ch17 import *
from utils.checks.ch18 import *
