"""Charts as SVG, the same bytes on every machine: coordinates are rounded, fonts are the reader's.

A panel is 360 units wide, so that its text can be read on a phone. Colours come from style sheets
(STYLE), for light and dark; every series has a shape of its own as well."""

import dataclasses
import html
import math

WIDTH, PLOT_TOP, PLOT_HEIGHT, LEFT, RIGHT = 360, 30, 190, 58, 12
LEGEND_LINE, CHARACTER = 18, 6.8  # height of a legend's line; width of a character, generously
SERIES_COLOURS = 8
DASHES = ("5 4", "1 3", "9 3 2 3")  # of level lines
STYLE = """
svg.chart { --ink: #1c1e21; --faint: #d7d9dd; --paper: #ffffff; --s0: #0b62a4; --s1: #c2410c;
  --s2: #15803d; --s3: #9333a8; --s4: #8a6d00; --s5: #0f7f8c; --s6: #b01a57; --s7: #555b66;
  font-family: system-ui, sans-serif; font-size: 12px; }
svg.chart text { fill: var(--ink); }
svg.chart .title { font-weight: 600; font-size: 13px; }
svg.chart .grid { fill: none; stroke: var(--faint); stroke-width: 1; }
svg.chart .axis { fill: none; stroke: var(--ink); stroke-width: 1; }
svg.chart .reference { fill: none; stroke: var(--ink); stroke-width: 1.2; opacity: .7; }
svg.chart .line { fill: none; stroke-width: 1.7; }
svg.chart .mark { stroke: var(--paper); stroke-width: .8; }
svg.chart .bar { stroke-width: 1.5; fill: none; }
@media (prefers-color-scheme: dark) { svg.chart { --ink: #e6e7ea; --faint: #3c4048; --paper: #16181c;
  --s0: #6ab4f0; --s1: #ff9a62; --s2: #63c98a; --s3: #d79be6; --s4: #e0c14b; --s5: #5fd0dd; --s6: #ff86b3;
  --s7: #aab0bb; } }
""" + "".join(f"svg.chart .s{i} {{ stroke: var(--s{i}); }} svg.chart .mark.s{i} "
              f"{{ fill: var(--s{i}); stroke: var(--paper); }}\n" for i in range(SERIES_COLOURS))


@dataclasses.dataclass(frozen=True)
class Point:
    """`low` and `high` are the ends of its interval, if it has one."""

    x: float
    y: float
    low: float = None
    high: float = None


@dataclasses.dataclass(frozen=True)
class Series:
    label: str
    points: tuple
    joined: bool = True


@dataclasses.dataclass(frozen=True)
class Axis:
    """`names`: labels of the whole numbers from 0, for what is no quantity."""

    label: str
    log: bool = False
    names: tuple = ()


@dataclasses.dataclass(frozen=True)
class Panel:
    """`references`: (label, y) of level lines."""

    title: str
    x: Axis
    y: Axis
    series: tuple
    references: tuple = ()


def number(value):
    """Short, for an axis: 0.05, 3, 4,000, 2e9."""
    if value == 0:
        return "0"
    if abs(value) >= 1e5 or abs(value) < 1e-3:
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{mantissa.removesuffix('.0')}e{int(exponent)}"
    text = f"{value:,.4f}".rstrip("0").rstrip(".")
    return text


def at(value):
    """A coordinate."""
    return f"{value:.1f}".removesuffix(".0")


def linear_ticks(low, high):
    """About five round numbers."""
    raw = (high - low) / 5
    magnitude = 10 ** math.floor(math.log10(raw))
    step = next(factor * magnitude for factor in (1, 2, 5, 10) if factor * magnitude >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [step * i for i in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low, high):
    """Powers of ten, with 2 and 5 between where there are few; round numbers within a decade."""
    if high / low < 8:
        return [tick for tick in linear_ticks(low, high) if tick > 0]
    factors = (1,) if math.log10(high / low) > 2.5 else (1, 2, 5)
    ticks = [factor * 10.0 ** power
             for power in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
             for factor in factors]
    ticks = [tick for tick in ticks if low * 0.999 <= tick <= high * 1.001]
    while len(ticks) > 6:
        ticks = ticks[::2]
    return ticks


class Scale:
    """From values to coordinates between `start` and `end`."""

    def __init__(self, axis, values, start, end, keep):
        self.axis, self.start, self.end = axis, start, end
        if axis.names:
            self.low, self.high = -0.5, len(axis.names) - 0.5
        elif axis.log:
            margin = max((max(values) / min(values)) ** 0.05, 1.02)
            self.low, self.high = min(values) / margin, max(values) * margin
        else:
            self.low, self.high = min([*values, *keep]), max([*values, *keep])
            margin = (self.high - self.low or abs(self.high) or 1) * 0.05
            self.low -= 0 if self.low in keep else margin
            self.high += margin

    def __call__(self, value):
        if self.axis.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self):
        """(value, label)."""
        if self.axis.names:
            return list(enumerate(self.axis.names))
        find = log_ticks if self.axis.log else linear_ticks
        return [(tick, number(tick)) for tick in find(self.low, self.high)]


def shape(kind, x, y):
    """One of eight shapes around a place, as the attributes of a path."""
    r = 4.2
    corners = {
        1: [(-1, -1), (1, -1), (1, 1), (-1, 1)], 2: [(0, -1.2), (1.1, 0.9), (-1.1, 0.9)],
        3: [(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)], 4: [(0, 1.2), (1.1, -0.9), (-1.1, -0.9)],
        5: [(-1.3, -0.5), (1.3, -0.5), (1.3, 0.5), (-1.3, 0.5)],
        6: [(-0.5, -1.3), (0.5, -1.3), (0.5, 1.3), (-0.5, 1.3)],
        7: [(-1.2, 0), (1, -1.1), (1, 1.1)]}.get(kind)
    if corners is None:
        return (f"M{at(x - r)} {at(y)}a{at(r)} {at(r)} 0 1 0 {at(2 * r)} 0"
                f"a{at(r)} {at(r)} 0 1 0 {at(-2 * r)} 0z")
    return "M" + "L".join(f"{at(x + r * 0.9 * dx)} {at(y + r * 0.9 * dy)}" for dx, dy in corners) + "z"


def text(x, y, content, anchor="start", extra=""):
    return f'<text x="{at(x)}" y="{at(y)}" text-anchor="{anchor}"{extra}>{html.escape(content)}</text>'


class Drawing:
    """The lines of one panel's SVG."""

    def __init__(self, panel):
        self.panel, self.lines = panel, []
        points = [point for series in panel.series for point in series.points]
        heights = [y for point in points for y in (point.y, point.low, point.high) if y is not None]
        heights += [y for _, y in panel.references]
        if panel.y.log:  # the end of an interval that no logarithm has is cut
            heights = [y for y in heights if y > 0]
        self.bottom, self.crowded = PLOT_TOP + PLOT_HEIGHT, False
        self.x = Scale(panel.x, [point.x for point in points], LEFT, WIDTH - RIGHT, ())
        self.y = Scale(panel.y, heights, self.bottom, PLOT_TOP, (0.0,))

    def axes(self):
        add, panel = self.lines.append, self.panel
        add(text(8, 16, panel.title, extra=' class="title"'))
        for value, label in self.y.ticks():
            y = self.y(value)
            add(f'<path class="grid" d="M{LEFT} {at(y)}H{WIDTH - RIGHT}"/>')
            add(text(LEFT - 5, y + 4, label, "end"))
        ticks = self.x.ticks()
        room = (WIDTH - LEFT - RIGHT) / len(ticks)
        self.crowded = any(CHARACTER * len(label) > room for _, label in ticks)
        for index, (value, label) in enumerate(ticks):  # every other one lower if they do not fit
            lower = 13 if self.crowded and index % 2 else 0
            add(text(self.x(value), self.bottom + 16 + lower, label, "middle"))
        add(f'<path class="axis" d="M{LEFT} {PLOT_TOP}V{self.bottom}H{WIDTH - RIGHT}"/>')
        below = self.bottom + (46 if self.crowded else 34)
        add(text((LEFT + WIDTH - RIGHT) / 2, below, panel.x.label, "middle"))
        middle = PLOT_TOP + PLOT_HEIGHT / 2
        add(text(10, middle, panel.y.label, "middle", f' transform="rotate(-90 10 {at(middle)})"'))

    def references(self):
        for (_, value), dash in zip(self.panel.references, DASHES):
            y = self.y(value)
            self.lines.append(f'<path class="reference" stroke-dasharray="{dash}" '
                              f'd="M{LEFT} {at(y)}H{WIDTH - RIGHT}"/>')

    def shift(self, index):
        """Beside each other where several series stand over one name and have no lines."""
        if not self.panel.x.names or any(series.joined for series in self.panel.series):
            return 0
        step = min(16.0, 0.8 * (WIDTH - LEFT - RIGHT) / len(self.panel.x.names) / len(self.panel.series))
        return (index - (len(self.panel.series) - 1) / 2) * step

    def interval(self, point, x, colour):
        low, high = self.y(max(point.low, self.y.low)), self.y(min(point.high, self.y.high))
        self.lines.append(f'<path class="bar {colour}" d="M{at(x)} {at(low)}V{at(high)}'
                          f'M{at(x - 3)} {at(low)}h6M{at(x - 3)} {at(high)}h6"/>')

    def series(self, index, series):
        colour = f"s{index % SERIES_COLOURS}"
        places = [(self.x(point.x) + self.shift(index), self.y(point.y)) for point in series.points]
        if series.joined and len(places) > 1:
            line = "L".join(f"{at(x)} {at(y)}" for x, y in places)
            self.lines.append(f'<path class="line {colour}" d="M{line}"/>')
        for point, (x, y) in zip(series.points, places):
            if point.low is not None:
                self.interval(point, x, colour)
        if len(places) <= 20:
            for x, y in places:
                self.lines.append(f'<path class="mark {colour}" d="{shape(index % SERIES_COLOURS, x, y)}"/>')

    def key(self, kind, index, x, y):
        """What stands before a label of the legend."""
        if kind == "reference":
            return (f'<path class="reference" stroke-dasharray="{DASHES[index]}" '
                    f'd="M{at(x)} {at(y - 4)}h14"/>')
        colour = f"s{index % SERIES_COLOURS}"
        return (f'<path class="line {colour}" d="M{at(x)} {at(y - 4)}h14"/>'
                f'<path class="mark {colour}" d="{shape(index % SERIES_COLOURS, x + 7, y - 4)}"/>')

    def legend(self):
        """Below the plot, in as many lines as it needs; returns the height of all."""
        x, y = LEFT, self.bottom + (66 if self.crowded else 54)
        labels = [("series", index, series.label) for index, series in enumerate(self.panel.series)]
        labels += [("reference", index, label) for index, (label, _) in enumerate(self.panel.references)]
        for kind, index, label in labels:
            width = 26 + CHARACTER * len(label)
            if x > LEFT and x + width > WIDTH:
                x, y = LEFT, y + LEGEND_LINE
            self.lines += [self.key(kind, index, x, y), text(x + 18, y, label)]
            x += width
        return math.ceil(y + 10)


def draw(panel):
    """(lines of SVG, height) of a panel that has a point at least."""
    drawing = Drawing(panel)
    drawing.axes()
    drawing.references()
    for index, series in enumerate(panel.series):
        drawing.series(index, series)
    return drawing.lines, drawing.legend()


def inline(panel):
    """A panel for a page that has STYLE."""
    lines, height = draw(panel)
    return "\n".join([f'<svg class="chart" viewBox="0 0 {WIDTH} {height}" role="img" '
                      f'aria-label="{html.escape(panel.title)}">', *lines, "</svg>"])


def standalone(panels):
    """Panels beside each other, as a file."""
    drawn = [draw(panel) for panel in panels]
    height = max(height for _, height in drawn)
    width = WIDTH * len(panels)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {width} {height}" '
             f'width="{width}" height="{height}">', f"<style>{STYLE}</style>",
             f'<rect width="{width}" height="{height}" style="fill: var(--paper)"/>']
    for index, (body, _) in enumerate(drawn):
        lines += [f'<g transform="translate({WIDTH * index} 0)">', *body, "</g>"]
    return "\n".join([*lines, "</svg>"]) + "\n"
