"""Generate a data set: a corpus about fictional people, and questions about their birth places.

    python -m tools.world [--seed N] [--people N]                   (make world)

Writes wiki.txt, the tables of train, dev, test and unseen people, and dataset.json to src/data/,
and the test split's answers and the seed to solutions/data/. The same seed gives the same bytes on
every platform and Python version; a new one makes the old answers worthless. Without --seed, a new
seed of 64 bits is drawn, so that nobody reuses last year's answers by mistake. --seed generates an
earlier data set again, from the number in solutions/data/seed.txt. Small seeds are rejected: anyone
with wiki.txt and these tools could find one by brute force, and with it the answers. Only `smoke`,
for tests, accepts any.

If there is a data set already, --force is needed to generate a new one. The old answers, seed and
grading secret are never lost: they move to solutions/data/archive/DATE/.

Names, places and sentences come from `tools/wordlists/`: texts in UTF-8 with one entry per line;
empty lines and lines that start with # are ignored. A name gives no clue to the birth place: only
the sentences of wiki.txt state it. Each person of train, dev and test occurs in wiki.txt and in the
tables of one split; the 50 unseen people occur in no other file.

Exit codes: 0 done; 2 bad input, and nothing was changed.
"""

import hashlib
import heapq
import itertools
import secrets
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from autograder.description import REPO, UsageError, load_assignment

from . import datafiles
from .arguments import OneLineParser, one_of, whole_number, with_one_line_errors
from .datafiles import as_lines, question

# The number of cities in a data set. London gets twice a city's fair share: 4 % with 50 cities.
# The smoke world is too small for that; with its ten cities, London has 20 %.
CITIES = {"world": 50, "smoke": 10}
SEED_BITS = 64  # of a seed that is drawn
LEAST_SEED = 2**32  # one process tries 50,000 per second: all smaller ones in a day
ANY_SEED = ("smoke",)  # data sets for tests, whose answers are nobody's secret
# With fewer, a sentence may stay unused, or a character that 50 unseen names need.
LEAST_PEOPLE = 30
# The share of the city of rank r falls as 1 / (r + 18) (Zipf-Mandelbrot): with 50 cities the first
# then has twice the average, 4 %, and the last half of it. Plain 1 / r would give the first 22 %.
RANK_OFFSET = 18
FIRST_YEAR, YEARS = 1815, 101
WORDLISTS = Path(__file__).resolve().parent / "wordlists"
LINES_A_PERSON = 4
WORD = 1 << 64
Item = TypeVar("Item")


class Draws:
    """A stream of random draws that are the same on every platform and in every Python.

    `random.Random` promises that only for `random()`. So these come from SHA-256 in counter mode:
    block i of a stream is the hash of "seed/stream/i", cut into four 64-bit numbers. Streams of
    different names are independent.
    """

    def __init__(self, seed: int, stream: str) -> None:
        self._words = (
            int.from_bytes(block[i : i + 8], "big")
            for number in itertools.count()
            for block in [hashlib.sha256(f"{seed}/{stream}/{number}".encode("ascii")).digest()]
            for i in (0, 8, 16, 24)
        )

    def below(self, limit: int) -> int:
        """Return a number in 0 .. limit - 1, each equally likely; `limit` is at most 2**64."""
        fair = WORD - WORD % limit  # greater words would favour the small remainders
        return next(word for word in self._words if word < fair) % limit

    def one_of(self, items: Sequence[Item]) -> Item:
        """Return one of `items`, each equally likely."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """Return `items` in random order (Fisher-Yates)."""
        result = list(items)
        for last in range(len(result) - 1, 0, -1):
            other = self.below(last + 1)
            result[last], result[other] = result[other], result[last]
        return result


class Words(NamedTuple):
    """All word lists; a field is the name of its file. No list has an entry twice.

    Attributes:
        first_names, last_names: names without spaces. Ignoring case, no first name is the ending
            and no last name the beginning of another, so no full name is part of another.
        cities: birth places, London first.
        occupations: with their article ("an actor").
        places: further places, none of them a birth place.
        templates: sentences with {name} and {city}, and some with {year}, {job}, {a_job} or
            {place}; their number is a multiple of LINES_A_PERSON, and they contain all letters of
            a question.
    """

    first_names: tuple[str, ...]
    last_names: tuple[str, ...]
    cities: tuple[str, ...]
    occupations: tuple[str, ...]
    places: tuple[str, ...]
    templates: tuple[str, ...]

    @property
    def full_names(self) -> list[str]:
        """Every first name with every last name."""
        return [f"{first} {last}" for first in self.first_names for last in self.last_names]


def load_words() -> Words:
    """Read all word lists; raise UsageError if one can't be read."""
    lists = []
    for name in Words._fields:
        path = WORDLISTS / f"{name}.txt"
        try:
            rows = path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{path}: can't be read: {error}") from error
        lists.append(tuple(row for row in rows if row.strip() and not row.startswith("#")))
    return Words(*lists)


def unseen_table(names: Iterable[str], corpus: str, known: Iterable[str], advice: str) -> str:
    """Return a table of 50 people with unused names in the corpus's characters; or UsageError."""
    taken, vocabulary = "\n".join([corpus, *known]), set(corpus)
    unused = (name for name in names if vocabulary.issuperset(name) and name not in taken)
    unseen = list(itertools.islice(unused, datafiles.UNSEEN_PEOPLE))
    if len(unseen) < datafiles.UNSEEN_PEOPLE:
        raise UsageError(
            f"wiki.txt has the characters of only {len(unseen)} unused names, expected "
            f"{datafiles.UNSEEN_PEOPLE}: {advice}"
        )
    return as_lines([question(name) for name in unseen])


def make_world(seed: int, people: int | None = None, dataset: str = "world") -> dict[str, str]:
    """Generate a data set; return the text of each file, by its path.

    Args:
        seed: 0 or more.
        people: how many in all splits together; by default, as many as assignment.toml says.
        dataset: a key of CITIES.

    Raises:
        UsageError: too few or too many people, or word lists that can't be used.
    """
    words = load_words()
    splits = split_sizes(dataset, people)
    everyone = Draws(seed, "names").shuffled(words.full_names)
    total, most = sum(splits.values()), len(everyone) // 2
    if not LEAST_PEOPLE <= total <= most:
        raise UsageError(
            f"got {total} people, expected {LEAST_PEOPLE} to {most}"
            f" (tools/wordlists/ gives {len(everyone)} names, half of which must stay unused)"
        )
    names = iter(everyone)
    london, *others = words.cities
    ranked = [london, *Draws(seed, "ranks").shuffled(others)][: CITIES[dataset]]
    folk = {
        split: make_people(
            list(itertools.islice(names, size)),
            allotted_cities(ranked, size),
            words,
            Draws(seed, f"facts of {split}"),
        )
        for split, size in splits.items()
    }
    members = [person for group in folk.values() for person in group]
    wiki = as_lines(write_sentences(members, words.templates, Draws(seed, "sentences")))
    answered = {
        split: as_lines([f"{question(person['name'])}\t{person['city']}" for person in group])
        for split, group in folk.items()
    }
    return {
        datafiles.WIKI: wiki,
        datafiles.TRAIN: answered["train"],
        datafiles.DEV: answered["dev"],
        datafiles.TEST_INPUTS: as_lines([question(person["name"]) for person in folk["test"]]),
        datafiles.UNSEEN_INPUTS: unseen_table(
            names, wiki, (), "ask for more people, or lengthen the word lists"
        ),
        datafiles.TEST_ANSWERS: answered["test"],
        datafiles.SEED: f"{seed}\n",
        datafiles.DATASET: datafiles.dataset_json(dataset),
    }


def split_sizes(dataset: str, people: int | None = None) -> dict[str, int]:
    """Return how many people are in train, dev and test, in the ratio of assignment.toml."""
    known = load_assignment(REPO).tables.datasets
    if dataset not in known:
        raise UsageError(f"assignment.toml: expected a table [datasets.{dataset}], found none")
    splits, total = known[dataset].splits, known[dataset].people
    if total is None:
        raise UsageError(f"assignment.toml: [datasets.{dataset}] has no people: it isn't generated")
    people = total if people is None else people
    dev, test = people * splits.dev // total, people * splits.test // total
    return {"train": people - dev - test, "dev": dev, "test": test}


def allotted_cities(ranked: list[str], people: int) -> list[str]:
    """Return a birth place for each of `people` people, grouped by city.

    The numbers are allotted, not drawn. London, the first, has twice the average, rounded up. The
    others share the rest by Sainte-Lague's rule: the next person goes to the city with the greatest
    weight / (2 * count + 1), where the weight is 1 / (rank + RANK_OFFSET). They stay below London
    where that leaves room for everyone, else at most equal it.
    """
    cities = len(ranked)
    london = -(-2 * people // cities)
    rest = people - london
    limit = london - 1 if (london - 1) * (cities - 1) >= rest else london
    counts = [london] + [0] * (cities - 1)
    # The greatest quotient is the least denominator, a whole number; ties go to the lower rank.
    queue = [(rank + 1 + RANK_OFFSET, rank) for rank in range(1, cities)]
    while rest:
        _, rank = heapq.heappop(queue)
        counts[rank] += 1
        rest -= 1
        if counts[rank] < limit:
            heapq.heappush(queue, ((rank + 1 + RANK_OFFSET) * (2 * counts[rank] + 1), rank))
    return [city for city, count in zip(ranked, counts, strict=True) for _ in range(count)]


def make_people(
    names: list[str], cities: list[str], words: Words, draws: Draws
) -> list[dict[str, str]]:
    """Return what templates may say of each name: one of `cities`, and other facts, all drawn."""
    people = []
    for name, city in zip(names, draws.shuffled(cities), strict=True):
        occupation = draws.one_of(words.occupations)
        facts = {"a_job": occupation, "job": occupation.split(" ", 1)[1]}
        facts |= {"place": draws.one_of(words.places), "year": str(FIRST_YEAR + draws.below(YEARS))}
        people.append({"name": name, "city": city} | facts)
    return people


def write_sentences(
    people: list[dict[str, str]], templates: tuple[str, ...], draws: Draws
) -> list[str]:
    """Return the corpus's lines in random order: for each person distinct sentences.

    Example: "{city}-born {name} was {a_job}." -> "Lima-born Zoë Falk was an actor."

    Sentences are dealt from a shuffled deck of all templates, which is shuffled again once it is
    used up: so all templates are about equally common.
    """
    deck: list[str] = []
    rows = []
    for person in people:
        deck = deck or draws.shuffled(templates)
        rows += [template.format(**person) for template in deck[:LINES_A_PERSON]]
        deck = deck[LINES_A_PERSON:]
    return draws.shuffled(rows)


@with_one_line_errors
def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit code (0, or 2 for an impossible request)."""
    parser = OneLineParser("python -m tools.world", __doc__)
    parser.add_argument(
        "--seed",
        type=whole_number,
        help="seed of a data set to generate again, 2^32 or more (default: a new, secret one)",
    )
    parser.add_argument(
        "--people", type=whole_number, help="how many people in all splits (default: 400)"
    )
    parser.add_argument(
        "--dataset", type=one_of(sorted(CITIES)), default="world", help="its kind (default: world)"
    )
    parser.add_argument(
        "--force", action="store_true", help="replace an existing data set with a new one"
    )
    parser.add_argument("--out", type=Path, default=REPO, metavar="ROOT", help=datafiles.OUT_HELP)
    options = parser.parse_args(arguments)
    seed = options.seed
    if seed is None:
        if not options.force:
            refuse_existing(options.out)
        seed = secrets.randbits(SEED_BITS)
    elif seed < LEAST_SEED and options.dataset not in ANY_SEED:
        raise UsageError(
            f"got the seed {seed}, expected 2^32 or more: a smaller one can be found by brute "
            "force, and with it the answers; without --seed, one is drawn"
        )
    texts = make_world(seed, options.people, options.dataset)
    print("\n".join(datafiles.install(options.out, options.dataset, texts)))
    return 0


def refuse_existing(root: Path) -> None:
    """Raise UsageError if a new data set would replace a term's, or what is left of one."""
    for name in (datafiles.DATASET, datafiles.TEST_ANSWERS, datafiles.SEED):
        if (root / name).exists():
            raise UsageError(
                f"there is a data set already ({name}): make world FORCE=1 (--force) replaces it "
                "with a new one, SEED=... (--seed) with one from a known seed"
            )


if __name__ == "__main__":
    sys.exit(main())
