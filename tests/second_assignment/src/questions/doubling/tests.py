"""Doubling: what is asked, and what the basic test asserts."""

from grading.cases import GradedTestCase, graded

ANSWERS = {"answers": [int]}


class Doubling(GradedTestCase):
    topic = "doubling"

    @graded()
    def test_examples(self):
        """double(2) is 4 and double(-3) is -6"""
        got = self.doubled([2, -3])
        self.expect(
            got == [4, -6], "double is wrong", id="double.values", got=got, expected=[4, -6]
        )

    @graded(is_hidden=True)
    def test_any_number(self):
        """double is right for any number"""
        numbers = [int(n) for n in self.rng.integers(-1000, 1000, size=20)]
        self.judge(numbers=numbers, got=self.doubled(numbers))

    def doubled(self, numbers: list[int]) -> list[int]:
        return self.probe("doubling.double_each", ANSWERS, numbers=numbers)["answers"]
