"""Make an embedded data set: a corpus about fictional people, and questions on their birth places.

    python -m tools.world

writes wiki.txt, the tables of train, dev, test and unseen people, and dataset.json to src/data/,
and the test split's answers and the seed to solutions/data/. The same seed gives the same bytes on
every platform and Python; a new one makes the old answers worthless. Without --seed a fresh one of
64 bits is drawn, so that nobody installs last year's answers by forgetting it; --seed makes a world
again, from the number in solutions/data/seed.txt. Small seeds are refused: whoever has wiki.txt and
these tools would find one by trying, and with it the answers. Only `smoke`, for tests, takes any.

Where there is a data set already, a fresh world takes --force. Its answers, its seed and the
grading secret are never lost: they move to solutions/data/archive/DATE/.

Names, places and sentences come from `tools/wordlists/`. Nothing about a name tells the birth
place: only the sentences of wiki.txt do. People of train stand in wiki.txt and in train; people of
dev and test in wiki.txt and nowhere else with their answer; 50 unseen people in no other file.
"""

import heapq
import itertools
import secrets
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tools import datafiles
from tools.arguments import OneLineParser, one_of, whole_number
from tools.datafiles import DataError, as_lines, question
from tools.draws import Draws
from tools.words import LINES_A_PERSON, Words, load_words, new_names

# How many cities a data set has. 50 give London, which gets twice a city's fair share, 4 %;
# the smoke world is too small for that: there London has 20 % of ten cities.
CITIES = {"world": 50, "smoke": 10}
SEED_BITS = 64  # of a seed that is drawn
LEAST_SEED = 2**32  # one process tries 50,000 a second: all below it in a day
ANY_SEED = ("smoke",)  # data sets for tests, whose answers are nobody's secret
# Fewer people than this may not use every sentence, or all characters of 50 unseen names.
LEAST_PEOPLE = 30
# The share of the city of rank r falls as 1 / (r + 18) (Zipf-Mandelbrot): with 50 cities the first
# then has twice the average, 4 %, and the last half of it. Plain 1 / r would give the first 22 %.
RANK_OFFSET = 18
FIRST_YEAR, YEARS = 1815, 101


@dataclass(frozen=True)
class Person:
    """A fictional person and all that the corpus may say about them."""

    name: str
    city: str
    occupation: str
    place: str
    year: int


@dataclass(frozen=True)
class World:
    """A made data set: the text of each file, and what a summary tells."""

    texts: dict[str, str]
    summary: str


def make_world(seed: int, people: int | None = None, dataset: str = "world") -> World:
    """Make a data set in memory.

    Args:
        seed: 0 or more.
        people: how many, all splits together; by default as assignment.toml says.
        dataset: "world" or "smoke".

    Raises:
        DataError: too few or too many people, or unusable word lists.
    """
    words = load_words()
    splits = split_sizes(dataset, people)
    everyone = Draws(seed, "names").shuffled(words.full_names)
    wanted = sum(splits.values())
    check_people(wanted, len(everyone))
    names = iter(everyone)
    ranked = rank_cities(words, dataset, Draws(seed, "ranks"))
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
    unfamiliar = new_names(names, set(wiki), wiki)
    unseen = list(itertools.islice(unfamiliar, datafiles.UNSEEN_PEOPLE))
    if len(unseen) < datafiles.UNSEEN_PEOPLE:
        raise DataError(
            f"got only {len(unseen)} names of unseen people from the corpus's characters, expected "
            f"{datafiles.UNSEEN_PEOPLE}: ask for more people, or lengthen the word lists"
        )
    return World(file_texts(wiki, folk, unseen, seed, dataset), summarize(wiki, folk))


def check_seed(seed: int, dataset: str) -> None:
    """Refuse a seed that can be found by trying.

    Raises:
        DataError: it is too small for this data set.
    """
    if seed < LEAST_SEED and dataset not in ANY_SEED:
        raise DataError(
            f"got the seed {seed}, expected 2^32 or more: a smaller one can be found by trying, "
            "and with it the answers; leave it out, and one is drawn"
        )


def split_sizes(dataset: str, people: int | None = None) -> dict[str, int]:
    """Return how many people are in train, dev and test.

    Other numbers of people than assignment.toml's keep its ratio (4:1:1); dev and test are rounded
    down, and train has the rest.
    """
    settings = datafiles.dataset_settings(dataset)
    splits, total = settings.splits, settings.people
    if total is None:
        raise DataError(f"assignment.toml: [datasets.{dataset}] has no people: it isn't generated")
    people = total if people is None else people
    dev, test = people * splits.dev // total, people * splits.test // total
    return {"train": people - dev - test, "dev": dev, "test": test}


def check_people(people: int, names: int) -> None:
    """Refuse a number of people that there are no names for.

    Half of all names stay unused: from these come the unseen people.
    """
    if not LEAST_PEOPLE <= people <= names // 2:
        raise DataError(
            f"got {people} people, expected {LEAST_PEOPLE} to {names // 2}"
            f" (tools/wordlists/ makes {names} names, half of them are kept free)"
        )


def rank_cities(words: Words, dataset: str, draws: Draws) -> list[str]:
    """Return the data set's cities from the commonest, London, to the rarest."""
    if len(words.cities) < CITIES[dataset]:
        raise DataError(
            f"tools/wordlists/cities.txt has {len(words.cities)} cities, expected at least "
            f"{CITIES[dataset]}"
        )
    london, *others = words.cities
    return [london, *draws.shuffled(others)][: CITIES[dataset]]


def allotted_cities(ranked: list[str], people: int) -> list[str]:
    """Return a birth place for each of so many people, those of one city side by side.

    The numbers are allotted, not drawn. London has twice the average (with 50 cities 4 %), rounded
    up. The others share the rest by Sainte-Lague's rule: the next person goes to the city with the
    greatest weight / (2 * count + 1), where the weight is 1 / (rank + RANK_OFFSET). They stay below
    London where that leaves room for everyone, else at most equal it.
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


def make_people(names: list[str], cities: list[str], words: Words, draws: Draws) -> list[Person]:
    """Give each name one of `cities`, whatever the name, and the rest of a life."""
    return [
        Person(
            name,
            city,
            draws.one_of(words.occupations),
            draws.one_of(words.places),
            FIRST_YEAR + draws.below(YEARS),
        )
        for name, city in zip(names, draws.shuffled(cities), strict=True)
    ]


def write_sentences(people: list[Person], templates: tuple[str, ...], draws: Draws) -> list[str]:
    """Return the corpus's lines in random order: for each person distinct sentences.

    Sentences are dealt from a shuffled deck of all templates, four a person, and a used-up deck is
    shuffled again: all templates are about equally common, and none is left out.
    """
    deck: list[str] = []
    rows = []
    for person in people:
        deck = deck or draws.shuffled(templates)
        rows += [fill_in(template, person) for template in deck[:LINES_A_PERSON]]
        deck = deck[LINES_A_PERSON:]
    return draws.shuffled(rows)


def fill_in(template: str, person: Person) -> str:
    """Return one sentence about a person.

    Example: "{city}-born {name} was {a_job}." -> "Lima-born Zoë Falk was an actor."
    """
    return template.format(
        name=person.name,
        city=person.city,
        year=person.year,
        a_job=person.occupation,
        job=person.occupation.split(" ", 1)[1],
        place=person.place,
    )


def file_texts(
    wiki: str, folk: dict[str, list[Person]], unseen: list[str], seed: int, dataset: str
) -> dict[str, str]:
    """Return the text of each file. People are in random order within their split already."""
    answered = {
        split: as_lines([f"{question(person.name)}\t{person.city}" for person in group])
        for split, group in folk.items()
    }
    return {
        datafiles.WIKI: wiki,
        datafiles.TRAIN: answered["train"],
        datafiles.DEV: answered["dev"],
        datafiles.TEST_INPUTS: as_lines([question(person.name) for person in folk["test"]]),
        datafiles.UNSEEN_INPUTS: as_lines([question(name) for name in unseen]),
        datafiles.TEST_ANSWERS: answered["test"],
        datafiles.SEED: f"{seed}\n",
        datafiles.DATASET: datafiles.dataset_json(dataset),
    }


def summarize(wiki: str, folk: dict[str, list[Person]]) -> str:
    """Return a few lines on what was made."""
    rows = wiki.splitlines()
    sizes = ", ".join(f"{len(group)} {split}" for split, group in folk.items())
    cities = {split: Counter(person.city for person in group) for split, group in folk.items()}
    shares = ", ".join(
        f"{count['London'] / count.total():.1%} of {split}" for split, count in cities.items()
    )
    return (
        f"people   {sum(map(len, folk.values()))} ({sizes}), and {datafiles.UNSEEN_PEOPLE} unseen\n"
        f"corpus   {len(rows)} lines, {sum(map(len, rows)) / len(rows):.1f} characters a line on "
        f"average, {len(set(wiki))} different characters\n"
        f"cities   {len(set().union(*cities.values()))}; London is {shares}"
    )


def write_world(
    root: Path, seed: int, people: int | None = None, dataset: str = "world"
) -> dict[str, Path]:
    """Make a data set and write it below `root`, all files or none.

    Args: as make_world's.

    Returns:
        Each file's path relative to the root ("src/data/wiki.txt") to its place.

    Raises:
        DataError: impossible request, or the files can't be written.
    """
    world = make_world(seed, people, dataset)
    datafiles.write_all(root, world.texts)
    return {relative: root / relative for relative in world.texts}


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit code (0, or 2 for an impossible request)."""
    parser = OneLineParser("python -m tools.world", "Make the data set of fictional people.")
    parser.add_argument(
        "--seed",
        type=whole_number,
        help="that of a world to make again, 2^32 or more; by default a fresh, secret one",
    )
    parser.add_argument("--people", type=whole_number, help="all splits together; 600 by default")
    parser.add_argument("--dataset", type=one_of(sorted(CITIES)), default="world")
    parser.add_argument(
        "--force", action="store_true", help="make a fresh world in place of an existing data set"
    )
    parser.add_argument(
        "--out", type=Path, default=datafiles.REPO, metavar="ROOT", help=datafiles.OUT_HELP
    )
    options = parser.parse_args(arguments)

    def work() -> None:
        seed = secrets.randbits(SEED_BITS) if options.seed is None else options.seed
        if options.seed is not None:
            check_seed(seed, options.dataset)
        elif not options.force:
            refuse_existing(options.out)
        world = make_world(seed, options.people, options.dataset)
        moves = datafiles.archived(options.out, world.texts)
        datafiles.write_all(options.out, world.texts, moves)
        print(f"wrote the data set '{options.dataset}' below {options.out}:")
        for path in world.texts:
            print(f"  {path}")
        print("\n".join([*datafiles.told(moves), world.summary]))

    return datafiles.run_command(work)


def refuse_existing(root: Path) -> None:
    """Refuse a fresh world where a term's data set would have to go.

    Raises:
        DataError: there is one, or what only its staff have of it.
    """
    names = (datafiles.DATASET, datafiles.TEST_ANSWERS, datafiles.SEED)
    for name in names:
        if (root / name).exists():
            raise DataError(
                f"there is a data set already ({name}): make world FORCE=1 (--force) draws another "
                "world in its place, SEED=... (--seed) makes one of a known seed"
            )


if __name__ == "__main__":
    sys.exit(main())
