"""What every figure of the page has."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Figure:
    """`meaning`: how it is read and what it says; `paper`: what the paper shows in its place. `rows`
    are the numbers behind it, cells as text. `missing` names the listed runs that it lacks."""

    name: str
    title: str
    meaning: str
    paper: str
    panels: tuple = ()
    header: tuple = ()
    rows: tuple = ()
    missing: tuple = ()
    runs: tuple = ()

    def note(self, skipped=()):
        """Of what is not drawn, and why."""
        absent = [name for name in self.missing if name in skipped]
        others = [name for name in self.missing if name not in skipped]
        sentences = ["Not measured, and so not drawn: " + ", ".join(others) + "."] if others else []
        if absent:
            sentences.append("Skipped, because they need data that is not in the repository: "
                             + ", ".join(absent) + ".")
        return " ".join(sentences)


def number(value, digits=4):
    """For a table: so many significant digits, thousands apart."""
    if isinstance(value, int):
        return f"{value:,}"
    if value != 0 and (abs(value) >= 1e7 or abs(value) < 1e-4):
        return f"{value:.{digits - 1}e}"
    text = f"{value:.{digits}g}"
    return f"{float(text):,.10f}".rstrip("0").rstrip(".")


def with_interval(middle, low, high):
    if low is None:
        return number(middle)
    return f"{number(middle)} ({number(low)} to {number(high)})"
