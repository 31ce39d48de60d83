#!/usr/bin/env python3
"""Writes docs/gallery.md with its pictures: gallery.py STEWARD DATA_FOLDER

DATA_FOLDER is that of the set `people`. Each question is asked of the program with a fresh home and no model; what is shown is
what it said, with its first chart.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

QUESTIONS = [
    ("superstore.csv", "total sales by region"),
    ("superstore.csv", "forecast sales for the next quarter"),
    ("superstore.csv", "why did sales drop in September 2026?"),
    ("superstore.csv", "which 5 states have the highest profit?"),
    ("sb_taxis.csv", "average tip by pickup borough"),
    ("sb_taxis.csv", "average fare by payment"),
    ("gapminder.csv", "average life expectancy by year and continent"),
    ("sb_titanic.csv", "survival rate by class and sex"),
    ("chinook.sqlite", "top 5 artists by revenue"),
    ("stocks.csv", "average price per year for each symbol"),
]
CONFIDENCE = {"high": "sure", "medium": "likely", "low": "a guess"}


def table(one, most=6):
    columns, rows = one["columns"], one["rows"]

    def cell(value):
        if isinstance(value, float):
            return f"{value:,.2f}"
        return "" if value is None else str(value).replace("|", "\\|")

    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(cell(value) for value in row) + " |" for row in rows[:most]]
    if len(rows) > most:
        lines.append(f"\n… {len(rows) - most} more rows")
    return lines


def main():
    steward, data = sys.argv[1], pathlib.Path(sys.argv[2])
    docs = pathlib.Path(__file__).parent.parent / "docs"
    images = docs / "images" / "gallery"
    shutil.rmtree(images, ignore_errors=True)
    images.mkdir(parents=True)
    lines = [
        "# Ten answers",
        "",
        "Questions as people ask them, of public files and databases, answered with no model and no network. Written by",
        "`bench/gallery.py`; the words are the program's. These ten were picked from some two dozen because they came out well:",
        "[evals.md](evals.md) says how often it does. The word in brackets says how sure the program was.",
    ]
    with tempfile.TemporaryDirectory() as home:
        for number, (file, question) in enumerate(QUESTIONS, 1):
            asked = subprocess.run(
                [steward, "ask", question, "--data", str(data / file), "--json"],
                capture_output=True,
                text=True,
                env={**os.environ, "STEWARD_HOME": home},
                check=True,
            )
            answer = json.loads(asked.stdout)
            sure = CONFIDENCE[answer["confidence"]]
            lines += [
                "",
                f"## {question}",
                "",
                f"`{file}` ({sure})",
                "",
                *[line + "  " for line in answer["answer"].splitlines()],
                "",
            ]
            lines += table(answer["tables"][0])
            charts = [
                one["content_ref"] for one in answer["artifacts"] if one["content_ref"].endswith(".svg")
            ]
            if charts:
                name = f"{number:02}.svg"
                shutil.copy(charts[0], images / name)
                lines += ["", f"![{question}](images/gallery/{name})"]
            if answer["sql"]:
                lines += [
                    "",
                    "<details><summary>SQL</summary>",
                    "",
                    "```sql",
                    *[one["sql"] for one in answer["sql"][:2]],
                    "```",
                    "</details>",
                ]
    (docs / "gallery.md").write_text("\n".join(lines) + "\n")


main()
