"""Bar charts as SVG, without a graphics library."""

import dataclasses
import html

WIDTH, LABEL_WIDTH, BAR_HEIGHT, GAP, TOP = 760, 300, 18, 14, 56
VALUE_WIDTH = 110
COLOURS = {"haricotd": "#1b7f5c", "floor": "#9aa5b1", "beanstalkd": "#c2703d"}


@dataclasses.dataclass(frozen=True)
class Group:
    """A label and its bars: (server, value)."""
    label: str
    bars: tuple


def bars(title, unit, groups, decimals):
    """Returns the text of an SVG file with horizontal bars that start at zero and share one scale."""
    largest = max(value for group in groups for _, value in group.bars)
    room = WIDTH - LABEL_WIDTH - VALUE_WIDTH
    servers = list(dict.fromkeys(server for group in groups for server, _ in group.bars))
    body, y = [], TOP
    for group in groups:
        height = BAR_HEIGHT * len(group.bars)
        body.append(_text(LABEL_WIDTH - 10, y + height / 2 + 4, group.label, "end"))
        for server, value in group.bars:
            width = max(1.0, room * value / largest)
            body.append(f'<rect x="{LABEL_WIDTH}" y="{y}" width="{width:.1f}" '
                        f'height="{BAR_HEIGHT - 3}" fill="{COLOURS[server]}"/>')
            body.append(_text(LABEL_WIDTH + width + 6, y + 12, f"{value:,.{decimals}f} {unit}"))
            y += BAR_HEIGHT
        y += GAP
    legend, x = [], LABEL_WIDTH
    for server in servers:
        legend.append(f'<rect x="{x}" y="34" width="10" height="10" fill="{COLOURS[server]}"/>')
        legend.append(_text(x + 15, 43, server))
        x += 110
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" '
        f'viewBox="0 0 {WIDTH} {y}" font-family="sans-serif" font-size="12" fill="#222">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="10" y="20" font-size="14" font-weight="bold">{html.escape(title)}</text>',
        *legend, *body, "</svg>", ""])


def _text(x, y, text, anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(text)}</text>'
