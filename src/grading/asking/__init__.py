"""What the classes of questions/ share: how a submission is asked about each part.

Mixins beside GradedTestCase, one for each of the student's modules. Methods named `expect_...`
assert for basic tests; the others return what was observed, for staff's judge.
"""

from .attention import AsksAttention
from .blocks import AsksBlocks
from .corruption import AsksCorruption
from .files import AsksFiles
from .heads import AsksHeads
from .helper import AsksHelper
from .projections import AsksProjections
from .rotary import AsksRotary
from .synthesizer import AsksSynthesizer

__all__ = [
    "AsksAttention",
    "AsksBlocks",
    "AsksCorruption",
    "AsksFiles",
    "AsksHeads",
    "AsksHelper",
    "AsksProjections",
    "AsksRotary",
    "AsksSynthesizer",
]
