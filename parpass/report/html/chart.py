"""The timeline as a chart that Bokeh draws in the page.

Bokeh's script goes into the file, so that the page needs no network. It is an extra:
`parpass[report]`. Without it the page has no timeline, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Slices(NamedTuple):
    """Slices of time, by columns of equal length.

    `track` has indices, `start` and `stop` seconds from the start of the run;
    `function` is empty for a slice of none.
    """

    track: list[int]
    start: list[float]
    stop: list[float]
    name: list[str]
    function: list[str]


_TRACK_HEIGHT = 34  # pixels
_GREY = "#808a99"  # to be seen on white and on black
_OPENED = """
const row = source.selected.indices[0];
const name = row === undefined ? "" : source.data["function"][row];
source.selected.indices = [];
if (name) document.dispatchEvent(new CustomEvent("parpass:function", {detail: name}));
"""


def chart(tracks: Sequence[str], slices: Slices) -> dict[str, Any]:
    """Return a chart of slices, as a Bokeh item, and its legend; both are plain data.

    `tracks` are names, the topmost first.

    Raises:
        ModuleNotFoundError: There is no Bokeh.
    """
    # An extra, which no run needs.
    from bokeh import embed, models, palettes, plotting

    names = list(dict.fromkeys(slices.name))
    colours = palettes.Category20[20]
    colour_of = {name: colours[at % len(colours)] for at, name in enumerate(names)}
    rows = [-at for at in slices.track]
    source = models.ColumnDataSource(
        {
            "left": slices.start,
            "right": slices.stop,
            "top": [row + 0.42 for row in rows],
            "bottom": [row - 0.42 for row in rows],
            "ms": [
                (stop - start) * 1e3
                for start, stop in zip(slices.start, slices.stop, strict=True)
            ],
            "name": slices.name,
            "function": slices.function,
            "colour": [colour_of[name] for name in slices.name],
        }
    )
    drawn = plotting.figure(
        sizing_mode="stretch_width",
        height=90 + _TRACK_HEIGHT * len(tracks),
        tools="xpan,reset",
        active_drag="xpan",
        x_axis_label="seconds",
        y_range=models.Range1d(start=-len(tracks) + 0.4, end=0.6),
        toolbar_location="above",
    )
    glyphs = drawn.quad(
        "left", "right", "top", "bottom", source=source, color="colour", line_width=0
    )
    glyphs.nonselection_glyph = None
    tips = [("", "@name"), ("function", "@function"), ("", "@ms{0.000} ms")]
    zoom = models.WheelZoomTool(dimensions="width")
    drawn.add_tools(models.HoverTool(tooltips=tips), models.TapTool(), zoom)
    drawn.toolbar.active_scroll = zoom
    drawn.yaxis.ticker = models.FixedTicker(ticks=[-at for at in range(len(tracks))])
    drawn.yaxis.major_label_overrides = {-at: one for at, one in enumerate(tracks)}
    drawn.toolbar.logo = None
    drawn.ygrid.visible = False
    # The page is light or dark, and the chart is drawn on it.
    drawn.background_fill_alpha = drawn.border_fill_alpha = 0.0
    drawn.outline_line_color = None
    drawn.xgrid.grid_line_alpha = 0.3
    for axis in drawn.axis:
        axis.axis_label_text_color = axis.major_label_text_color = _GREY
        axis.axis_line_color = axis.major_tick_line_color = _GREY
        axis.minor_tick_line_color = None
    opened = models.CustomJS(args={"source": source}, code=_OPENED)
    source.selected.js_on_change("indices", opened)
    legend = [{"name": name, "colour": colour} for name, colour in colour_of.items()]
    return {"item": embed.json_item(drawn), "legend": legend}


def chart_script() -> str:
    # As above.
    from bokeh.resources import Resources

    return "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)
