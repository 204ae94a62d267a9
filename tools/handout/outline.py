"""Write the written questions as a table, to enter (or import) as Gradescope's outline."""

import csv
import io

from .sheet import Slot


def outline(slots: list[Slot]) -> str:
    """Return CSV with a line for each place for an answer: number, title, points."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["number", "title", "points"])
    for slot in slots:
        writer.writerow([slot.shown, slot.what, f"{slot.points.normalize():f}"])
    return text.getvalue()
