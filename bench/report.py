"""Formats the measurements as tables for a terminal, and as the table and the chart of docs/performance.md."""

import textwrap

import chart
from rows import (BEANSTALKD, CPU, FLOOR, HARICOT, RATE, SCENARIOS, SERVERS, TARGETS,
                  BINLOG_SCENARIOS, BINLOG_TARGETS)

BEGIN = "<!-- From here to the end mark, scripts/bench writes. -->"
END = "<!-- End of what scripts/bench writes. -->"
PROSE_WIDTH = 100  # The same as in tests/docs/layout_test.py.


def verdict(is_met):
    return "yes" if is_met else "**no**"


def number(value):
    if value is None:
        return ""
    if value >= 10_000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 100 else f"{value:.2f}"


def with_verdict(limit, is_met):
    """Returns the target of a row of the document, marked if it is missed."""
    return limit if is_met else f"**missed:** {limit}"


class Report:
    """All measurements. Cells are {(scenario, server): {metric: median}}; the other parts are lists."""

    def __init__(self, cells, figures, stalls, binlog_note, restarts, facts):
        self.cells, self.figures, self.stalls = cells, figures, stalls
        self.restarts = restarts
        self.binlog_note, self.facts = binlog_note, facts

    def value(self, cell, metric):
        return self.cells.get(cell, {}).get(metric)

    def ratio(self, target):
        """Returns the ratio of a target, or None if one of its cells was not measured."""
        part, whole = self.value(target.of, target.metric), self.value(target.to, target.metric)
        return part / whole if part is not None and whole else None

    # Tables: each has a heading and rows of words ---------------------------------------------

    def target_table(self, targets):
        rows = []
        for target in targets:
            ratio = self.ratio(target)
            if ratio is None:
                continue
            unit = "us" if target.metric == CPU else "/s"
            to = target.beside or target.to[1]
            limit, met = "", ""
            if target.limit is not None:
                limit = f"{'>=' if target.at_least else '<='} {target.limit:g}"
                met = verdict(target.is_met(ratio))
            rows.append([target.text, "CPU" if target.metric == CPU else "rate",
                         f"{number(self.value(target.of, target.metric))} {unit}",
                         f"{to}: {number(self.value(target.to, target.metric))} {unit}",
                         f"{ratio:.2f}", limit, met])
        return ["load", "metric", "haricotd", "compared with", "ratio", "target", "met"], rows

    @staticmethod
    def figure_table(figures):
        rows = [[f.text, f"{number(f.value)} {f.unit}", number(f.compared), f"<= {f.limit:.3g}",
                 verdict(f.is_met), f.note] for f in figures]
        return ["figure", "haricotd", "beanstalkd", "target", "met", "note"], rows

    def stall_table(self):
        rows = [[s.text, number(s.p999_ms), number(s.max_ms), number(s.worst_ms),
                 number(s.beyond_ms), f"{s.stolen:.1%}",
                 "" if s.text == "nothing" else verdict(s.is_met)]
                for s in self.stalls]
        return ["while", "p99.9 ms", "max ms", "worst round ms", "max beyond idle", "stolen",
                "met (< 5)"], rows

    def all_cells_table(self):
        rows = []
        for scenario in (*SCENARIOS, *BINLOG_SCENARIOS):
            for server in SERVERS:
                cell = self.cells.get((scenario.key, server))
                if cell:
                    rows.append([scenario.text, server, f"{cell[RATE]:,.0f}", f"{cell[CPU]:.2f}",
                                 f"{cell['user']:.2f}", f"{cell['system']:.2f}",
                                 f"{cell['p50']:,.0f}", f"{cell['p99']:,.0f}",
                                 f"{cell['core']:.0%}", f"{cell['client']:.0%}"])
        return ["load", "server", "commands/s", "CPU us", "user", "system", "p50 us", "p99 us",
                "core", "client"], rows

    # Outputs ----------------------------------------------------------------------------------

    def sections(self):
        yield "Targets", self.target_table(TARGETS)
        yield "Memory", self.figure_table(self.figures)
        yield "Stalls of a small client (haricotd)", self.stall_table()
        yield f"Binlog: {self.binlog_note}", self.target_table(BINLOG_TARGETS)
        yield "Restarts, and the memory of a binlog", self.figure_table(self.restarts)
        yield "All measurements (medians)", self.all_cells_table()

    def for_terminal(self):
        lines = [f"{key}: {value}" for key, value in self.facts]
        for title, (heading, rows) in self.sections():
            lines += ["", f"== {title}"]
            if not rows:
                continue
            table = [heading, *rows]
            widths = [max(len(row[i]) for row in table) for i in range(len(heading))]
            lines += ["  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip()
                      for row in table]
        return "\n".join(lines).replace("**no**", "NO")

    def document_rows(self):
        """Yields the rows of the document's table: all measurements with a target."""
        _, rows = self.target_table((*TARGETS, *BINLOG_TARGETS))
        for text, _, value, compared, ratio, limit, met in rows:
            yield [text, value, compared, ratio, with_verdict(limit, met != verdict(False))]
        for figure in (*self.figures, *self.restarts):
            unit = figure.unit
            compared = "" if figure.compared is None else (
                f"{BEANSTALKD}: {number(figure.compared)} {unit}")
            ratio = f"{figure.value / figure.compared:.2f}" if figure.compared else ""
            yield [figure.text, f"{number(figure.value)} {unit}", compared, ratio,
                   with_verdict(f"<= {figure.limit:.3g}", figure.is_met)]
        for stall in self.stalls[1:]:  # The first one is the wait on an idle server.
            yield [stall.text, f"{number(stall.max_ms)} ms",
                   f"{self.stalls[0].text}: {number(self.stalls[0].max_ms)} ms", "",
                   with_verdict("< 5 ms more", stall.is_met)]

    def for_document(self):
        heading = ["load", "haricotd", "compared with", "ratio", "target"]
        lines = [BEGIN, ""]
        for key, value in self.facts:
            lines += textwrap.wrap(f"- {key}: {value}", PROSE_WIDTH, subsequent_indent="  ",
                                   break_long_words=False, break_on_hyphens=False)
        lines += ["", "| " + " | ".join(heading) + " |", "|---" * len(heading) + "|"]
        lines += ["| " + " | ".join(row) + " |" for row in self.document_rows()]
        lines += ["", "![CPU time per command](performance-cpu.svg)", "", END]
        return "\n".join(lines)

    def charts(self):
        """Yields file name and text of each chart."""
        yield "performance-cpu.svg", self._chart(
            "CPU time per command", "us", CPU,
            (("one", "one at a time, bodies of 100 bytes"), ("16k", "bodies of 16 KB"),
             ("60k", "bodies of 60 KB"), ("batch", "batches of 64"),
             ("put", "puts in batches of 500")), 2)

    def _chart(self, title, unit, metric, scenarios, decimals):
        groups = []
        for key, label in scenarios:
            servers = [s for s in (HARICOT, FLOOR, BEANSTALKD) if (key, s) in self.cells]
            groups.append(chart.Group(label, tuple((s, self.cells[key, s][metric])
                                                   for s in servers)))
        return chart.bars(title, unit, groups, decimals)


def replace_section(document, section):
    """Returns the document with a new section between the marks."""
    before, begin, rest = document.partition(BEGIN)
    _, end, behind = rest.partition(END)
    if not begin or not end:
        raise ValueError("the document has no marks for the tables")
    return before + section + behind
