#!/usr/bin/env python3
"""Writes the data that the everyday questions are about: make_data.py FOLDER"""

import pathlib
import subprocess
import sys

here = pathlib.Path(__file__).parent
folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for script in sorted((here / "generators").glob("make_*.py")):
    subprocess.run([sys.executable, str(script), str(folder)], check=True)
