"""picture.py STEWARD_BINARY --kit FOLDER [--out FILE] [--how dark|phone]: the picture of the board in docs/boards.md.

The commands of the guide make the board in a home of its own, a server shows it, and Chromium takes the picture.
"""

import argparse
import os
import subprocess
from pathlib import Path

from harness import ROOT, Server


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("binary")
    options.add_argument("--kit", type=Path, required=True)
    options.add_argument("--chromium", default="/usr/bin/chromium")
    options.add_argument("--out", type=Path, default=ROOT / "docs/images/board.png")
    options.add_argument("--how", default="light")
    arguments = options.parse_args()
    server = Server(arguments.binary, apps=False)
    guide = (
        (ROOT / "docs/boards.md").read_text().split("<!-- runs as a test -->\n```sh\n")[1].split("\n```")[0]
    )
    # A picture is of the board before it was changed again.
    commands = guide.split("steward board show")[0]
    path = f"{Path(server.binary).parent}:{os.environ['PATH']}"
    subprocess.run(["bash", "-euc", commands], cwd=ROOT, env=server.environment | {"PATH": path}, check=True)
    board = server.steward("board", "list", "--json")[0]["id"]
    with server:
        line = [
            arguments.kit / "node/bin/node",
            ROOT / "xtask/web/picture.mjs",
            f"{server.base}/#/boards/{board}",
            arguments.out,
            arguments.how,
        ]
        kit = {"KIT": str(arguments.kit / "npm"), "CHROMIUM": arguments.chromium}
        subprocess.run(list(map(str, line)), env=os.environ | kit, check=True)


if __name__ == "__main__":
    main()
