"""Draws docs/images/terminal.svg for the README: an illustration in the form of what the commands print, with invented values."""

from html import escape

G, R, Q, W, B = "#4cc38a", "#ff6369", "#8b8d98", "#edeef0", "#70b8ff"


def step(at, name, by, took, bar, what, colour=W):
    """One row of the trace; the bar shows the step's share of the longest."""
    return [(f" {at:<10}", W), (f"{name:<19}", colour), (f"{by:<9}{took:<8}", W), ("█" * bar + " " * (21 - bar), R if colour == R else B), (what, W)]


LINES = [
    [("$ ", Q), ("steward task trace 7c9e6679-7425-40de-944b-e07fc1f90ae7", W)],
    [("4 steps, begun 2026-11-15T23:00:03.297668Z", Q)],
    [(f" {'at':<10}{'step':<19}{'by':<9}{'took':<8}{'':<21}what", Q)],
    step("+0.000 s", "request_submitted", "planner", "0 ms", 0, 'sources: ["orders.csv"]'),
    step("+0.004 s", "tool_called", "actor", "31 ms", 11, 'list_orders {"limit":10}: no such table', R),
    step("+0.041 s", "tool_called", "actor", "58 ms", 20, 'list_orders {"limit":10}'),
    step("+0.102 s", "answered", "planner", "0 ms", 0, "confidence: 0.9"),
    [],
    [("$ ", Q), ("steward audit verify", W)],
    [("valid", G), (" 7 entries in 2 chains", W)],
    [("signed   7 entries, by steward.log/4bad7f4f+2b34d2d3+AT2Wsl4C5WmcSeC3yQ6QsjIRNsMKuJqGbVg0CaoK/pFU", W)],
    [("payloads 1 intact, 0 erased", W)],
    [],
    [("$ ", Q), ("sed -i 's/\"limit\": 10/\"limit\": 11/' run.jsonl && steward audit verify run.jsonl", W)],
    [("JRN001", R), (" entry 2 of chain 7c9e6679-…: its content does not fit its hash. The log was changed after it was written", W)],
]
WIDTH, LINE, LEFT, TOP = 1060, 22, 24, 58
height = TOP + LINE * len(LINES) + 12
out = [
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="A task trace, and the audit that finds a changed byte">',
    f'<rect width="{WIDTH}" height="{height}" rx="10" fill="#18191b"/>',
    *(f'<circle cx="{24 + 20 * i}" cy="22" r="6" fill="{c}"/>' for i, c in enumerate(("#ff6369", "#ffca16", "#4cc38a"))),
    '<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,\'DejaVu Sans Mono\',monospace" font-size="14" xml:space="preserve">',
]
for row, spans in enumerate(LINES):
    text = "".join(f'<tspan fill="{colour}">{escape(part)}</tspan>' for part, colour in spans)
    out.append(f'<text x="{LEFT}" y="{TOP + row * LINE}">{text}</text>')
out.append("</g></svg>")
with open(__file__.replace("terminal.py", "terminal.svg"), "w", encoding="utf-8") as file:
    file.write("\n".join(out) + "\n")
