"""Draws how often answers are wrong against how many are given, as SVG, with nothing but the standard library."""

COLOURS = {
    "people": "#b5482a",
    "wikisql": "#2a6fb5",
    "spider": "#2f8f4e",
    "wikitables": "#8a5fb0",
    "ambrosia": "#c09020",
}
WIDTH, HEIGHT, LEFT, TOP = 420, 300, 52, 34


def axes(x, title, across, up):
    lines = [f'<text x="{x + LEFT}" y="20" font-weight="600">{title}</text>']
    for step in range(0, 11, 2):
        px, py = x + LEFT + WIDTH * step / 10, TOP + HEIGHT * (1 - step / 10)
        lines.append(f'<line x1="{px}" y1="{TOP}" x2="{px}" y2="{TOP + HEIGHT}" stroke="#e4e4e4"/>')
        lines.append(f'<line x1="{x + LEFT}" y1="{py}" x2="{x + LEFT + WIDTH}" y2="{py}" stroke="#e4e4e4"/>')
        lines.append(f'<text x="{px}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{step * 10} %</text>')
        lines.append(f'<text x="{x + LEFT - 6}" y="{py + 4}" text-anchor="end">{step * 10} %</text>')
    lines.append(
        f'<text x="{x + LEFT + WIDTH / 2}" y="{TOP + HEIGHT + 36}" text-anchor="middle">{across}</text>'
    )
    lines.append(f'<text x="{x + LEFT + 6}" y="{TOP + 14}" fill="#666">{up}</text>')
    return lines


def path(points, x, colour):
    at = [f"{x + LEFT + WIDTH * a:.1f},{TOP + HEIGHT * (1 - b):.1f}" for a, b in points]
    return f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{" ".join(at)}"/>'


def draw(file, sets, stated, right, capped, sure):
    """`stated` are probabilities, `right` whether it was so, `capped` what is never called sure."""
    body = axes(0, "Risk against coverage", "answers given, the surest first", "wrong among them")
    below = axes(520, "Stated against happened", "stated probability", "right")
    body += below + [path([(0, 0), (1, 1)], 520, "#bbbbbb")]
    names = [name for name in COLOURS if (sets == name).any()]
    for row, name in enumerate(names):
        own = sets == name
        cases = sorted(zip(capped[own], -stated[own], right[own]))
        points, wrong = [], 0
        for at, (_, _, ok) in enumerate(cases, 1):
            wrong += 1 - ok
            if at >= 8:
                points.append((at / len(cases), wrong / at))
        body.append(path(points, 0, COLOURS[name]))
        called = [ok for cap, low, ok in cases if not cap and -low >= sure]
        if called:
            a, b = len(called) / len(cases), 1 - sum(called) / len(called)
            body.append(
                f'<circle cx="{LEFT + WIDTH * a:.1f}" cy="{TOP + HEIGHT * (1 - b):.1f}" r="5" fill="{COLOURS[name]}"/>'
            )
        bins = []
        for low in range(10):
            inside = [ok for _, p, ok in cases if low / 10 <= -p < (low + 1) / 10 + (low == 9)]
            if len(inside) >= 10:
                bins.append(((low + 0.5) / 10, sum(inside) / len(inside)))
        body.append(path(bins, 520, COLOURS[name]))
        body.append(
            f'<text x="{LEFT + WIDTH + 8}" y="{TOP + 14 + 18 * row}" fill="{COLOURS[name]}">{name}</text>'
        )
    with open(file, "w") as out:
        out.write(
            f'<svg xmlns="http://www.w3.org/2000/svg" width="1010" height="{TOP + HEIGHT + 50}" font-family="sans-serif" font-size="11">\n'
        )
        out.write('<rect width="100%" height="100%" fill="#ffffff"/>\n' + "\n".join(body) + "\n</svg>\n")
