# tries: to hand in the reference as a link to one of its folders, at any level
# hands in: links
from pathlib import Path

REFUSED = r"^[\w/]+ is a link"
PLACES = {
    "submission": "submission",
    "src": ".",
    "src/submission": "submission",
    "wrapping": ".",
    "wrapping/submission": "submission",
    "wrapping/src": ".",
    "wrapping/src/submission": "submission",
}
UPLOADS = 2 * len(PLACES)


def build(upload, tree, number):
    """Each place twice: by the whole path, and by the way from there."""
    name, target = list(PLACES.items())[number // 2]
    link, solutions = upload / name, tree / "solutions"
    link.parent.mkdir(parents=True, exist_ok=True)
    up = "../" * (len(link.relative_to(upload).parts))
    link.symlink_to((Path(up) / "tree/solutions" if number % 2 else solutions) / target)
    assert link.resolve() == (solutions / target).resolve()
