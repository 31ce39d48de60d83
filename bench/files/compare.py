#!/usr/bin/env python3
"""What Steward reads of workbooks and CSV files, compared cell by cell with openpyxl, xlrd, pyxlsb, odfpy and csv.

    python bench/files/compare.py --steward target/debug/steward --make made/ FOLDER...

Files in FOLDER are only read; --make writes this script's own files into a folder first. Nothing of it belongs into the
repository. Needs: pip install openpyxl xlrd xlwt pyxlsb odfpy pandas.

A table of Steward is looked for in the grid that the other reader gives: its header row first, then its rows in order.
Rows that Steward left out (titles, totals, notes) are counted, and shown with --show.
"""

import argparse, csv, datetime, json, math, os, pathlib, re, subprocess, sys, tempfile, warnings

warnings.filterwarnings("ignore")


def grid_of(path):
    """All sheets as lists of rows, by another reader."""
    import pandas

    kind = path.suffix.lower()
    if kind in (".csv", ".tsv"):
        raw = path.read_bytes()
        for encoding in ("utf-8-sig", "cp1252"):
            try:
                text = raw.decode(encoding)
                break
            except UnicodeDecodeError:
                continue
        first = text.splitlines()[0] if text.strip() else ""
        delimiter = max(",;\t|", key=first.count)
        return {"": list(csv.reader(text.splitlines(keepends=True), delimiter=delimiter))}
    engine = {".xls": "xlrd", ".xlsb": "pyxlsb", ".ods": "odf"}.get(kind, "openpyxl")
    sheets = pandas.read_excel(
        path, sheet_name=None, header=None, engine=engine, dtype=object, keep_default_na=False
    )
    return {name: frame.values.tolist() for name, frame in sheets.items()}


def plain(cell):
    """A cell in one spelling, whoever read it."""
    if cell is None or isinstance(cell, float) and math.isnan(cell) or str(cell) in ("NaT", "nan"):
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, (int, float)):
        return f"{float(cell):.10g}"
    if isinstance(cell, datetime.datetime):
        if cell.year < 1900 or (cell.year == 1899):
            return cell.strftime("%H:%M:%S")
        return cell.strftime("%Y-%m-%d" if cell.time() == datetime.time() else "%Y-%m-%dT%H:%M:%S")
    if isinstance(cell, datetime.date):
        return cell.isoformat()
    if isinstance(cell, datetime.time):
        return cell.strftime("%H:%M:%S")
    if isinstance(cell, datetime.timedelta):
        seconds = round(cell.total_seconds())
        return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    text = " ".join(str(cell).split())
    if re.fullmatch(r"\d{4}-\d\d-\d\d[ T]00:00:00", text):
        text = text[:10]
    if re.fullmatch(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?", text):
        text = text[:10] + "T" + text[11:19]
    if text.startswith("#") and text.rstrip("!?").isupper() or text in ("#N/A", "#DIV/0!"):
        return ""
    if re.fullmatch(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", text):
        return f"{float(text):.10g}"
    number = re.fullmatch(r"-?\d{1,3}(\.\d{3})*,\d+|-?\d+,\d+", text)
    if number:
        return f"{float(text.replace('.', '').replace(',', '.')):.10g}"
    day = re.fullmatch(r"(\d\d)\.(\d\d)\.(\d{4})( \d\d:\d\d(:\d\d)?)?", text)
    if day:
        time = (day[4] or "").strip()
        time = time + ":00" if len(time) == 5 else time
        return f"{day[3]}-{day[2]}-{day[1]}" + (f"T{time}" if time and time != "00:00:00" else "")
    return {"TRUE": "true", "FALSE": "false", "True": "true", "False": "false"}.get(text, text)


def steward(binary, home, *arguments):
    environment = {**os.environ, "STEWARD_HOME": home}
    done = subprocess.run(
        [binary, "--json", *arguments], capture_output=True, text=True, env=environment, timeout=300
    )
    try:
        return json.loads(done.stdout), done
    except json.JSONDecodeError:
        return None, done


def compare(table, rows, grids):
    """The best place for a table in the grids: (cells compared, differing, rows left out, examples)."""
    best = None
    wanted = [[plain(cell) for cell in row] for row in rows]
    width = len(table["columns"])
    for name, grid in grids.items():
        cells = [[plain(cell) for cell in row] for row in grid]
        columns = max((len(row) for row in cells), default=0)
        for left in range(max(1, columns - width + 1)):
            part = [
                row[left : left + width] + [""] * (width - len(row[left : left + width])) for row in cells
            ]
            part = [row for row in part if any(row)]
            start = [place for place, row in enumerate(part) if wanted and row == wanted[0]][:5]
            # With no equal row, the row below the one that looks like the header.
            for begin in start or range(min(3, len(part))):
                found = walk(part[begin:], wanted)
                score = (found[0] - found[1], -found[1])
                if best is None or score > best[0]:
                    best = (score, found)
        if best and best[1][1] == 0 and best[1][0]:
            break
    return best[1] if best else (0, sum(map(len, wanted)), [], [])


def walk(part, wanted):
    compared = differing = at = 0
    left_out, examples = [], []
    for row in part:
        if at >= len(wanted):
            left_out.append(row)
            continue
        same = sum(a == b for a, b in zip(row, wanted[at]))
        if same == len(wanted[at]):
            at += 1
            compared += same
        elif same * 2 >= len(wanted[at]) and len(wanted[at]) > 1:
            compared += len(wanted[at])
            differing += len(wanted[at]) - same
            examples += [(a, b) for a, b in zip(row, wanted[at]) if a != b][:2]
            at += 1
        else:
            left_out.append(row)
    missing = wanted[at:]
    compared += sum(map(len, missing))
    differing += sum(map(len, missing))
    examples += [("", " | ".join(row)) for row in missing[:2]]
    return compared, differing, left_out, examples


def check(binary, path, show):
    with tempfile.TemporaryDirectory() as home:
        profile, done = steward(binary, home, "profile", str(path))
        if profile is None:
            said = done.stderr.strip().splitlines() or ["?"]
            code = re.search(r"[A-Z]{3}\d{3}", done.stderr)
            return {"tables": 0, "note": (code[0] + " " if code else "") + said[0][:90], "refused": True}
        tables = profile["tables"] if isinstance(profile, dict) and "tables" in profile else profile
        tables = [table for table in tables if not table["table"].endswith("_long")]
        result = {
            "tables": len(tables),
            "compared": 0,
            "differing": 0,
            "left_out": 0,
            "note": "",
            "refused": False,
        }
        try:
            grids = grid_of(path)
        except Exception as error:
            result["note"] = f"the other reader: {type(error).__name__}: {error}"[:90]
            grids = None
        for table in tables:
            columns = [column["name"] for column in table["columns"]]
            quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
            sql = f'SELECT {quoted} FROM "{table["table"]}"'
            answer, done = steward(binary, home, "ask", sql, "--data", str(path), "--deliver", "summary")
            if answer is None or not answer.get("tables"):
                result["note"] = (done.stderr.strip() or str(answer))[:120]
                result["differing"] += 1
                continue
            rows = answer["tables"][0]["rows"]
            if isinstance(rows, int) or grids is None:
                continue
            compared, differing, left_out, examples = compare({"columns": columns}, rows, grids)
            result["compared"] += compared
            result["differing"] += differing
            result["left_out"] += len(left_out)
            if examples and not result["note"]:
                result["note"] = "; ".join(f"{a!r} / {b!r}" for a, b in examples[:2])[:120]
            if show:
                for row in left_out[:5]:
                    print("   left out:", [cell for cell in row if cell])
        return result


def make(folder):
    """Files with what people put around their tables."""
    import openpyxl, random

    folder.mkdir(parents=True, exist_ok=True)
    random.seed(11)

    def book(name, fill, sheets=1):
        book = openpyxl.Workbook()
        for number in range(sheets):
            sheet = book.active if number == 0 else book.create_sheet(f"Sheet{number + 1}")
            fill(sheet, number)
        book.save(folder / name)

    def table(sheet, row, column, head, lines):
        for right, name in enumerate(head):
            sheet.cell(row, column + right, name)
        for down, line in enumerate(lines):
            for right, value in enumerate(line):
                sheet.cell(row + 1 + down, column + right, value)

    cities = [
        ("Rome", 1.5, datetime.date(2024, 1, 31)),
        ("Bari", 2, datetime.date(2024, 2, 29)),
        ("Pisa", -3.25, None),
    ]
    head = ["city", "amount", "day"]
    book("plain.xlsx", lambda sheet, _: table(sheet, 1, 1, head, cities))
    book("offset.xlsx", lambda sheet, _: table(sheet, 7, 4, head, cities))
    book(
        "sheets.xlsx",
        lambda sheet, n: table(sheet, 1, 1, [f"key{n}", "value"], [(i, i * n) for i in range(20)]),
        4,
    )

    def titled(sheet, _):
        sheet["A1"] = "Sales by city"
        sheet["A2"] = "in thousands of euro"
        table(sheet, 4, 1, head, cities)
        sheet["A9"] = "Source: the books"

    book("titled.xlsx", titled)

    def totals(sheet, _):
        lines = [("North", 1, 10.5), ("South", 2, 20), ("Total", 3, 30.5)]
        table(sheet, 1, 1, ["region", "units", "amount"], lines)

    book("totals.xlsx", totals)

    def beside(sheet, _):
        table(sheet, 1, 1, head, cities)
        table(sheet, 1, 6, ["item", "price", "stock"], [("pen", 1.2, 3), ("ink", 4.5, 7), ("cap", 9, 1)])
        table(sheet, 12, 1, ["name", "age"], [("Ada", 36), ("Bo", 41)])

    book("beside.xlsx", beside)

    def merged(sheet, _):
        sheet["A1"] = "Region"
        sheet.merge_cells("A1:A2")
        sheet["B1"] = "Plan"
        sheet.merge_cells("B1:C1")
        sheet["D1"] = "Actual"
        sheet.merge_cells("D1:E1")
        table(sheet, 2, 2, ["units", "amount", "units", "amount"], [(1, 10, 2, 20.5), (3, 30, 4, 40)])
        sheet["A3"], sheet["A4"] = "North", "South"

    book("merged.xlsx", merged)
    book(
        "types.xlsx",
        lambda sheet, _: table(
            sheet,
            1,
            1,
            ["text", "whole", "number", "truth", "moment", "code"],
            [
                (
                    f"row {i}",
                    i * 1000,
                    i / 7,
                    i % 2 == 0,
                    datetime.datetime(2023, 5, i + 1, i, 30, 15),
                    f"00{i}",
                )
                for i in range(20)
            ],
        ),
    )
    book(
        "wide.xlsx",
        lambda sheet, _: table(
            sheet,
            1,
            1,
            ["land", 2019, 2020, 2021, 2022, 2023],
            [("Chile", 1, 2, 3, 4, 5), ("Peru", 6, 7, 8.5, 9, 10), ("Cuba", None, 1, 2, 3, 4)],
        ),
    )
    book(
        "long.xlsx",
        lambda sheet, _: table(
            sheet,
            1,
            1,
            ["id", "amount", "name", "day"],
            [
                (
                    i,
                    round(random.gauss(100, 30), 4),
                    random.choice("abcdef") * 5,
                    datetime.date(2020, 1, 1) + datetime.timedelta(i % 700),
                )
                for i in range(5000)
            ],
        ),
    )
    book(
        "unicode.xlsx",
        lambda sheet, _: table(
            sheet,
            1,
            1,
            ["Größe (cm)", "名前", "Цена, €"],
            [(170.5, "花子", 9.99), (180, "太郎", 1234.5), (165.25, "次郎", 0.01)],
        ),
    )
    try:
        import xlwt

        old = xlwt.Workbook()
        sheet = old.add_sheet("Data")
        style = xlwt.easyxf(num_format_str="YYYY-MM-DD")
        for right, name in enumerate(head):
            sheet.write(0, right, name)
        for down, (city, amount, day) in enumerate(cities):
            sheet.write(down + 1, 0, city)
            sheet.write(down + 1, 1, amount)
            if day:
                sheet.write(down + 1, 2, day, style)
        old.save(str(folder / "old.xls"))
    except ImportError:
        print("xlwt is missing: no .xls file was made", file=sys.stderr)
    import pandas

    frame = pandas.DataFrame(
        {
            "city": ["Rome", "Bari"],
            "amount": [1.5, 2.25],
            "day": pandas.to_datetime(["2024-01-31", "2024-02-29"]),
        }
    )
    frame.to_excel(folder / "open.ods", index=False, engine="odf")
    (folder / "german.csv").write_text(
        "Stadt;Betrag;Tag\nKöln;1.234,50;31.12.2021\nMünchen;99,90;01.02.2022\nUlm;-3,25;05.03.2022\n"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steward", required=True)
    parser.add_argument("--make", type=pathlib.Path)
    parser.add_argument("--show", action="store_true", help="show rows that were left out")
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    folders = list(arguments.folders)
    if arguments.make:
        make(arguments.make)
        folders.insert(0, arguments.make)
    kinds = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods", ".csv", ".tsv")
    files = sorted(
        path
        for folder in folders
        for path in ([folder] if folder.is_file() else folder.rglob("*"))
        if path.suffix.lower() in kinds
    )
    print(f"| {'file':<34} | tables | {'cells':>7} | {'differ':>6} | left out | note |")
    print(f"|{'-' * 36}|{'-' * 8}|{'-' * 9}|{'-' * 8}|{'-' * 10}|------|")
    equal = cells = differing = refused = 0
    for path in files:
        result = check(arguments.steward, path, arguments.show)
        refused += result["refused"]
        equal += not result["refused"] and result.get("differing") == 0
        cells += result.get("compared", 0)
        differing += result.get("differing", 0)
        print(
            f"| {path.name:<34} | {result['tables']:>6} | {result.get('compared', 0):>7} | {result.get('differing', 0):>6} | {result.get('left_out', 0):>8} | {result['note']} |",
            flush=True,
        )
    print(
        f"\n{len(files)} files: {equal} with no differing cell, {refused} refused with a message; {cells} cells compared, {differing} differ."
    )


if __name__ == "__main__":
    main()
