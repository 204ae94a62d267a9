"""Invented students, some with names that are difficult for programs."""

import random
from dataclasses import dataclass

FIRST = """Amina Bram Chiara Dmitri Elif Farah Goran Hana Ikram Jonas Kofi Lucía Mina
Noor Oskar Priya Quentin Rosa Sofía Tariq Ursula Valentina Wanjiru Xiomara Yusuf Zoë""".split()
LAST = """Abebe Bianchi Castro Dubois Eriksen Fischer García Haddad Ivanova Jensen
Kowalski Lindqvist Moreau Nakamura Okafor Petrov Quispe Rossi Schmidt Tanaka Ueda Vargas
Weber Xu Yıldız Zeman""".split()
# In the order in which they are used, so small classes have the first ones.
ODD = (
    "عمر الخطيب",
    "Byron, Ada",
    "=HYPERLINK(1)",
    "李 小龙",
    "Null",
    'O\'Brien: "Bob" #1',
    "Søren Ångström",
    "Zoe\u0301 Decomposed",
    "mononym",
    "ด.ช. สมชาย ใจดี",
    "Юлия Ёлкина",
    "- Dash",
    "<b>Bold</b> & Sons",
    "👩‍🔬 Emoji",
    "N" * 300,
)
TWINS = "Maria Silva"  # two students have this name


@dataclass(frozen=True)
class Person:
    """A student; `number` is the platform's."""

    number: int
    name: str
    email: str
    sid: str | None


def people(count: int, rng: random.Random) -> list[Person]:
    """Return students: two with the same name, some unusual names, some without a student ID."""
    names = [TWINS, TWINS, *ODD][:count]
    while len(names) < count:
        names.append(f"{rng.choice(FIRST)} {rng.choice(LAST)}")
    rng.shuffle(names)
    numbers = rng.sample(range(100_000, 999_999), count)
    return [
        Person(
            number,
            name,
            f"student{number}@example.edu",
            None if index % 13 == 12 else f"0{number}",  # the leading zero must survive
        )
        for index, (number, name) in enumerate(zip(numbers, names, strict=True))
    ]
